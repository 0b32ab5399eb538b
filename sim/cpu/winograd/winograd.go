// Package winograd computes 3×3 convolutions of stride 1 and padding 1 by Winograd's
// F(4×4, 3×3), with a quarter of the multiplications and a rounding error some ten times
// that of the sum itself.
//
// Rows of tiles are processed in blocks that stay in the second-level cache: their pixels
// are transposed to channels-last order and transformed, multiplied with the transformed
// weights by the micro-kernel of direct convolutions, transformed back, and transposed
// into the output's planes.
package winograd

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/winograd"
)

const (
	side  = 4        // of a tile's output
	reach = side + 2 // of its input
	taps  = winograd.Taps

	// square is the side of the blocks that are transposed.
	square = dft.StripLanes

	// blockFloats bounds the transformed inputs and the products of a block.
	blockFloats = 448 << 10
	// blockTiles bounds the tiles of a block.
	blockTiles = 64
)

// Convolution is a convolution of n images of in channels to out channels, h×w pixels
// each, with or without a ReLU.
type Convolution struct {
	n, in, out, h, w int
	relu             bool
	set              vec.Set

	banded.Division
	across  int // tiles in a row of tiles
	rows    int // rows of tiles in a block
	tiles   int // of a block, a multiple of conv.TapRows
	offsets []int64
}

// Fits reports whether there are whole tiles, and channels for whole vectors.
func Fits(in, out, h, w int) bool {
	return h%side == 0 && w%side == 0 && in%square == 0 && out%square == 0
}

// New returns a convolution that Fits, divided for a number of threads. Results do not
// depend on it.
func New(n, in, out, h, w int, relu bool, set vec.Set, threads int) *Convolution {
	c := &Convolution{n: n, in: in, out: out, h: h, w: w, relu: relu, set: set, across: w / side, offsets: []int64{0}}
	all := n * h / side
	most := min(max(blockFloats/(taps*(in+out)), 1), blockTiles)
	c.rows = max(min(most/c.across, (all+threads-1)/threads), 1)
	for c.rows*c.across < conv.TapRows && c.rows < all {
		c.rows++ // a tile of products has that many rows
	}
	c.tiles = (c.rows*c.across + conv.TapRows - 1) / conv.TapRows * conv.TapRows
	c.Division = banded.Divide((all+c.rows-1)/c.rows, out/square, threads)
	return c
}

// Work is the number of multiplications of a task.
func (c *Convolution) Work() int { return taps * c.tiles * c.in * c.out / c.Parts }

// WeightFloats is the size of the transformed weights.
func (c *Convolution) WeightFloats() int { return taps * c.in * c.out }

// Scratch is the number of floats that a task needs.
func (c *Convolution) Scratch() int {
	return c.paddedFloats() + c.turnedFloats() + taps*c.tiles*(c.in+c.out)
}

// paddedFloats is the size of a row of tiles' input, channels last, with its padding.
func (c *Convolution) paddedFloats() int { return reach * (c.w + 2) * c.in }

// turnedFloats is the size of rows of pixels of a row of tiles, channels last.
func (c *Convolution) turnedFloats() int { return reach * c.w * max(c.in, c.out) }

// Transform transforms the weights [out, in, 3, 3] of output channels [lo, hi) to u, [36,
// in, out].
func (c *Convolution) Transform(u, w []float32, lo, hi int) {
	for in := range c.in {
		for out := lo; out < hi; out++ {
			winograd.Weights(u[in*c.out+out:], c.in*c.out, w[(out*c.in+in)*9:][:9])
		}
	}
}

// A Multiplier lists the output channels of each part for the products.
type Multiplier struct {
	conv   *Convolution
	pixels []*conv.Pixels // by the part's first group
	none   []float32      // a bias of zeros
}

// Multiplier returns the lists, which are shared by all tasks.
func (c *Convolution) Multiplier() *Multiplier {
	m := &Multiplier{conv: c, none: make([]float32, c.out), pixels: make([]*conv.Pixels, c.out/square)}
	for part := range c.Parts {
		lo, hi := c.Part(part)
		var at []int
		for o := lo * square; o < hi*square; o += conv.TapLanes(c.set) {
			at = append(at, o)
		}
		m.pixels[lo] = conv.NewPixels(at, at)
	}
	return m
}

