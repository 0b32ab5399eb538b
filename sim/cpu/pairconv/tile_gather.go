package pairconv

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/tensor"
)

// TileGather is a Gather into bfloat16, without bias and ReLU, whose products are those of tiles:
//
//	a = w as it lies, channels s by (l, ky, kx);  b = patches, (l, ky, kx) by pixels
//
// where the taps kx of a kernel's row are two pairs, so that b is made of a padded copy of the large grid's
// rows as pairs, one plane for each ky and pair of kx.
type TileGather struct {
	Shape
	set   vec.Set
	tiles matrix.Tiles

	block, columns int // channels of the small grid and pixels in a product
	banded.Division
	divided, rows int // bands of an image; rows of a band
	pixels, plane int // of a band; pairs from plane to plane
	segments      []int32

	Small, Large, Weights []uint16
}

// planes is the number of pairs of a kernel's taps.
const planes = taps / 2

// gatherFloats bounds the patches of a band.
const gatherFloats = 64 << 10

// tileColumns returns the channels and pixels of a product for bands of a number of pixels, 0 if they fill none.
func (s Shape) tileColumns(pixels int) (block, columns int) {
	switch {
	case s.Small%matrix.TileBlock == 0 && pixels%tilePixels == 0:
		return matrix.TileBlock, tilePixels
	case s.Small%matrix.TileBlock == 0 && pixels == matrix.TileSide:
		return matrix.TileBlock, matrix.TileSide
	case s.Small%matrix.TileSide == 0 && pixels%widePixels == 0:
		return matrix.TileSide, widePixels
	}
	return 0, 0
}

// TileGatherFits reports whether a TileGather computes a convolution.
func TileGatherFits(s Shape) bool {
	_, rows := s.gatherBands(1)
	return s.Large%2 == 0 && s.gatherFits(rows)
}

// gatherBands divides an image.
func (s Shape) gatherBands(threads int) (divided, rows int) {
	return s.divide(threads, 1, s.gatherFits)
}

// gatherFits reports whether bands of a number of rows fill products and fit the cache.
func (s Shape) gatherFits(rows int) bool {
	block, _ := s.tileColumns(rows * s.Width)
	return block > 0 && s.Large*planes*rows*s.Width <= gatherFloats
}

// NewTileGather arranges a convolution that fits. Its operands are to be set.
func NewTileGather(s Shape, set vec.Set, tiles matrix.Tiles, threads int) *TileGather {
	c := &TileGather{Shape: s, set: set, tiles: tiles}
	if c.divided, c.rows = s.gatherBands(threads); !s.gatherFits(c.rows) {
		c.divided, c.rows = s.gatherBands(1)
	}
	c.pixels = c.rows * s.Width
	c.block, c.columns = s.tileColumns(c.pixels)
	c.Division = banded.Divide(s.N*c.divided, s.Small/c.block, threads)
	if c.plane = c.pixels; c.plane >= 256 {
		c.plane += matrix.TileSide // rows of tiles a power of two apart share few sets of the cache
	}
	for k := 0; k < s.Large*taps; k += matrix.TileBlock {
		c.segments = append(c.segments, int32(k), int32(k/2*2*c.plane))
	}
	return c
}

// Work is the number of multiplications of a task that take as long as those of tiles.
func (c *TileGather) Work() int {
	return c.Shape.Small / c.Parts * c.Shape.Large * taps * c.pixels / tileSpeed
}

// pitch is the number of pairs of a padded row of the large grid.
func (c *TileGather) pitch() int { return c.Width + 1 }

// copied is the number of floats of a band's patches.
func (c *TileGather) copied() int { return c.Shape.Large * planes * c.plane }

// Scratch is the number of floats that a thread needs.
func (c *TileGather) Scratch() int {
	return c.copied() + c.block*c.pixels + (2*c.rows+2)*c.pitch()
}

// Run runs tasks [lo, hi).
func (c *TileGather) Run(scratch []float32, lo, hi int) {
	copies, scratch := scratch[:c.copied()], scratch[c.copied():]
	sums, one := scratch[:c.block*c.pixels], scratch[c.block*c.pixels:]
	image, first := 0, 0
	c.Each(lo, hi, func(band int) {
		image, first = band/c.divided, band%c.divided*c.rows
		c.copyBand(copies, one, image, first)
	}, func(_, block, end int) {
		for ; block < end; block++ {
			c.compute(copies, sums, image, first, block*c.block)
		}
	})
}

// copyBand makes the patches of a band that begins at row first of the small grid.
func (c *TileGather) copyBand(dst, one []float32, image, first int) {
	plane, pitch := 4*c.Height*c.Width, c.pitch()
	for l := range c.Shape.Large {
		from := c.Large[(image*c.Shape.Large+l)*plane:][:plane]
		c.padRows(one, from, first, c.rows)
		for k := range planes {
			elements.CopyRows(c.set, dst[(l*planes+k)*c.plane:], c.Width, one[k/2*pitch+k%2:], 2*pitch, c.rows, c.Width)
		}
	}
}

// compute computes the channels from s on of a band.
func (c *TileGather) compute(copies, sums []float32, image, first, s int) {
	row := c.Shape.Large * taps
	p := matrix.TileProduct{A: c.Weights[s*row:], AStride: row, AHalf: matrix.TileSide * row,
		B: half.HalvesOf(copies), BStride: 2 * c.plane, BHalf: 2 * matrix.TileSide, BStep: 2 * c.columns,
		C: sums, CStride: c.pixels, CRowHalf: matrix.TileSide * c.pixels, CColHalf: matrix.TileSide, CStep: c.columns,
		Groups: c.pixels / c.columns, Segments: c.segments, Wide: c.block == matrix.TileSide}
	if c.columns == matrix.TileSide { // both halves are the same
		p.BHalf, p.CColHalf = 0, 0
	}
	c.tiles.Product(&p)
	plane := c.Height * c.Width
	for r := range c.block {
		half.Narrow(c.set, tensor.BFloat16, c.Small[(image*c.Shape.Small+s+r)*plane+first*c.Width:][:c.pixels],
			sums[r*c.pixels:][:c.pixels])
	}
}
