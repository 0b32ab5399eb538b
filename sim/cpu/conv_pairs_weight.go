package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
)

// Weight gradients of stride 1 of bfloat16 by pairs of neighbouring columns.

// pairBandWeight is a weight gradient of stride 1 from pairs of neighbouring columns. A band of one grid, if both have
// an even width that with more channels, is read where it is; that of the other is copied once for each column of the
// taps, shifted so that both grids' pairs match.
type pairBandWeight struct {
	bands     // in is the copied grid, out the other; rows is the number of rows of a band
	set       vec.Set
	pairs     vec.Pairs
	grid      []float32 // pairs of the other grid
	input     []uint16
	runs      []int32 // the copies' places for all channels and taps, and the last one again: whole groups of four
	copyPitch int     // pairs of a channel's copy
}

// weightPairBands binds a weight gradient with products of pairs, or returns nil if it is not one of those.
func (b *convolutions) weightPairBands(g *geometry, gw []float32, small, large int) func() {
	if b.pairs() == vec.NoPairs || g.stride != 1 || len(gw) > weightFloats {
		return nil
	}
	c := &pairBandWeight{bands: g.gatherShape(), set: b.backend.set, pairs: b.pairs()}
	other, copied := small, large
	if g.small < g.large && g.wl%2 == 0 || g.ws%2 != 0 {
		c.bands, other, copied = g.scatterShape(), large, small
	}
	if c.outW%2 != 0 {
		return nil
	}
	c.rows = min(packedFloats/(c.in*c.kw*c.outW/2)-c.kh+1, c.outH, max(bandRows, (c.outH+weightShares-1)/weightShares))
	if c.rows < 1 {
		return nil
	}
	c.columns = c.outW
	c.copyPitch = (c.rows + c.kh - 1) * c.outW / 2
	c.grid, c.input = half.PairsOf(b.half(other)), b.half(copied)
	for channel := range c.in {
		for k := range g.taps() {
			if c.mirrored {
				k = g.taps() - 1 - k
			}
			c.runs = append(c.runs, int32((channel*c.kw+k%c.kw)*c.copyPitch+k/c.kw*c.outW/2))
		}
	}
	for len(c.runs)%4 != 0 {
		c.runs = append(c.runs, c.runs[len(c.runs)-1])
	}
	b.table(len(c.runs), 4)
	sums, run := b.shareSums(c.count(), c.out*len(c.runs), c.in*c.kw*c.copyPitch, c.add)
	return func() {
		run()
		row, taps := len(c.runs), c.kh*c.kw
		for i := range c.out * c.in {
			copy(gw[i/c.in*c.outStride+i%c.in*c.inStride:][:taps], sums[i/c.in*row+i%c.in*taps:])
		}
	}
}

// add adds a band's products to a gradient, [out, runs].
func (c *pairBandWeight) add(part, copies []float32, i int) {
	at := c.block(i)
	plane, rows := c.inH*c.inW, at.rows+c.kh-1
	for channel := range c.in {
		x := c.input[(at.image*c.in+channel)*plane:][:plane]
		for column := range c.kw {
			c.shift(asHalves(copies[(channel*c.kw+column)*c.copyPitch:][:rows*c.outW/2]), x, at.row-c.top,
				column-c.left)
		}
	}
	n, pitch, row := at.rows*c.outW/2, c.outH*c.outW/2, len(c.runs)
	conv.DotsPairs(c.pairs, part, row, c.out, c.grid[at.image*c.out*pitch+at.row*c.outW/2:], pitch, n, copies, c.runs)
}

// shift copies rows of a plane from row first on, as wide as the other grid's and shifted by a number of columns, with
// zeros outside of the plane.
func (c *pairBandWeight) shift(y, x []uint16, first, columns int) {
	w := c.outW
	rows, across := span{first, 1}.within(len(y)/w, c.inH), span{columns, 1}.within(w, c.inW)
	clear(y[:rows.lo*w])
	clear(y[rows.hi*w:])
	if rows.lo == rows.hi {
		return
	}
	y, x = y[rows.lo*w:rows.hi*w], x[(first+rows.lo)*c.inW:(first+rows.hi)*c.inW]
	together := c.inW == w
	switch {
	case together && columns < 0:
		copy(y[min(-columns, len(y)):], x)
	case together:
		copy(y, x[min(columns, len(x)):])
	}
	for row := range rows.hi - rows.lo {
		to := y[row*w:][:w]
		if !together && across.lo < across.hi {
			copy(to[across.lo:across.hi], x[row*c.inW+columns+across.lo:])
		}
		for i := range across.lo {
			to[i] = 0
		}
		for i := across.hi; i < w; i++ {
			to[i] = 0
		}
	}
}