// Run computes tasks [lo, hi) of y [n, out, h, w] from x [n, in, h, w] and transformed
// weights. bias may be nil.
func (m *Multiplier) Run(scratch, y, x, u, bias []float32, lo, hi int) {
	c := m.conv
	if bias == nil {
		bias = m.none
	}
	padded, scratch := scratch[:c.paddedFloats()], scratch[c.paddedFloats():]
	turned, scratch := scratch[:c.turnedFloats()], scratch[c.turnedFloats():]
	v, products := scratch[:taps*c.tiles*c.in], scratch[taps*c.tiles*c.in:]
	first, rows := 0, 0
	c.Each(lo, hi, func(block int) {
		first = block * c.rows
		rows = min(c.rows, c.n*c.h/side-first)
		c.input(v, padded, turned, x, first, rows)
	}, func(_, from, to int) {
		m.multiply(products, v, u, (rows*c.across+conv.TapRows-1)/conv.TapRows, m.pixels[from])
		for row := range rows {
			c.output(y, turned, products[row*c.across*c.out:], bias, first+row, from*square, to*square)
		}
	})
}

// input transforms rows of tiles from first on to v, [36, tiles, in]. Tiles that fill the
// last group are zeros.
func (c *Convolution) input(v, padded, turned, x []float32, first, rows int) {
	step := c.tiles * c.in
	for row := range rows {
		c.pad(padded, turned, x, first+row)
		for tile := range c.across {
			at := (row*c.across + tile) * c.in
			winograd.Input(c.set, v[at:], step, padded[tile*side*c.in:], (c.w+2)*c.in, c.in, c.in)
		}
	}
	for k := range taps {
		clear(v[k*step+rows*c.across*c.in : (k+1)*step])
	}
}

// pad copies the pixels under a row of tiles to padded, [6, w + 2, in], with zeros around
// the image.
func (c *Convolution) pad(padded, turned, x []float32, row int) {
	plane, pitch := c.h*c.w, (c.w+2)*c.in
	perImage := c.h / side
	image, top := row/perImage, row%perImage*side-1
	from, to := max(top, 0), min(top+reach, c.h)
	x = x[image*c.in*plane:][:c.in*plane]
	clear(padded[:(from-top)*pitch])
	clear(padded[(to-top)*pitch:])
	if c.w%square != 0 {
		c.turn(turned, c.in, x[from*c.w:], plane, c.in, (to-from)*c.w, false)
	}
	for r := from; r < to; r++ {
		line := padded[(r-top)*pitch:][:pitch]
		clear(line[:c.in])
		clear(line[pitch-c.in:])
		line = line[c.in : pitch-c.in]
		if c.w%square == 0 {
			c.turn(line, c.in, x[r*c.w:], plane, c.in, c.w, false)
		} else {
			copy(line, turned[(r-from)*c.w*c.in:])
		}
	}
}

// turn transposes n pixels of channels: from planes to pixels of pitch floats, or back.
// The last square overlaps the one before if n is not a multiple of sixteen.
func (c *Convolution) turn(pixels []float32, pitch int, planes []float32, plane, channels, n int, back bool) {
	for o := 0; o < channels; o += square {
		for at := 0; at < n; {
			squares := max((n-at)/square, 1)
			first := min(at, n-square)
			if back {
				dft.TransposeSquares(c.set, squares, planes, o*plane+first, plane, square, pixels, first*pitch+o, pitch,
					square*pitch)
			} else {
				dft.TransposeSquares(c.set, squares, pixels, first*pitch+o, pitch, square*pitch, planes, o*plane+first,
					plane, square)
			}
			at = first + squares*square
		}
	}
}

// multiply computes products [36, tiles, out] of groups of tiles with the weights of a
// part of the output channels.
func (m *Multiplier) multiply(products, v, u []float32, groups int, pixels *conv.Pixels) {
	c := m.conv
	sum := conv.TapSum{Pitch: c.out, Channels: c.in, XStep: c.out, Taps: c.offsets, WRow: c.in, WStep: 1}
	for k := range taps {
		sum.X = u[k*c.in*c.out:][:c.in*c.out]
		for group := range groups {
			sum.Y = products[(k*c.tiles+group*conv.TapRows)*c.out:]
			sum.W = v[(k*c.tiles+group*conv.TapRows)*c.in:]
			sum.Compute(c.set, pixels)
		}
	}
}

// output transforms the products of a row of tiles back and stores output channels [lo,
// hi).
func (c *Convolution) output(y, turned, products, bias []float32, row, lo, hi int) {
	n, plane := hi-lo, c.h*c.w
	for tile := range c.across {
		winograd.Output(c.set, turned[tile*side*n:], c.w*n, n, products[tile*c.out+lo:], c.tiles*c.out,
			bias[lo:], c.relu, n)
	}
	perImage := c.h / side
	to := y[(row/perImage*c.out+lo)*plane+row%perImage*side*c.w:]
	c.turn(turned, n, to, plane, n, side*c.w, true)
}
