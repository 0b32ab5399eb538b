package pairconv

import (
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
}

// taps is the number of taps.
func (d Direct) taps() int { return d.Side * d.Side }

// TileDirect computes a direct convolution of bfloat16 by products of tiles:
//
//	a = w, channels o by pairs of channels c;  b = x, pairs of channels c by pixels
//
// with a sum over the taps, which are places in a padded copy of x. The pixels of a band are one run of the
// copy, with the columns between two rows computed and left out.
type TileDirect struct {
	Direct
	set   vec.Set
	tiles matrix.Tiles

	pairs, depth         int // of channels of x: all, and those of a segment
	block, blocks, parts int // channels of y in a product; products; parts of them that are tasks
	plane, pitch         int // pairs of a copied channel, and of its rows
	divided, rows        int // bands of an image; rows of a band
	run                  int // pixels of a band's products
	segments             []int32

	Y, X   []uint16
	Packed []float32 // PackedFloats floats, filled by Pack
	Bias   []float32 // nil for none
	ReLU   bool
}

// TileDirectFits reports whether a TileDirect computes a convolution.
func TileDirectFits(d Direct) bool {
	return (d.In%(2*matrix.TileSide) == 0 || d.In == matrix.TileSide) &&
		(d.Out%matrix.TileBlock == 0 || d.Out == matrix.TileSide) &&
		d.Side%2 == 1 && d.In/2*d.Side*(d.Width+d.Side-1) <= copyFloats
}

// NewTileDirect arranges a convolution that fits. Its operands are to be set.
func NewTileDirect(d Direct, set vec.Set, tiles matrix.Tiles, threads int) *TileDirect {
	c := &TileDirect{Direct: d, set: set, tiles: tiles, pairs: d.In / 2, block: matrix.TileBlock,
		pitch: d.Width + d.Side - 1}
	c.depth = min(c.pairs, matrix.TileSide)
	columns := tilePixels
	if d.Out == matrix.TileSide {
		c.block, columns = matrix.TileSide, widePixels
	}
	c.blocks = d.Out / c.block
	grid := Shape{N: d.N, Height: d.Height}
	c.divided, c.rows = grid.divide(threads, 1, func(rows int) bool {
		return c.pairs*(rows+d.Side-1)*c.pitch <= copyFloats
	})
	c.parts = min(max((threads+d.N*c.divided-1)/(d.N*c.divided), 1), c.blocks)
	c.plane = (c.rows + d.Side - 1) * c.pitch
	c.run = roundUp((c.rows-1)*c.pitch+d.Width, columns)
	for t := range d.taps() {
		for first := 0; first < c.pairs; first += c.depth {
			at := first*c.plane + t/d.Side*c.pitch + t%d.Side
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

// Tasks is the number of tasks of a convolution.
func (c *TileDirect) Tasks() int { return c.N * c.divided * c.parts }

// Work is the number of multiplications of a task that take as long as those of tiles.
func (c *TileDirect) Work() int {
	return c.Out / c.parts * c.In * c.taps() * c.rows * c.Width / tileSpeed
}

// copied is the number of floats of a band's copies. Whole products read beyond the last row.
func (c *TileDirect) copied() int { return c.pairs*c.plane + widePixels }

// Scratch is the number of floats that a thread needs, TableBytes the size of the tables.
func (c *TileDirect) Scratch() int    { return c.copied() + c.block*c.run }
func (c *TileDirect) TableBytes() int { return 4 * len(c.segments) }

// Run runs tasks [lo, hi), after Pack.
func (c *TileDirect) Run(scratch []float32, lo, hi int) {
	copies, sums, packed := scratch[:c.copied()], scratch[c.copied():], -1
	for task := lo; task < hi; task++ {
		band, part := task/c.parts, task%c.parts
		image, first := band/c.divided, band%c.divided*c.rows
		if band != packed {
			c.copyBand(copies, image, first)
			packed = band
		}
		for block := part * c.blocks / c.parts; block < (part+1)*c.blocks/c.parts; block++ {
			c.compute(copies, sums, image, first, block*c.block)
		}
	}
}

// copyBand copies pairs of channels around a band, with zeros beyond the edges.
func (c *TileDirect) copyBand(dst []float32, image, first int) {
	plane, around := c.Height*c.Width, c.Side/2
	lo, hi := max(first-around, 0), min(first+c.rows+around, c.Height)
	clear(dst)
	for pair := range c.pairs {
		from := c.X[(image*c.pairs+pair)*2*plane:][:2*plane]
		half.PairRows(c.set, dst[pair*c.plane+(lo-first+around)*c.pitch+around:], c.pitch, from[lo*c.Width:],
			from[plane+lo*c.Width:],
			c.Width, hi-lo, c.Width)
	}
}

// compute computes the channels from o on of a band.
func (c *TileDirect) compute(copies, sums []float32, image, first, o int) {
	p := matrix.TileProduct{A: halves(c.Packed[c.packedAt(0, 0, o):]), AStride: 2 * matrix.TileSide,
		AHalf: 2 * matrix.TileSide * matrix.TileSide, B: halves(copies), BStride: 2 * c.plane,
		BHalf: 2 * matrix.TileSide, BStep: 2 * tilePixels, C: sums, CStride: c.run, CRowHalf: matrix.TileSide * c.run,
		CColHalf: matrix.TileSide, CStep: tilePixels,
		Groups: c.run / tilePixels, Segments: c.segments, Short: c.depth < matrix.TileSide}
	if c.block == matrix.TileSide {
		p.Wide, p.BStep, p.CStep, p.Groups = true, 2*widePixels, widePixels, c.run/widePixels
	}
	c.tiles.Product(&p)
	for r := range c.block {
		all, bias := sums[r*c.run:][:c.run], float32(0)
		if c.Bias != nil {
			bias = c.Bias[o+r]
		}
		switch {
		case c.ReLU:
			norm.NormaliseReLU(c.set, all, all, 0, 1, bias)
		case c.Bias != nil:
			norm.Normalise(c.set, all, all, 0, 1, bias)
		}
		to := c.Y[((image*c.Out+o+r)*c.Height+first)*c.Width:]
		for row := range c.rows {
			half.Narrow(c.set, tensor.BFloat16, to[row*c.Width:][:c.Width], all[row*c.pitch:][:c.Width])
		}
	}
}
