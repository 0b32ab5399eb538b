package cuda

import (
	"math"
	"slices"

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

// diceItems returns the number of items and their size; all operands must be float32.
func (b *losses) diceItems() (items int, size int64, err error) {
	z := b.ins()[0]
	if z.shape[0] > math.MaxUint16 {
		return 0, 0, operandError("%v has too many items", z.shape)
	}
	return z.shape[0], z.n() / int64(z.shape[0]), mustBe(tensor.Float32, slices.Concat(b.ins(), b.outs())...)
}

// lossGrid are the blocks of the elements of an item.
func lossGrid(size int64) int { return int(min(quotientUp(size, blockThreads), lossBlocks)) }

func (b *losses) diceBCE(op nn.DiceBCE) error {
	in, out := b.ins(), b.outs()
	items, size, err := b.diceItems()
	if err != nil {
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
	in, out := b.ins(), b.outs()
	items, size, err := b.diceItems()
	if err != nil {
		return err
	}
	p := diceGradP{P: in[0].at, T: in[1].at, Factors: in[2].at, Upstream: in[3].at, GZ: out[0].at, Size: size,
		Items: float32(items), Elements: float32(in[0].n())}
	return b.launch("dice_grad", driver.XY(lossGrid(size), items), driver.X(blockThreads), 0, parameter(&p))
}

// squaredError lowers a SquaredError, an L2 loss of any shape.
func (b *losses) squaredError() error {
	in, out := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, in[0], in[1], out[0]); err != nil {
		return err
	}
	return b.elementLoss(in[0], in[1], out[0].at, b.scratch(4), false, true)
}

// squaredErrorGrad lowers a SquaredErrorGrad.
func (b *losses) squaredErrorGrad() error {
	in, out := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, append(in, out[0])...); err != nil {
		return err
	}
	factor := b.table(structs([]float32{float32(2 / float64(in[0].n()))}))
	p := lossGradP{P: in[0].at, T: in[1].at, Factor: factor, Upstream: in[2].at, GP: out[0].at,
		N: in[0].n(), Squares: 1}
	return b.over("loss_grad", p.N, parameter(&p))
}
