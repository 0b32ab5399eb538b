// Package pairconv computes PRISM's transposed convolutions, and their input gradients, from pairs of
// bfloat16 (vec.Pairs): 4×4 taps, stride 2 and padding 1, so that the large grid has twice the sides
// of the small one. Weights are [small, large, 4, 4].
//
// Both directions are direct convolutions of padded copies of the input (conv.TapSum), whose sums are
// float32 and rounded as they are stored. On AMX they, and direct convolutions of stride 1, are products of tiles
// (matrix.TileProduct).
package pairconv

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
)

// Shape is that of a convolution.
type Shape struct {
	N             int // images
	Small, Large  int // channels
	Height, Width int // of the small grid
}

// padRows copies rows of a plane of the large grid that n rows of the small one from first on meet, each between two
// zeros, as pairs.
func (s Shape) padRows(dst []float32, plane []uint16, first, n int) {
	width, pitch := 2*s.Width, s.Width+1
	for r := range 2*n + 2 {
		row, at := half.HalvesOf(dst[r*pitch:][:pitch]), 2*first-1+r
		if at < 0 || at >= 2*s.Height {
			clear(row)
			continue
		}
		row[0], row[width+1] = 0, 0
		copy(row[1:], plane[at*width:][:width])
	}
}

const (
	// taps is the number of a kernel's taps.
	taps = 16
	// narrow is the width of a small grid of which four rows make a vector.
	narrow = 4
	// copyFloats bounds the copies of a band, so that they stay in the second-level cache.
	copyFloats = 96 << 10
	// leastRows is the least number of rows of a band that is divided for more threads: rows at
	// its edges are copied twice.
	leastRows = 4
)

// unit returns the number of rows of the small grid that fill whole vectors; 0 if none do.
func (s Shape) unit() int {
	lanes := conv.PairLanes
	switch {
	case s.Width >= lanes:
		return 1
	case 2*s.Width == lanes && s.Height%2 == 0:
		return 2
	case s.Width == narrow && s.Height%4 == 0:
		return 4
	}
	return 0
}

// bands divides the small grid into bands of rows, and what is copied for them: rows of the input that
// lie pitch elements apart, stride of them for each row of the small grid and two more.
type bands struct {
	Shape
	banded.Division     // into groups of TapRows channels of the output
	channels        int // of the input's copies
	stride, pitch   int
	high, wide      int // rows and columns of the input under the taps of an output pixel
	divided         int // bands of an image
	rows            int // of a band
	groups          int
	plane           int // elements of a copied channel
	fold            int
	pixels          *conv.Pixels
}

// arrange chooses the bands and lists their vectors.
func (b *bands) arrange(threads int) {
	unit := b.unit()
	wanted := max(min(2*threads/b.N, b.Height/max(leastRows, unit)), 1)
	for b.divided = 1; b.divided < b.Height/unit; b.divided++ {
		b.rows = b.Height / b.divided
		if b.Height%b.divided == 0 && b.rows%unit == 0 && b.divided >= wanted && b.channels*b.channel() <= copyFloats {
			break
		}
	}
	b.rows = b.Height / b.divided
	b.Division = banded.Divide(b.N*b.divided, b.groups, threads)
	b.plane = b.channel()
	if b.Width == narrow {
		b.plane = b.high * b.wide * b.rows * narrow
	}
	b.list()
}

// channel is the number of elements of the rows copied for a band.
func (b *bands) channel() int { return (b.stride*b.rows + 2) * b.pitch }

// list lists the vectors of a band.
func (b *bands) list() {
	switch lanes := conv.PairLanes; {
	case b.Width == narrow: // one plane for each tap
		b.pixels = conv.RowPixels(1, b.rows*narrow, 0, 0, lanes)
		return
	case b.Width < lanes:
		b.fold = b.stride * b.pitch
	}
	b.pixels = conv.RowPixels(b.rows, b.Width, b.stride*b.pitch, b.Width, conv.PairLanes)
}

// offset is that of a tap at a row and a column of the input under an output pixel.
func (b *bands) offset(row, column int) int64 {
	if b.Width == narrow {
		return int64((row*b.wide + column) * b.rows * narrow)
	}
	return int64(row*b.pitch + column)
}

// spread makes the planes of taps of a narrow grid from the rows of a channel.
func (b *bands) spread(dst, rows []float32) {
	for y := range b.high {
		for x := range b.wide {
			to := dst[b.offset(y, x):]
			for row := range b.rows {
				*(*[narrow]float32)(to[row*narrow:]) = *(*[narrow]float32)(rows[(row*b.stride+y)*b.pitch+x:])
			}
		}
	}
}

// Work is the number of multiplications of a task.
func (b *bands) Work() int {
	return b.groups * conv.TapRows / b.Parts * b.channels * taps * b.rows * b.Width
}

// TableBytes is the size of the tables.
func (b *bands) TableBytes() int { return int(b.pixels.Bytes()) }

// each computes the groups of tasks [lo, hi) after copying the input of their bands.
func (b *bands) each(lo, hi int, copyBand func(image, first int), compute func(image, first, group int)) {
	at := func(band int) (image, first int) { return band / b.divided, band % b.divided * b.rows }
	b.Each(lo, hi, func(band int) { copyBand(at(band)) }, func(band, group, end int) {
		image, first := at(band)
		for ; group < end; group++ {
			compute(image, first, group)
		}
	})
}
