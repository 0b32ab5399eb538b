package cuda

import (
	"math"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The losses of volumes: Dice and binary cross-entropy, the squared error, and their gradients.

// diceSumsP is DiceSumsP of dice.cu, and so on below.
type diceSumsP struct {
	Z, T, P, Sums driver.Pointer
	Size          int64
}

type diceTotalP struct {
	Sums, Terms, Factors driver.Pointer
	Elements, Smooth     float64
	Items, Blocks        int32
}

type diceGradP struct {
	P, T, Factors, Upstream, GZ driver.Pointer
	Size                        int64
	Items, Elements             float32
}

// diceItems checks the operands of a segmentation's loss, all float32, and returns the number of items and their size.
func diceItems(z operand, others ...operand) (items int, size int64, err error) {
	if err := alike(z, others...); err != nil {
		return 0, 0, err
	}
	if len(z.shape) < 1 || z.n() < 1 || z.shape[0] > math.MaxUint16 {
		return 0, 0, operandError("%v has no items", z.shape)
	}
	return z.shape[0], z.n() / int64(z.shape[0]), mustBe(tensor.Float32, append(others, z)...)
}

// lossGrid are the blocks of the elements of an item.
func lossGrid(size int64) int { return int(min(quotientUp(size, blockThreads), lossBlocks)) }

func (b *losses) diceBCE(op nn.DiceBCE) error {
	in, out, err := b.operands(2, 3)
	if err != nil {
		return err
	}
	items, size, err := diceItems(in[0], in[1], out[1])
	if err != nil {
		return err
	}
	if out[0].n() != 2 || out[2].n() != 2*int64(items) {
		return operandError("%v losses and %v factors for %d items", out[0].shape, out[2].shape, items)
	}
	if err := mustBe(tensor.Float32, out...); err != nil {
		return err
	}
	blocks := lossGrid(size)
	sums := diceSumsP{Z: in[0].at, T: in[1].at, P: out[1].at, Sums: b.scratch(32 * int64(blocks*items)), Size: size}
	if err := b.launch("dice_sums", driver.XY(blocks, items), driver.X(blockThreads), 0, parameter(&sums)); err != nil {
		return err
	}
	total := diceTotalP{Sums: sums.Sums, Terms: out[0].at, Factors: out[2].at, Elements: float64(in[0].n()),
		Smooth: float64(op.Smooth),
		Items:  int32(items), Blocks: int32(blocks)}
	return b.launch("dice_total", driver.X(1), driver.X(blockThreads), 0, parameter(&total))
}

func (b *losses) diceBCEGrad() error {
	in, out, err := b.operands(4, 1)
	if err != nil {
		return err
	}
	items, size, err := diceItems(in[0], in[1], out[0])
	if err != nil {
		return err
	}
	if in[2].n() != 2*int64(items) || in[3].n() != 2 {
		return operandError("%v factors and %v gradients for %d items", in[2].shape, in[3].shape, items)
	}
	if err := mustBe(tensor.Float32, in[2:]...); err != nil {
		return err
	}
	p := diceGradP{P: in[0].at, T: in[1].at, Factors: in[2].at, Upstream: in[3].at, GZ: out[0].at, Size: size,
		Items: float32(items), Elements: float32(in[0].n())}
	return b.launch("dice_grad", driver.XY(lossGrid(size), items), driver.X(blockThreads), 0, parameter(&p))
}

// squaredError lowers a SquaredError, an L2 loss of any shape.
func (b *losses) squaredError() error {
	in, out, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	if err := alike(in[0], in[1]); err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, in[0], in[1], out[0]); err != nil || out[0].n() != 1 || in[0].n() < 1 {
		return operandError("a squared error %v of %v", out[0].shape, in[0].shape)
	}
	return b.elementLoss(in[0], in[1], out[0].at, b.scratch(4), false, true)
}

// squaredErrorGrad lowers a SquaredErrorGrad.
func (b *losses) squaredErrorGrad() error {
	in, out, err := b.operands(3, 1)
	if err != nil {
		return err
	}
	if err := alike(in[0], in[1], out[0]); err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, append(in, out[0])...); err != nil || in[2].n() != 1 {
		return operandError("the gradient of a squared error from %v", in[2].shape)
	}
	factor := b.table(structs([]float32{float32(2 / float64(in[0].n()))}))
	p := lossGradP{P: in[0].at, T: in[1].at, Factor: factor, Upstream: in[2].at, GP: out[0].at,
		N: in[0].n(), Squares: 1}
	return b.over("loss_grad", p.N, parameter(&p))
}
