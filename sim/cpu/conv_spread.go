package cpu

import (
	"prismtop/sim/cpu/square"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
)

// Convolutions with one output channel, of float32 or of pairs of bfloat16.

// spreadTaps multiplies every input pixel by the weights of all taps, as many output channels of one tap each, and
// adds the products where they belong:
//
//	y[p] = bias + Σ over t of z[t, p + t],  z[t, q] = Σ over c of x[c, q]·w[c, t]
//
// Nothing is copied, and a tile of products is as efficient as a direct convolution's. If the
// image is repeated first, the products are those of its pixels with the taps of the four phases
// of the output (square.PhaseTap).
type spreadTaps struct {
	bands
	set     vec.Set
	product vec.Pairs // of pairs of neighbouring input channels, whose number is even; NoPairs for float32
	to      volume.Values
	from    volume.Values
	bias    []float32
	padded  int       // taps, with those of zeros for whole tiles
	sums    []float32 // the weights by taps, [padded, in]
	w       []float32 // the same, or pairs of them
	terms   int       // input channels, or pairs of them
	pixels  []*conv.Pixels
	offsets []int64
	lanes   int  // of a vector
	up      bool // to an output of twice as many rows and columns
}

const (
	// spreadRows is the number of output rows of a task.
	spreadRows = 16
	// spreadTerms is the least number of input channels.
	spreadTerms = 16

	phases    = 4 // of the output of a repeated image
	phaseTaps = 4 // of each
)

// fitsSpread reports whether spreadTaps computes a convolution of float32.
func fitsSpread(b *convolution) bool {
	return b.backend.set != vec.Go && b.spreads(conv.TapLanes(b.backend.set))
}

// fitsSpreadPairs reports whether spreadTaps computes a convolution of bfloat16. Sums of rounded weights, for a
// repeated image, would be rounded again.
func fitsSpreadPairs(b *convolution) bool {
	_, exact := b.unrounded(1)
	return b.spreads(conv.PairLanes) && b.large%2 == 0 && (exact || !b.up)
}

// spreads reports whether spreadTaps computes a convolution on vectors of the given number of lanes.
func (b *convolution) spreads(lanes int) bool {
	c := b.spreadShape()
	return c.out == 1 && c.stride == 1 && c.in >= spreadTerms && c.kh*c.kw <= 2*conv.TapRows && c.inW >= lanes &&
		!b.pool && (!b.up || centred(b))
}

// spreadShape is the convolution's shape, with the pixels of a repeated image.
func (b *convolution) spreadShape() bands {
	c := b.shape
	if b.up {
		c.inH, c.inW, c.outH, c.outW = c.inH/2, c.inW/2, c.outH/2, c.outW/2
	}
	return c
}

// bindSpreadTaps and bindSpreadPairs bind a convolution with one output channel, of float32 and of pairs.
func bindSpreadTaps(b *convolution) func()  { return oneChannel(b, vec.NoPairs) }
func bindSpreadPairs(b *convolution) func() { return oneChannel(b, b.products()) }

func oneChannel(b *convolution, product vec.Pairs) func() {
	c := &spreadTaps{bands: b.spreadShape(), set: b.backend.set, product: product, up: b.up, bias: b.bias()}
	c.relu, c.terms, c.lanes = b.relu, c.in, conv.TapLanes(c.set)
	var w []float32
	copies, pack := 0, func() {}
	if c.product == vec.NoPairs {
		c.from, w, c.to = volume.Floats(b.input(0)), b.input(1), volume.Floats(b.output())
		c.arrange(b)
		c.w = c.sums
	} else {
		c.from, c.to, c.terms, c.lanes = b.inValues(0), b.outValues(0), c.in/2, conv.PairLanes
		var exact bool
		if w, exact = b.unrounded(1); !exact {
			w = b.in(1)
		}
		c.arrange(b)
		c.w, copies = b.floats(len(c.sums)/2), c.terms*(spreadRows+c.kh-1)*c.inW
		pack = func() {
			for i := range c.w {
				c.w[i] = half.RoundPair(c.sums[2*i], c.sums[2*i+1])
			}
		}
	}
	perImage, size, row := len(c.pixels), c.products(), c.rowFloats()
	run := b.shared(c.n*perImage, size+row+copies, size*c.terms, func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.multiply(scratch, scratch[size+row:], task/perImage, task%perImage)
			c.gather(scratch[:size], scratch[size:], task/perImage, task%perImage)
		}
	})
	return func() {
		c.turn(w)
		pack()
		run()
	}
}

// turn sorts the weights by taps.
func (c *spreadTaps) turn(w []float32) {
	clear(c.sums)
	for t := range c.kh * c.kw {
		for channel := range c.in {
			v := w[channel*c.inStride+t]
			if !c.up {
				c.sums[t*c.in+channel] = v
				continue
			}
			for phase := range phases {
				tap := 2*square.PhaseTap(phase/2, t/c.kw) + square.PhaseTap(phase%2, t%c.kw)
				c.sums[(phase*phaseTaps+tap)*c.in+channel] += v
			}
		}
	}
}

