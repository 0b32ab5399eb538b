package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
)

// Weight gradients of bfloat16 from pairs of pixels: of 4×4 taps, and of stride 1.

// pairWeight computes the weight gradient of a patched geometry from pairs of pixels: each one of the band's upper half
// and its counterpart in the lower half. Tiles multiply them where channels and pixels fill some.
type pairWeight struct {
	geometry
	set          vec.Set
	pairs        vec.Pairs
	small, large []uint16
	zeros        []uint16
	source       patchSource
	band         int
	pitch        int // of the pairs of the small grid

	tiles    matrix.Tiles
	short    bool // with segments of sixteen pixels
	segments []int32
}

// pairBand is the number of rows of a band.
func (b *convolution) pairBand() int { return min(max(2*b.patchBand()&^1, 2), b.hs) }

// newPairWeight binds the parts of a weight gradient.
func newPairWeight(b *convolution) *pairWeight {
	c := &pairWeight{geometry: b.geometry, set: b.backend.set, pairs: b.products(), small: b.half(b.s),
		large: b.half(b.l), zeros: make([]uint16, b.wl), source: patchSource{geometry: b.geometry, set: b.backend.set},
		band: b.pairBand()}
	b.table(b.wl, 2)
	whole := c.band / 2 * b.ws
	c.pitch = whole + lineFloats // rows a power of two apart share few sets of the cache
	c.useTiles(b, whole)
	return c
}

// useTiles chooses tiles if channels and pairs of pixels, of whole bands and of the last one, fill them.
func (c *pairWeight) useTiles(b *convolution, whole int) {
	last := c.hs % c.band / 2 * c.ws
	if b.backend.tiles == matrix.NoTiles || c.geometry.small%tileRowsAtOnce != 0 ||
		c.geometry.large%tileChannels != 0 ||
		whole%(matrix.TileSide/2) != 0 || last%(matrix.TileSide/2) != 0 {
		return
	}
	c.tiles, c.short = b.backend.tiles, whole%matrix.TileSide != 0 || last%matrix.TileSide != 0
	for k := 0; k < whole; k += c.depth() {
		c.segments = append(c.segments, int32(2*k), int32(2*patch*k))
	}
	b.table(len(c.segments), 4)
}

// depth is the number of pairs of pixels of a segment.
func (c *pairWeight) depth() int {
	if c.short {
		return matrix.TileSide / 2
	}
	return matrix.TileSide
}

func (c *pairWeight) bandRows() int { return c.band }

// tileRowsAtOnce and tileChannels are the rows of the gradient, and the channels of sixteen taps, of a wide product.
const (
	tileRowsAtOnce = matrix.TileSide
	tileChannels   = 2 * matrix.TileBlock / patch
)

func (c *pairWeight) block() (rows, channels int) {
	if c.tiles != matrix.NoTiles {
		return tileRowsAtOnce, tileChannels
	}
	return patchRows, patchChannels
}

// patches is the number of patches' pairs of a band.
func (c *pairWeight) patches() int { return c.geometry.large * patch * c.band / 2 * c.ws }

func (c *pairWeight) laid() int {
	return c.patches() + c.geometry.small*c.pitch + c.source.padded(c.source.rowsAtOnce())
}

