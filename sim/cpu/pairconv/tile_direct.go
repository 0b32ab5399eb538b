package pairconv

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/cpu/vec/norm"
	"prismtop/sim/tensor"
)

// Direct convolutions of bfloat16 by tiles: their shape, which of them fit, and the products.

// Direct is the shape of a convolution of stride 1 whose results are as large as its images: Side×Side taps, Side odd.
type Direct struct {
	N             int // images
	In, Out       int // channels
	Height, Width int
	Side          int
	Pool          bool // the largest of each block of 2×2 pixels is the result
}

// taps is the number of taps.
func (d Direct) taps() int { return d.Side * d.Side }

// TileDirect computes a direct convolution of bfloat16 by products of tiles:
//
//	a = w, channels o by pairs of channels c;  b = x, pairs of channels c by pixels
//
// with a sum over the taps, whose rows are places in copies of x. A copy holds x shifted by a column of taps, with
// zeros beyond the edges, so that the pixels of a band are one run of it and tiles begin at lines of the cache: rows of
// tiles that cross a line take twice as long to load.
type TileDirect struct {
	Direct
	set   vec.Set
	tiles matrix.Tiles

	banded.Division
	pairs, depth  int // of channels of x: all, and those of a segment
	block         int // channels of y in a product
	plane         int // pairs of a copied channel
	divided, rows int // bands of an image; rows of a band
	run, pitch    int // pixels of a band's products; between the sums of two channels
	segments      []int32

	Y, X   []uint16
	Packed []float32 // PackedFloats floats, filled by Pack
	Bias   []float32 // nil for none
	ReLU   bool
}

// directFloats bounds the copies of a band for TileDirect, so that they stay in the second-level cache of processors
// with tiles.
const directFloats = 192 << 10

// fits reports whether the copies of a band of rows do.
func (d Direct) fits(rows int) bool {
	return (rows%2 == 0 || !d.Pool) && d.Side*d.In/2*oddLines((rows+d.Side-1)*d.Width) <= directFloats
}

// oddLines is the least number of floats, at least n, of an odd number of lines of the cache: rows so far apart share
// no set of it.
func oddLines(n int) int {
	const line = 16
	return (n+line-1)/line*line | line
}

// TileDirectFits reports whether a TileDirect computes a convolution.
func TileDirectFits(d Direct) bool {
	least := 1
	if d.Pool {
		least = 2
	}
	return (d.In%(2*matrix.TileSide) == 0 || d.In == matrix.TileSide) &&
		(d.Out%matrix.TileBlock == 0 || d.Out == matrix.TileSide) &&
		d.Side%2 == 1 && d.Height%least == 0 && d.fits(least)
}

// NewTileDirect arranges a convolution that fits. Its operands are to be set.
func NewTileDirect(d Direct, set vec.Set, tiles matrix.Tiles, threads int) *TileDirect {
	c := &TileDirect{Direct: d, set: set, tiles: tiles, pairs: d.In / 2, block: matrix.TileBlock}
	c.depth = min(c.pairs, matrix.TileSide)
	columns := tilePixels
	if d.Out == matrix.TileSide {
		c.block, columns = matrix.TileSide, widePixels
	}
	c.divided, c.rows = Shape{N: d.N, Height: d.Height}.divide(threads, 1, d.fits)
	c.Division = banded.Divide(d.N*c.divided, d.Out/c.block, threads)
	c.plane = oddLines((c.rows + d.Side - 1) * d.Width)
	c.run = roundUp(c.rows*d.Width, columns)
	c.pitch = oddLines(c.run)
	for t := range d.taps() {
		for first := 0; first < c.pairs; first += c.depth {
			at := (t%d.Side*c.pairs+first)*c.plane + t/d.Side*d.Width
			c.segments = append(c.segments, int32(2*c.packedAt(t, first/c.depth, 0)), int32(2*at))
		}
	}
	return c
}

// packedAt is the place of the weights of a tap, a segment of pairs of channels c and channel o: sixteen pairs.
func (c *TileDirect) packedAt(tap, segment, o int) int {
	return ((tap*(c.pairs/c.depth)+segment)*c.Out + o) * matrix.TileSide
}