// arrange makes room for the weights and lists the vectors of the bands.
func (c *spreadTaps) arrange(b *convolution) {
	c.offsets = []int64{0}
	taps := c.kh * c.kw
	if c.up {
		taps = phases * phaseTaps
	}
	c.padded = (taps + conv.TapRows - 1) / conv.TapRows * conv.TapRows
	c.sums = b.floats(c.padded * c.in)
	perImage := (c.outH + spreadRows - 1) / spreadRows
	for band := range perImage {
		lo, hi := c.inputRows(band)
		n := (hi - lo) * c.inW
		p := conv.RowPixels(1, n, n, n, c.lanes)
		b.table(int(p.Bytes()), 1)
		c.pixels = append(c.pixels, p)
	}
}

// products is the number of floats of a band's products.
func (c *spreadTaps) products() int { return c.padded * (spreadRows + c.kh - 1) * c.inW }

// rowFloats is the size of a row of the output, and of its even and odd pixels.
func (c *spreadTaps) rowFloats() int { return 4 * c.outW }

// inputRows is the range of input rows under the taps of a band.
func (c *spreadTaps) inputRows(band int) (lo, hi int) {
	first, end := band*spreadRows-c.top, min((band+1)*spreadRows, c.outH)-c.top+c.kh-1
	lo = min(max(first, 0), c.inH-1)
	return lo, max(min(end, c.inH), lo+1)
}

// multiply computes the products z of the input rows of a band, those of pairs from copies of them.
func (c *spreadTaps) multiply(z, copies []float32, image, band int) {
	lo, hi := c.inputRows(band)
	n, plane := (hi-lo)*c.inW, c.inH*c.inW
	at := image*c.in*plane + lo*c.inW
	sum := conv.TapSum{Pitch: n, X: copies, XStep: n, Channels: c.terms, Taps: c.offsets, WRow: c.terms, WStep: 1}
	if c.product == vec.NoPairs {
		sum.X, sum.XStep = c.from.F[at:], plane
	} else {
		x := c.from.H[at:]
		half.PairRows(c.set, copies, n, x, x[plane:], 2*plane, c.terms, n)
	}
	for r := 0; r < c.padded; r += conv.TapRows {
		sum.Y, sum.W = z[r*n:], c.w[r*c.terms:]
		if c.product == vec.NoPairs {
			sum.Compute(c.set, c.pixels[band])
		} else {
			sum.ComputePairs(c.product, c.pixels[band])
		}
	}
}

// gather adds up the products of a band of the output. one has rowFloats.
func (c *spreadTaps) gather(z, one []float32, image, band int) {
	if c.up {
		c.gatherPhases(z, one, image, band)
		return
	}
	lo, hi := c.inputRows(band)
	for row := band * spreadRows; row < min((band+1)*spreadRows, c.outH); row++ {
		at := (image*c.outH + row) * c.outW
		y := c.to.Results(one, at, c.outW)
		c.sumRow(y, z, 0, c.kh*c.kw, c.kw, row-c.top-lo, -c.left, hi-lo)
		c.to.Write(c.set, y, at)
	}
}

// gatherPhases adds up the products of a band of the input for twice as many rows of the output.
// one has rowFloats.
func (c *spreadTaps) gatherPhases(z, one []float32, image, band int) {
	lo, hi := c.inputRows(band)
	width := 2 * c.outW
	one, beside := one[:width], one[width:]
	for i := 2 * band * spreadRows; i < 2*min((band+1)*spreadRows, c.outH); i++ {
		for column := range 2 {
			y := beside[column*c.outW:][:c.outW]
			c.sumRow(y, z, (2*(i%2)+column)*phaseTaps, phaseTaps, 2, i/2-1+i%2-lo, column-1, hi-lo)
		}
		at := (2*image*c.outH + i) * width
		y := c.to.Results(one, at, width)
		elements.InterleaveRows(c.set, y, width, beside, beside[c.outW:], 1, c.outW)
		c.to.Write(c.set, y, at)
	}
}

// sumRow adds up a row of the output from the products z, [tap, rows, inW], of a number of taps from first on, side of
// them in a row of the kernel. The tap first meets the products' row and column at the row's first pixel.
func (c *spreadTaps) sumRow(y, z []float32, first, taps, side, row, column, rows int) {
	bias := valueOr0(c.bias, 0)
	for i := range y {
		y[i] = bias
	}
	for t := range taps {
		from := row + t/side
		if from < 0 || from >= rows {
			continue
		}
		columns := span{column + t%side, 1}.within(c.outW, c.inW)
		part := y[columns.lo:columns.hi]
		elements.Add(c.set, part, part, z[((first+t)*rows+from)*c.inW+columns.start+columns.lo:][:len(part)])
	}
	if c.relu {
		elements.ReLU(c.set, y, y)
	}
}
