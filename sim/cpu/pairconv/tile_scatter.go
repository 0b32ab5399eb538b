package pairconv

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
)

// TileScatter is a Scatter into bfloat16, without bias and ReLU, whose products are those of tiles. For
// each phase
//
//	a = w, channels l by pairs of channels s;  b = small, pairs of channels s by pixels
//
// with a sum over the phase's four taps, which are four places in a padded copy of small. The pixels of
// a band are one run of the copy, with the columns between two rows computed and left out. Each task turns
// the weights that it needs itself: lines that another core has just written come slowly.
type TileScatter struct {
	Shape
	set     vec.Set
	product vec.Pairs
	tiles   matrix.Tiles

	pairs, depth  int // of channels of the small grid: all, and those of a segment
	block, blocks int // channels of the large grid in a product; products
	plane, pitch  int // pairs of a copied channel, and of its rows
	divided, rows int // bands of an image; rows of a band
	run           int // pixels of a band's products
	segments      [4][]int32

	Large, Small, Weights []uint16
}

// tilePixels are the columns of a product, and of a wide one.
const (
	tilePixels = matrix.TileBlock
	widePixels = 2 * matrix.TileBlock
)

// TileScatterFits reports whether a TileScatter computes a convolution.
func TileScatterFits(s Shape) bool {
	return (s.Small%(2*matrix.TileSide) == 0 || s.Small == matrix.TileSide) &&
		(s.Large%matrix.TileBlock == 0 || s.Large <= matrix.TileSide) &&
		s.Small/2*3*(s.Width+2) <= copyFloats
}

// NewTileScatter arranges a convolution that fits. Its operands are to be set.
func NewTileScatter(s Shape, set vec.Set, product vec.Pairs, tiles matrix.Tiles, threads int) *TileScatter {
	c := &TileScatter{Shape: s, set: set, product: product, tiles: tiles, pairs: s.Small / 2, block: matrix.TileBlock,
		pitch: s.Width + 2}
	c.depth = min(c.pairs, matrix.TileSide)
	columns := tilePixels
	if s.Large <= matrix.TileSide {
		c.block, columns = matrix.TileSide, widePixels
	}
	c.blocks = (s.Large + c.block - 1) / c.block
	c.divided, c.rows = s.divide(threads, c.blocks, func(rows int) bool {
		return c.pairs*(rows+2)*c.pitch <= copyFloats
	})
	c.plane = (c.rows + 2) * c.pitch
	c.run = roundUp((c.rows-1)*c.pitch+s.Width, columns)
	for phase := range c.segments {
		for t := range 4 {
			at := (1+phaseShifts[phase>>1][t>>1])*c.pitch + 1 + phaseShifts[phase&1][t&1]
			for first := 0; first < c.pairs; first += c.depth {
				c.segments[phase] = append(c.segments[phase],
					int32(2*c.packedAt(4*phase+t, first/c.depth, 0)), int32(2*(first*c.plane+at)))
			}
		}
	}
	return c
}

