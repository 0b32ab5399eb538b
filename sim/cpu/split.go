package cpu

import (
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/nn"
)

// Products of split operands, nn.BF16x3, on kernels that multiply float32. With
// x = high + low for both operands,
//
//	high·high' + high·low' + low·high' = low·high' + high·(high' + low')
//
// and a float32 holds high' + low' exactly. So the three products, added in
// float32, are one sum of twice as many terms: the low and then the high parts of
// one operand times the high parts and then the whole values of the other. The
// smaller terms come first.

// split reports whether the current step multiplies split operands.
func (b *binder) split() bool { return b.current.Products == nn.BF16x3 }

// parted is an operand split into parts: blocks of n floats, each followed by its
// other half.
type parted struct {
	x, out []float32
	block  int
	sums   bool // high and high + low; else low and high
}

// partBefore returns an operand whose blocks are split before the kernel runs.
func (b *binder) partBefore(x []float32, block int, sums bool) []float32 {
	p := &parted{x, b.floats(2 * len(x)), block, sums}
	set := b.backend.set
	b.before = append(b.before, b.each(len(x), grain, func(lo, hi int) {
		for lo < hi {
			n := min(hi, (lo/p.block+1)*p.block) - lo
			first := p.out[2*lo-lo%p.block:][:n]
			second := p.out[2*lo-lo%p.block+p.block:][:n]
			if p.sums {
				half.SplitSum(set, first, second, p.x[lo:][:n])
			} else {
				half.Split(set, second, first, p.x[lo:][:n])
			}
			lo += n
		}
	}))
	return p.out
}

// bindParts splits the operands and binds a kernel of float32. A gather and a scatter then have twice as many channels
// to sum, image low and image high against weights high and weights whole; a weight gradient twice as many images.
func bindParts(b *convolution) func() {
	c, x, y := *b, b.input(0), b.input(1)
	c.parted = true
	switch b.computes {
	case gathers:
		c.large *= 2
		c.made = [2][]float32{b.partBefore(x, b.large*b.hl*b.wl, false), b.partBefore(y, b.large*b.taps(), true)}
	case scatters:
		c.small *= 2
		c.made = [2][]float32{b.partBefore(x, b.small*b.hs*b.ws, false), b.partBefore(y, len(y), true)}
	default:
		c.n *= 2
		c.made = [2][]float32{b.partBefore(x, len(x), b.s == 0), b.partBefore(y, len(y), b.s == 1)}
	}
	c.asGather()
	return c.bind()
}