// PackedFloats is the number of pairs of weights that Pack makes.
func (c *TileDirect) PackedFloats() int { return c.packedAt(c.taps(), 0, 0) }

// Pack rounds the weights w, [o, c, taps], of channels [lo, hi) to pairs, [tap, c/32, o, c%32].
func (c *TileDirect) Pack(w []float32, lo, hi int) {
	n := c.taps()
	for o := lo; o < hi; o++ {
		for pair := range c.pairs {
			one := w[(o*c.In+2*pair)*n:][:2*n]
			for t := range n {
				c.Packed[c.packedAt(t, pair/c.depth, o)+pair%c.depth] = half.RoundPair(one[t], one[n+t])
			}
		}
	}
}

// Work is the number of multiplications of a task that take as long as those of tiles.
func (c *TileDirect) Work() int {
	return c.Out / c.Parts * c.In * c.taps() * c.rows * c.Width / tileSpeed
}

// copied is the number of floats of a band's copies. Whole products read beyond the last row.
func (c *TileDirect) copied() int { return c.Side*c.pairs*c.plane + widePixels }

// Scratch is the number of floats that a thread needs, TableBytes the size of the tables.
func (c *TileDirect) Scratch() int    { return c.copied() + c.block*c.pitch + c.run/2 }
func (c *TileDirect) TableBytes() int { return 4 * len(c.segments) }

// Run runs tasks [lo, hi), after Pack.
func (c *TileDirect) Run(scratch []float32, lo, hi int) {
	copies, sums := scratch[:c.copied()], scratch[c.copied():]
	image, first := 0, 0
	c.Each(lo, hi, func(band int) {
		image, first = band/c.divided, band%c.divided*c.rows
		c.copyBand(copies, image, first)
	}, func(_, block, end int) {
		for ; block < end; block++ {
			c.multiply(copies, sums, block*c.block)
			for o := block * c.block; o < (block+1)*c.block; o++ {
				c.store(sums[o%c.block*c.pitch:][:c.run], half.HalvesOf(sums[c.block*c.pitch:]), image, first, o)
			}
		}
	})
}

// copyBand copies pairs of channels around a band once for each column of taps.
func (c *TileDirect) copyBand(dst []float32, image, first int) {
	size, around := c.Height*c.Width, c.Side/2
	window := banded.Window{Height: c.Height, Width: c.Width, Top: first - around, Rows: c.rows + c.Side - 1,
		Columns: c.Width}
	for copied := range c.Side * c.pairs {
		from := c.X[(image*c.pairs+copied%c.pairs)*2*size:][:2*size]
		window.Left = copied/c.pairs - around
		window.CopyPairs(c.set, dst[copied*c.plane:], from, from[size:])
	}
}

// multiply sums the channels from o on of a band.
func (c *TileDirect) multiply(copies, sums []float32, o int) {
	p := tileProduct(c.Packed[c.packedAt(0, 0, o):], copies, c.plane, c.pitch, c.run, c.block, c.depth)
	p.C, p.Segments = sums, c.segments
	c.tiles.Product(&p)
}

// store rounds the sums of channel o of a band; those to be pooled by way of scratch.
func (c *TileDirect) store(sums []float32, rounded []uint16, image, first, o int) {
	bias, n := float32(0), c.rows*c.Width
	if c.Bias != nil {
		bias = c.Bias[o]
	}
	sums = sums[:n]
	switch {
	case c.ReLU:
		norm.NormaliseReLU(c.set, sums, sums, 0, 1, bias)
	case c.Bias != nil:
		norm.Normalise(c.set, sums, sums, 0, 1, bias)
	}
	at := ((image*c.Out+o)*c.Height + first) * c.Width
	if !c.Pool {
		half.Narrow(c.set, tensor.BFloat16, c.Y[at:][:n], sums)
		return
	}
	half.Narrow(c.set, tensor.BFloat16, rounded[:n], sums)
	w := c.Width / 2
	for row := range c.rows / 2 {
		above := rounded[4*row*w:][:4*w]
		half.LargestPairs(c.set, c.Y[at/4+row*w:][:w], above[:2*w], above[2*w:])
	}
}
