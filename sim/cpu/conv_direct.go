package cpu

import (
	"slices"

	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
)

// Direct convolutions keep a tile of output channels and pixels in registers until all
// input channels and taps are added (conv.TapSum), and store it once, with the bias and
// the ReLU. The input of a band of rows is copied once, padded with zeros, as for
// bands (bands.pack); weights are read where they are. Outputs at the end of a row are computed with
// the last whole vector, which overlaps the one before.
//
// Those of bfloat16 add pairs of neighbouring input channels: copies and weights are made of pairs.

const (
	// directFloats bounds the copies of a band, so that they stay in the second-level
	// cache.
	directFloats = 96 << 10
	// directRows is the minimum number of rows of a band that is divided for more
	// threads: rows at its edges are copied twice.
	directRows = 4
	// directTerms is the number of products of an output from which a tile pays.
	directTerms = 64
)

// direct is a bound direct convolution.
type direct struct {
	bands           // in is the number of pairs of channels, if they are paired
	set             vec.Set
	pairs           vec.Pairs // NoPairs for products of float32
	to              volume.Values
	w, bias         []float32
	taps            []int64
	banded.Division               // into groups of TapRows output channels
	divided         int           // bands of an image
	pixels          []conv.Pixels // of a band of rows rows, and of one row less
	plane           int           // elements of a copied channel
	lanes           int           // of a vector
}

// fitsDirect reports whether a convolution's outputs fill tiles.
func fitsDirect(b *convolution) bool {
	c, lanes := &b.shape, conv.TapLanes(b.backend.set)
	fits := c.outW >= lanes || 2*c.outW == lanes && c.outH%2 == 0
	return b.backend.set != vec.Go && fits && c.out%conv.TapRows == 0 && c.in*c.kh*c.kw >= directTerms &&
		c.rowFloats(1) <= directFloats
}

// fitsDirectPairs reports whether outputs fill vectors and there is a kernel to store them.
func fitsDirectPairs(b *convolution) bool {
	c := b.shape
	c.in = (c.in + 1) / 2
	folds := 2*c.outW == conv.PairLanes && c.outH%2 == 0 && c.out%conv.TapRows == 0
	return (c.outW >= conv.PairLanes || folds) && c.stride == 1 && c.rowFloats(1) <= directFloats &&
		(!b.pool || b.bfloat())
}

// rowFloats is the number of floats copied for a band of whole rows of the output.
func (c *bands) rowFloats(rows int) int {
	return c.in * c.stride * c.stride * (rows + (c.kh-1)/c.stride) * (c.outW + (c.kw-1)/c.stride)
}

// bindDirect binds a direct convolution of float32.
func bindDirect(b *convolution) func() {
	from := volume.Floats(b.input(0))
	c := &direct{bands: b.shape, set: b.backend.set, lanes: conv.TapLanes(b.backend.set), w: b.input(1), bias: b.bias(),
		to: volume.Floats(b.output())}
	return c.runner(b, func(copies []float32, at block) { c.pack(c.set, copies, from, at) })
}

// bindDirectPairs binds a direct convolution of pairs of channels; if their number is odd, the last one is paired with
// zeros. A repeated or an unpooled image is scratch.
func bindDirectPairs(b *convolution) func() {
	c := &direct{bands: b.shape, set: b.backend.set, pairs: b.products(), lanes: conv.PairLanes, bias: b.bias(),
		to: b.outValues(0)}
	channels, taps := c.in, b.taps()
	c.in = (channels + 1) / 2
	c.inStride, c.outStride = taps, c.in*taps
	input, after := b.repeated(), func() {}
	if b.pool {
		y := c.to.H
		c.to.H = b.halves(b.n * b.small * b.hs * b.ws)
		after = b.pooled(y, c.to.H, b.n*b.small*b.hs/2, b.ws/2)
	}
	if c.mirrored {
		c.w = scatteredPairs(b, c.in)
	} else {
		c.w = pairedWeights(b)
	}
	zeros := make([]uint16, channels%2*c.inH*c.inW)
	b.table(len(zeros), 2)
	run := c.runner(b, func(copies []float32, at block) {
		plane := c.inH * c.inW
		window := banded.Window{Height: c.inH, Width: c.inW, Top: at.row - c.top, Left: -c.left,
			Rows: at.rows + c.kh - 1, Columns: c.pitch}
		for pair := range c.in {
			x, other := input[(at.image*channels+2*pair)*plane:], zeros
			if 2*pair+1 < channels {
				other = x[plane:]
			}
			window.CopyPairs(c.set, copies[pair*c.plane:], x, other)
		}
	})
	return inOrder(run, after)
}

// runner returns a closure that computes bands, whose input pack copies.
func (c *direct) runner(b *convolution, pack func(copies []float32, at block)) func() {
	c.relu = b.relu
	c.arrange(b)
	work := c.out * c.in * c.kh * c.kw * c.rows * c.outW / c.Parts
	return b.shared(c.Tasks(), c.in*c.plane, work, func(scratch []float32, lo, hi int) {
		c.Each(lo, hi, func(band int) { pack(scratch, c.at(band)) },
			func(band, first, end int) { c.compute(scratch, c.at(band), first, end) })
	})
}