// divide chooses the number of bands of an image, whose convolution has a number of parts, and their rows: several
// tasks a thread, of rows that fit.
func (s Shape) divide(threads, parts int, fits func(rows int) bool) (divided, rows int) {
	wanted := max(min(2*threads/(s.N*parts), s.Height/leastRows), 1)
	for divided = wanted; divided < s.Height; divided++ {
		if s.Height%divided == 0 && fits(s.Height/divided) {
			break
		}
	}
	return divided, s.Height / divided
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// packedAt is the place of the weights of a tap, a segment of pairs of channels s and the
// block's channel l: sixteen pairs.
func (c *TileScatter) packedAt(tap, segment, l int) int {
	return ((tap*(c.pairs/c.depth)+segment)*c.block + l) * matrix.TileSide
}

// packed is the number of pairs of a block's weights, packPitch the number of floats between the pairs of channels that
// pack turns: not a power of two, whose rows share few sets of the cache.
func (c *TileScatter) packed() int    { return c.packedAt(taps, 0, 0) }
func (c *TileScatter) packPitch() int { return (c.block + 1) * taps }

// pack turns the weights of a block's channels, from l on, from [s, l, tap] to [tap, s/32, l, s%32].
func (c *TileScatter) pack(packed, scratch []float32, l int) {
	row, pitch, n := c.Shape.Large*taps, c.packPitch(), min(c.block, c.Shape.Large-l)
	for s := 0; s < c.pairs; s += c.depth {
		for i := range c.depth {
			w := c.Weights[2*(s+i)*row+l*taps:]
			half.PairTaps(c.set, scratch[i*pitch:][:n*taps], w[:n*taps], w[row:][:n*taps], &phaseOrder)
		}
		dft.TransposeSquares(c.set, n, packed, c.packedAt(0, s/c.depth, 0), c.packedAt(1, 0, 0), matrix.TileSide,
			scratch, 0, pitch, taps)
	}
}

// Tasks is the number of tasks of a convolution.
func (c *TileScatter) Tasks() int { return c.N * c.divided * c.blocks }

// Work is the number of multiplications of a task that take as long as those of tiles.
func (c *TileScatter) Work() int {
	return c.block * c.Shape.Small * taps * c.rows * c.Width / tileSpeed
}

// tileSpeed is the speed of tiles relative to other products, by which tasks are divided among threads.
const tileSpeed = 8

// copied is the number of floats of a band's copies. Whole products read beyond the last row.
func (c *TileScatter) copied() int { return c.pairs*c.plane + widePixels }

// turning is the number of floats of the pairs of channels that pack turns at a time, sums those of a band's products:
// the same memory.
func (c *TileScatter) turning() int { return matrix.TileSide * c.packPitch() }
func (c *TileScatter) sums() int    { return 2 * c.block * c.run }

// Scratch is the number of floats that a thread needs.
func (c *TileScatter) Scratch() int {
	return c.packed() + c.copied() + max(c.turning(), c.sums())
}

// Run runs tasks [lo, hi).
func (c *TileScatter) Run(scratch []float32, lo, hi int) {
	packed, copies, sums := scratch[:c.packed()], scratch[c.packed():][:c.copied()], scratch[c.packed()+c.copied():]
	bands, last := c.N*c.divided, -1
	for task := lo; task < hi; task++ {
		block, band := task/bands, task%bands
		image, first := band/c.divided, band%c.divided*c.rows
		if block != last {
			c.pack(packed, sums, block*c.block)
			last = block
		}
		c.copyBand(copies, image, first)
		c.compute(packed, copies, sums, image, first, block*c.block)
	}
}

// copyBand copies pairs of channels of the small grid around a band, with zeros beyond the edges.
func (c *TileScatter) copyBand(dst []float32, image, first int) {
	plane := c.Height * c.Width
	window := banded.Window{Height: c.Height, Width: c.Width, Top: first - 1, Left: -1, Rows: c.rows + 2,
		Columns: c.pitch}
	for s := range c.pairs {
		from := c.Small[(image*c.pairs+s)*2*plane:][:2*plane]
		window.CopyPairs(c.set, dst[s*c.plane:], from, from[plane:])
	}
	clear(dst[c.pairs*c.plane:])
}

// tileProduct is a product, without its place and its segments, of packed weights of a block of channels with copies of
// pairs of channels, plane pairs each, for a run of pixels. Sums of two channels lie pitch apart, segments have depth
// pairs.
func tileProduct(packed, copies []float32, plane, pitch, run, block, depth int) matrix.TileProduct {
	columns := tilePixels
	if block == matrix.TileSide {
		columns = widePixels
	}
	return matrix.TileProduct{A: half.HalvesOf(packed), AStride: 2 * matrix.TileSide,
		AHalf: 2 * matrix.TileSide * matrix.TileSide, B: half.HalvesOf(copies), BStride: 2 * plane,
		BHalf: 2 * matrix.TileSide, BStep: 2 * columns, CStride: pitch, CRowHalf: matrix.TileSide * pitch,
		CColHalf: matrix.TileSide, CStep: columns, Groups: run / columns, Wide: block == matrix.TileSide,
		Short: depth < matrix.TileSide}
}

// compute computes the channels from l on of a band.
func (c *TileScatter) compute(packed, copies, sums []float32, image, first, l int) {
	one, width := c.block*c.run, 2*c.Width
	p := tileProduct(packed, copies, c.plane, c.run, c.run, c.block, c.depth)
	for phase := range c.segments {
		p.C, p.Segments = sums[phase&1*one:][:one], c.segments[phase]
		c.tiles.Product(&p)
		if phase&1 == 0 {
			continue
		}
		for r := range min(c.block, c.Shape.Large-l) {
			at := ((image*c.Shape.Large+l+r)*2*c.Height + 2*first + phase>>1) * width
			to := half.PairsOf(c.Large[at:][:(2*c.rows-1)*width])
			half.RoundPairs(c.product, to, width, sums[r*c.run:], sums[one+r*c.run:], c.pitch, c.rows, c.Width)
		}
	}
}
