package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/nn"
)

// Direct convolutions of bfloat16 by pairs of neighbouring input channels.

// directPairs is a direct convolution of pairs of neighbouring input channels; if their number is odd, the last one
// is paired with zeros.
type directPairs struct {
	direct   // in is the number of pairs
	pairs    vec.Pairs
	channels int // of the input
	input    []uint16
	zeros    []uint16 // a plane, if the number of channels is odd
	output   volume.Values
}

// directPairs binds a gather with products of pairs as a direct convolution, or returns nil if it is not one of those.
// A repeated or an unpooled image is scratch.
func (b *convolutions) directPairs(g *geometry, op nn.Conv2D) func() {
	if op.Pool && b.outValues(0).H == nil {
		return nil
	}
	c := b.newDirectPairs(g.gatherShape(), op.ReLU)
	if c == nil {
		return nil
	}
	c.outStride = c.in * g.taps()
	before, after := func() {}, func() {}
	if op.Up {
		c.input, before = b.repeated(g)
	}
	if op.Pool {
		y := c.output.H
		c.output.H = b.halves(g.n * g.small * g.hs * g.ws)
		after = (&elementwise{b.binder}).pooled(y, c.output.H, g.n*g.small*g.hs/2, g.ws/2)
	}
	w, pack := b.weightPairs(c.out, c.channels, g.taps())
	run := c.bind(b, w)
	return func() {
		before()
		pack()
		run()
		after()
	}
}

// directScatter binds a scatter of stride 1 with products of pairs, or returns nil if it is not one of those.
func (b *convolutions) directScatter(g *geometry, relu bool) func() {
	if b.pairs() == vec.NoPairs || !b.bfloatOut() || g.stride != 1 {
		return nil
	}
	c := b.newDirectPairs(g.scatterShape(), relu)
	if c == nil {
		return nil
	}
	taps := g.taps()
	c.inStride, c.outStride = taps, c.in*taps
	set, whole, row := b.backend.set, g.small/2, g.large*taps
	pairs, w, zeros := b.floats(g.large*c.outStride), b.half(1), make([]uint16, row)
	b.table(row, 2)
	pack := b.rows(c.in, row, func(lo, hi int) {
		for pair := lo; pair < hi; pair++ {
			x, other := w[2*pair*row:], zeros
			if pair < whole {
				other = x[row:]
			}
			half.PairRows(set, pairs[pair*taps:], c.outStride, x, other, taps, g.large, taps)
		}
	})
	run := c.bind(b, pairs)
	return func() {
		pack()
		run()
	}
}

// newDirectPairs returns a direct convolution of pairs without its weights, or nil if there is none for a shape.
func (b *convolutions) newDirectPairs(shape bands, relu bool) *directPairs {
	c := &directPairs{direct: direct{bands: shape, set: b.backend.set}, pairs: b.pairs(), channels: shape.in}
	c.lanes = conv.PairLanes
	folds := 2*c.outW == c.lanes && c.outH%2 == 0 && c.out%conv.TapRows == 0
	c.in = (c.channels + 1) / 2
	if c.outW < c.lanes && !folds || c.stride != 1 || c.rowFloats(1) > directFloats {
		return nil
	}
	c.relu, c.input, c.output, c.bias = relu, b.half(0), b.outValues(0), b.bias()
	if c.channels%2 != 0 {
		c.zeros = make([]uint16, c.inH*c.inW)
		b.table(len(c.zeros), 2)
	}
	return c
}

// bind returns the closure that computes with weights w, [out, in, taps].
func (c *directPairs) bind(b *convolutions, w []float32) func() {
	c.w = w
	c.arrange(b)
	work := c.out * c.in * c.kh * c.kw * c.rows * c.outW / c.Parts
	return b.shared(c.Tasks(), c.in*c.plane, work, func(scratch []float32, lo, hi int) {
		c.Each(lo, hi, func(band int) { c.copyBand(scratch, c.at(band)) },
			func(band, first, end int) { c.compute(scratch, c.at(band), first, end) })
	})
}

// copyBand copies the pairs of a band's input.
func (c *directPairs) copyBand(dst []float32, at block) {
	rows, plane := at.rows+c.kh-1, c.inH*c.inW
	within, columns := span{at.row - c.top, 1}.within(rows, c.inH), span{-c.left, 1}.within(c.pitch, c.inW)
	from := (within.start+within.lo)*c.inW + columns.start + columns.lo
	for pair := range c.in {
		x := c.input[(at.image*c.channels+2*pair)*plane:]
		other := c.zeros
		if 2*pair+1 < c.channels {
			other = x[plane:]
		}
		to := dst[pair*c.plane:][:rows*c.pitch]
		border(to, within, columns, c.pitch)
		half.PairRows(c.set, to[within.lo*c.pitch+columns.lo:], c.pitch, x[from:], other[from:], c.inW,
			within.hi-within.lo, columns.hi-columns.lo)
	}
}

// border clears what lies outside the rows and columns of a plane.
func border(plane []float32, rows, columns overlap, pitch int) {
	clear(plane[:rows.lo*pitch])
	clear(plane[rows.hi*pitch:])
	for at := rows.lo * pitch; at < rows.hi*pitch; at += pitch {
		row := plane[at : at+pitch]
		for i := range columns.lo {
			row[i] = 0
		}
		for i := columns.hi; i < pitch; i++ {
			row[i] = 0
		}
	}
}

// compute computes a band of groups [lo, hi) of output channels.
func (c *directPairs) compute(copies []float32, at block, lo, hi int) {
	sum := c.sum(copies)
	plane := c.outH * c.outW
	for group := lo; group < hi; group++ {
		o := group * conv.TapRows
		first := (at.image*c.out+o)*plane + at.row*c.outW
		if c.output.H != nil {
			sum.Half = c.output.H[first:]
		} else {
			sum.Y = c.output.F[first:]
		}
		sum.Rows, sum.W = min(conv.TapRows, c.out-o), c.w[o*c.outStride:]
		if c.bias != nil {
			sum.Bias = c.bias[o:][:sum.Rows]
		}
		sum.ComputePairs(c.pairs, &c.pixels[c.rows-at.rows])
	}
}