// arrange chooses the bands and lists their vectors and taps.
func (c *direct) arrange(b *convolution) {
	threads, over := b.backend.Threads(), (c.kh-1)/c.stride
	c.columns, c.pitch = c.outW, c.outW+(c.kw-1)/c.stride
	most := directFloats/(c.in*c.stride*c.stride*c.pitch) - over
	c.divided = max((c.outH+most-1)/most, min(2*threads/c.n, c.outH/directRows), 1)
	if 2*c.outW == c.lanes {
		c.divided = 1 // two rows make a vector
	}
	c.rows = (c.outH + c.divided - 1) / c.divided
	c.Division = banded.Divide(c.n*c.divided, (c.out+conv.TapRows-1)/conv.TapRows, threads)
	c.plane = c.bands.plane(1, 0, 0)
	for ky := range c.kh {
		for kx := range c.kw {
			at := c.bands.plane(0, ky%c.stride, kx%c.stride) + ky/c.stride*c.pitch + kx/c.stride
			c.taps = append(c.taps, int64(at))
		}
	}
	if c.mirrored {
		slices.Reverse(c.taps)
	}
	for _, rows := range []int{c.rows, c.rows - 1} {
		p := conv.RowPixels(rows, c.outW, c.pitch, c.outW, c.lanes)
		b.table(int(p.Bytes()), 1)
		c.pixels = append(c.pixels, *p)
	}
}

// at returns a band; bands differ by at most a row.
func (c *direct) at(i int) block {
	image, band := i/c.divided, i%c.divided
	first, end := band*c.outH/c.divided, (band+1)*c.outH/c.divided
	return block{image: image, row: first, rows: end - first, columns: c.outW}
}

// compute computes a band of groups [lo, hi) of output channels.
func (c *direct) compute(copies []float32, at block, lo, hi int) {
	plane, pixels := c.outH*c.outW, &c.pixels[c.rows-at.rows]
	sum := conv.TapSum{Pitch: plane, X: copies, Channels: c.in, XStep: c.plane, Taps: c.taps,
		WRow: c.outStride, WStep: c.inStride, ReLU: c.relu}
	if 2*c.outW == c.lanes {
		sum.Fold = c.pitch
	}
	for group := lo; group < hi; group++ {
		o := group * conv.TapRows
		first := (at.image*c.out+o)*plane + at.row*c.outW
		if c.to.H != nil {
			sum.Half = c.to.H[first:]
		} else {
			sum.Y = c.to.F[first:]
		}
		sum.Rows, sum.W = min(conv.TapRows, c.out-o), c.w[o*c.outStride:]
		if c.bias != nil {
			sum.Bias = c.bias[o:][:sum.Rows]
		}
		if c.pairs == vec.NoPairs {
			sum.Compute(c.set, pixels)
		} else {
			sum.ComputePairs(c.pairs, pixels)
		}
	}
}

// scatteredPairs returns the weights of a scatter of stride 1 as pairs of channels of the small grid, [large, pairs,
// taps], which are packed before each run.
func scatteredPairs(b *convolution, pairs int) []float32 {
	taps, set, whole, row, large := b.taps(), b.backend.set, b.small/2, b.large*b.taps(), b.large
	to, w, zeros := b.floats(b.large*pairs*taps), b.half(1), make([]uint16, row)
	b.table(row, 2)
	b.before = append(b.before, b.rows(pairs, row, func(lo, hi int) {
		for pair := lo; pair < hi; pair++ {
			x, other := w[2*pair*row:], zeros
			if pair < whole {
				other = x[row:]
			}
			half.PairRows(set, to[pair*taps:], pairs*taps, x, other, taps, large, taps)
		}
	}))
	return to
}

// pairedWeights returns the weights of a gather as pairs of channels of the large grid, [small, ⌈large/2⌉, taps]. Those
// of a variable that the plan does not change are packed from the variable when it has changed, others before each run.
func pairedWeights(b *convolution) []float32 {
	taps, whole, rows := b.taps(), b.large/2, (b.large+1)/2
	size, row, products, set := rows*taps, b.large*taps, b.products(), b.backend.set
	if constantWeights(b) {
		w, _ := b.unrounded(1)
		zeros := make([]float32, taps)
		f := form{b.binder.constant(1), pairForm}
		return b.transform(f, b.small*size, b.small, row, func(pairs []float32, lo, hi int) {
			for o := lo; o < hi; o++ {
				x, y := w[o*row:][:row], pairs[o*size:][:size]
				half.RoundPairs(products, y, taps, x, x[taps:], 2*taps, whole, taps)
				if whole < rows {
					half.RoundPairs(products, y[whole*taps:], taps, x[2*whole*taps:], zeros, taps, 1, taps)
				}
			}
		})
	}
	pairs, w, zeros := b.floats(b.small*size), b.half(1), make([]uint16, taps)
	b.before = append(b.before, b.rows(b.small, row, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			x, y := w[o*row:][:row], pairs[o*size:][:size]
			half.PairRows(set, y, taps, x, x[taps:], 2*taps, whole, taps)
			if whole < rows {
				half.PairRows(set, y[whole*taps:], taps, x[2*whole*taps:], zeros, taps, 1, taps)
			}
		}
	}))
	return pairs
}