// lay makes the patches of a band, and the pairs of its small grid.
func (c *pairWeight) lay(to []float32, at rowBand) {
	patches, small, x := to[:c.patches()], to[c.patches():][:c.geometry.small*c.pitch],
		to[c.patches()+c.geometry.small*c.pitch:]
	pitch, step, halfRows := c.wl+2, c.source.rowsAtOnce(), at.rows/2
	for l := range c.geometry.large {
		plane := c.large[(at.image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
		for done := 0; done < halfRows; done += step {
			rows := min(step, halfRows-done)
			for r := range 2*rows + 2 {
				above := c.row(plane, 2*(at.first+done)-1+r)
				below := c.row(plane, 2*(at.first+halfRows+done)-1+r)
				line := x[r*pitch:][:pitch]
				line[0], line[pitch-1] = 0, 0
				half.PairRows(c.set, line[1:], 0, above, below, 0, 1, c.wl)
			}
			conv.Patches(c.set, patches[(l*halfRows+done)*c.ws*patch:], x, pitch, c.ws, rows)
		}
	}
	n := halfRows * c.ws
	from := c.small[at.image*c.geometry.small*c.hs*c.ws+at.first*c.ws:]
	half.PairRows(c.set, small, c.pitch, from, from[n:], c.hs*c.ws, c.geometry.small, n)
}

// row returns a row of the large grid, zeros outside of it.
func (c *pairWeight) row(plane []uint16, row int) []uint16 {
	if row < 0 || row >= c.hl {
		return c.zeros
	}
	return plane[row*c.wl:][:c.wl]
}

func (c *pairWeight) products(laid []float32, at rowBand, gw []float32, s, rows, l int, add bool) {
	n, row := at.rows/2*c.ws, c.geometry.large*patch
	patches, small := laid[l*n*patch:], laid[c.patches()+s*c.pitch:]
	if c.tiles == matrix.NoTiles {
		conv.OuterPairs(c.pairs, gw, row, patch, rows, min(patchChannels, c.geometry.large-l), small, c.pitch, 1,
			patches, patch, n*patch, n, add)
		return
	}
	c.tiles.Product(&matrix.TileProduct{Wide: true, Short: c.short, A: asHalves(small), AStride: 2 * c.pitch,
		B: asHalves(patches), BStride: 2 * patch, BHalf: 2 * n * patch, C: gw, CStride: row, CColHalf: patch,
		Groups: 1, Segments: c.segments[:2*n/c.depth()], Accumulate: add})
}

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

// pairBands divides a weight gradient into bands, and reports whether they fit; copied is the input that is copied,
// other the other one.
func pairBands(b *convolution) (c bands, other, copied int, ok bool) {
	c, other, copied = b.gatherShape(), b.s, b.l
	if b.small < b.large && b.wl%2 == 0 || b.ws%2 != 0 {
		c, other, copied = b.scatterShape(), b.l, b.s
	}
	if b.stride != 1 || c.outW%2 != 0 {
		return c, other, copied, false
	}
	c.columns = c.outW
	c.rows = min(packedFloats/(c.in*c.kw*c.outW/2)-c.kh+1, c.outH, max(bandRows, (c.outH+weightShares-1)/weightShares))
	return c, other, copied, c.rows >= 1
}

func fitsPairBands(b *convolution) bool {
	_, _, _, ok := pairBands(b)
	return ok && fewWeights(b)
}

// bindPairBandsWeight binds a weight gradient of stride 1 of pairs of columns.
func bindPairBandsWeight(b *convolution) func() {
	form, other, copied, _ := pairBands(b)
	c := &pairBandWeight{bands: form, set: b.backend.set, pairs: b.products(), grid: half.PairsOf(b.half(other)),
		input: b.half(copied), copyPitch: (form.rows + form.kh - 1) * form.outW / 2}
	for channel := range c.in {
		for k := range b.taps() {
			if c.mirrored {
				k = b.taps() - 1 - k
			}
			c.runs = append(c.runs, int32((channel*c.kw+k%c.kw)*c.copyPitch+k/c.kw*c.outW/2))
		}
	}
	for len(c.runs)%4 != 0 {
		c.runs = append(c.runs, c.runs[len(c.runs)-1])
	}
	b.table(len(c.runs), 4)
	gw, row, taps := b.output(), len(c.runs), b.taps()
	sums := b.floats(c.out * row)
	return inOrder(b.shareSums(sums, c.count(), c.in*c.kw*c.copyPitch, c.add), func() {
		for i := range c.out * c.in {
			copy(gw[i/c.in*c.outStride+i%c.in*c.inStride:][:taps], sums[i/c.in*row+i%c.in*taps:])
		}
	})
}

// add adds a band's products to a gradient, [out, runs], which is zeros before the first.
func (c *pairBandWeight) add(part, copies []float32, i int, first bool) {
	if first {
		clear(part)
	}
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
