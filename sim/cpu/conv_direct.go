package cpu

import (
	"slices"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/winograd"
	"prismtop/sim/nn"
)

// Direct convolutions keep a tile of output channels and pixels in registers until all
// input channels and taps are added (vec.TapSum), and store it once, with the bias and
// the ReLU. The input of a band of rows is copied once, padded with zeros, as for
// bands; weights are read where they are. Outputs at the end of a row are computed with
// the last whole vector, which overlaps the one before.

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
	bands
	set              vec.Set
	to, from         []float32
	w, bias          []float32
	taps             []int64
	divided          int          // bands of an image
	parts            int          // of the output channels
	pixels           []vec.Pixels // of a band of rows rows, and of one row less
	planeFloats, one int          // of a copied channel, and of one of its stride² planes
}

// direct reports whether a convolution's outputs fill tiles.
func (b *binder) direct(c *bands) bool {
	lanes := b.backend.set.TapLanes()
	fits := c.outW >= lanes || 2*c.outW == lanes && c.outH%2 == 0
	return b.backend.set != vec.Go && fits && c.out%vec.TapRows == 0 && c.in*c.kh*c.kw >= directTerms &&
		c.planes()*c.copiedRows(1)*c.pitched() <= directFloats
}

// planes is the number of copied planes: one for each row and column modulo the stride.
func (c *bands) planes() int { return c.in * c.stride * c.stride }

// copiedRows is the number of copied rows per plane for a band.
func (c *bands) copiedRows(rows int) int { return rows + (c.kh-1)/c.stride }

// pitched is the number of copied columns of a whole row.
func (c *bands) pitched() int { return c.outW + (c.kw-1)/c.stride }

// directly binds a direct convolution. bias may be nil.
func (b *binder) directly(shape *bands, to, from, w, bias []float32) func() {
	c := &direct{bands: *shape, set: b.backend.set, to: to, from: from, w: w, bias: bias}
	threads := b.backend.Threads()
	c.columns, c.pitch = c.outW, c.pitched()
	most := directFloats/(c.planes()*c.pitch) - (c.kh-1)/c.stride
	c.divided = max((c.outH+most-1)/most, min(2*threads/c.n, c.outH/directRows), 1)
	if 2*c.outW == c.set.TapLanes() {
		c.divided = 1 // two rows make a vector
	}
	c.rows = (c.outH + c.divided - 1) / c.divided
	groups := c.out / vec.TapRows
	c.parts = min(max((threads+c.n*c.divided-1)/(c.n*c.divided), 1), groups)
	c.one = c.copiedRows(c.rows) * c.pitch
	c.planeFloats = c.stride * c.stride * c.one
	for ky := range c.kh {
		for kx := range c.kw {
			plane := ky%c.stride*c.stride + kx%c.stride
			c.taps = append(c.taps, int64(plane*c.one+ky/c.stride*c.pitch+kx/c.stride))
		}
	}
	if c.mirrored {
		slices.Reverse(c.taps)
	}
	c.list(b, c.rows)
	c.list(b, c.rows-1)
	work := c.out / c.parts * c.in * c.kh * c.kw * c.rows * c.outW
	return b.shared(c.n*c.divided*c.parts, c.in*c.planeFloats, work, func(scratch []float32, lo, hi int) {
		packed := -1
		for task := lo; task < hi; task++ {
			band, part := task/c.parts, task%c.parts
			at := c.at(band)
			if band != packed {
				c.copyBand(scratch, at)
				packed = band
			}
			c.compute(scratch, at, part*groups/c.parts, (part+1)*groups/c.parts)
		}
	})
}

// list lists the vectors of a band of rows rows.
func (c *direct) list(b *binder, rows int) {
	var from, to []int
	lanes := c.set.TapLanes()
	if 2*c.outW == lanes {
		for row := 0; row < rows; row += 2 {
			from, to = append(from, row*c.pitch), append(to, row*c.outW)
		}
	} else {
		for row := range rows {
			for column := 0; column < c.outW; column += lanes {
				first := min(column, c.outW-lanes)
				from, to = append(from, row*c.pitch+first), append(to, row*c.outW+first)
			}
		}
	}
	p := vec.NewPixels(from, to)
	b.table(int(p.Bytes()), 1)
	c.pixels = append(c.pixels, *p)
}

// at returns a band; bands differ by at most a row.
func (c *direct) at(i int) block {
	image, band := i/c.divided, i%c.divided
	first, end := band*c.outH/c.divided, (band+1)*c.outH/c.divided
	return block{image: image, row: first, rows: end - first, columns: c.outW}
}

// copyBand copies the input of a band.
func (c *direct) copyBand(dst []float32, b block) {
	rows, plane := c.copiedRows(b.rows), c.inH*c.inW
	for i := range c.stride {
		within := span{b.row*c.stride - c.top + i, c.stride}.within(rows, c.inH)
		for j := range c.stride {
			columns := span{j - c.left, c.stride}.within(c.pitch, c.inW)
			for channel := range c.in {
				packPlane(c.set, dst[channel*c.planeFloats+(i*c.stride+j)*c.one:][:rows*c.pitch],
					c.from[(b.image*c.in+channel)*plane:][:plane], within, columns, c.pitch, c.inW)
			}
		}
	}
}

// compute computes a band of groups [lo, hi) of output channels.
func (c *direct) compute(copies []float32, b block, lo, hi int) {
	plane := c.outH * c.outW
	sum := vec.TapSum{Pitch: plane, X: copies, Channels: c.in, XStep: c.planeFloats, Taps: c.taps,
		WRow: c.outStride, WStep: c.inStride, ReLU: c.relu}
	if 2*c.outW == c.set.TapLanes() {
		sum.Fold = c.pitch
	}
	for group := lo; group < hi; group++ {
		o := group * vec.TapRows
		sum.Y = c.to[(b.image*c.out+o)*plane+b.row*c.outW:]
		sum.W = c.w[o*c.outStride:]
		if c.bias != nil {
			sum.Bias = c.bias[o:][:vec.TapRows]
		}
		c.set.TapSum(&sum, &c.pixels[c.rows-b.rows])
	}
}

// winograd binds a Conv2D whose step asks for Winograd's algorithm, or returns nil if it
// is not one of those. Weights that are variables are transformed again when they change.
func (b *binder) winograd(g *geometry, relu bool, y, x, w, bias []float32) func() {
	square := g.kh == 3 && g.kw == 3 && g.stride == 1 && g.pad == 1
	if b.current.Products != nn.Winograd || !square || !winograd.Fits(g.large, g.small, g.hs, g.ws) {
		return nil
	}
	c := winograd.New(g.n, g.large, g.small, g.hs, g.ws, relu, b.backend.set, b.backend.Threads())
	u := make([]float32, c.WeightFloats())
	b.table(len(u), 4)
	transform := b.tasks(g.small, g.large*9*winogradCost, func(lo, hi int) { c.Transform(u, w, lo, hi) })
	multiply := c.Multiplier()
	run := b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		multiply.Run(scratch, y, x, u, bias, lo, hi)
	})
	state, variable, seen := b.state, b.buffer(b.current.In[1]).Variable, -1
	return func() {
		if variable < 0 || seen != state.changes[variable] {
			transform()
			if variable >= 0 {
				seen = state.changes[variable]
			}
		}
		run()
	}
}

// winogradCost is the time to transform a weight, in multiplications of a kernel.
const winogradCost = 64
