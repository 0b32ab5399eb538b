package cuda

import (
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The losses of pictures as sums over their pixels, and their gradients. Those of SSIM are in ssim.go.

// losses lowers the losses of pictures and their gradients.
type losses struct{ *builder }

func (b *losses) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Loss:
		return true, b.loss(op)
	case nn.LossGrad:
		return true, b.lossGrad(op)
	case nn.DiceBCE:
		return true, b.diceBCE(op)
	case nn.DiceBCEGrad:
		return true, b.diceBCEGrad()
	case nn.SquaredError:
		return true, b.squaredError()
	case nn.SquaredErrorGrad:
		return true, b.squaredErrorGrad()
	}
	return false, nil
}

// lossSumsP is LossSumsP of loss.cu, and so on below.
type lossSumsP struct {
	P, T, Sums driver.Pointer
	N          int64
	Squares    int32
	_          int32
}

type lossTotalP struct {
	Sums, Loss, Factor         driver.Pointer
	Elements                   float64
	Blocks, Normalize, Squares int32
	_                          int32
}

type lossGradP struct {
	P, T, Factor, Upstream, GP driver.Pointer
	N                          int64
	Squares                    int32
	_                          int32
}

// lossBlocks is the largest number of blocks that sum a loss: the same on every device, for equal results.
const lossBlocks = 256

// loss computes a loss between two planes.
func (b *losses) loss(op nn.Loss) error {
	x, y := b.ins(), b.outs()
	h, w := x[0].shape.Plane()
	if err := mustBe(tensor.Float32, slices.Concat(x, y)...); err != nil {
		return err
	}
	switch op.Kind {
	case nn.SSIM:
		return b.ssimLoss(x[0].at, x[1].at, y[0].at, y[1].at, h, w)
	case nn.MSSSIM:
		return b.msssimLoss(x[0].at, x[1].at, y[0].at, y[1].at, h, w)
	}
	return b.elementLoss(x[0], x[1], y[0].at, y[1].at, op.Normalize, op.Kind == nn.L2)
}

// elementLoss computes the mean of |p − t|, or of (p − t)², and the factor of its gradient.
func (b *losses) elementLoss(p, t operand, loss, factor driver.Pointer, normalize, squares bool) error {
	blocks := lossGrid(p.n())
	sums := lossSumsP{P: p.at, T: t.at, Sums: b.scratch(int64(blocks) * 8), N: p.n(), Squares: truth(squares)}
	if err := b.launch("loss_sums", driver.X(blocks), driver.X(blockThreads), 0, parameter(&sums)); err != nil {
		return err
	}
	total := lossTotalP{Sums: sums.Sums, Loss: loss, Factor: factor, Elements: float64(p.n()), Blocks: int32(blocks),
		Normalize: truth(normalize), Squares: sums.Squares}
	return b.launch("loss_total", driver.X(1), driver.X(blockThreads), 0, parameter(&total))
}

// lossGrad computes upstream·∂loss/∂prediction.
func (b *losses) lossGrad(op nn.LossGrad) error {
	x, y := b.ins(), b.outs()
	h, w := x[0].shape.Plane()
	if err := mustBe(tensor.Float32, slices.Concat(x, y)...); err != nil {
		return err
	}
	switch op.Kind {
	case nn.SSIM:
		return b.ssimGrad(x[0].at, x[1].at, x[2].at, x[3].at, y[0].at, h, w)
	case nn.MSSSIM:
		return b.msssimGrad(x[0].at, x[1].at, x[2].at, x[3].at, y[0].at, h, w)
	}
	p := lossGradP{P: x[0].at, T: x[1].at, Factor: x[2].at, Upstream: x[3].at, GP: y[0].at, N: x[0].n(),
		Squares: truth(op.Kind == nn.L2)}
	return b.over("loss_grad", p.N, parameter(&p))
}
