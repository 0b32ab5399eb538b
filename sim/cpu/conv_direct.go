package cpu

import (
	"slices"

	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/square"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/cpu/winograd"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Direct convolutions keep a tile of output channels and pixels in registers until all
// input channels and taps are added (conv.TapSum), and store it once, with the bias and
// the ReLU. The input of a band of rows is copied once, padded with zeros, as for
// bands (bands.pack); weights are read where they are. Outputs at the end of a row are computed with
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
	set             vec.Set
	to              []float32
	w, bias         []float32
	taps            []int64
	banded.Division               // into groups of TapRows output channels
	divided         int           // bands of an image
	pixels          []conv.Pixels // of a band of rows rows, and of one row less
	plane           int           // floats of a copied channel
	lanes           int           // of a vector
}

// direct reports whether a convolution's outputs fill tiles.
func (b *convolutions) direct(c *bands) bool {
	lanes := conv.TapLanes(b.backend.set)
	fits := c.outW >= lanes || 2*c.outW == lanes && c.outH%2 == 0
	return b.backend.set != vec.Go && fits && c.out%conv.TapRows == 0 && c.in*c.kh*c.kw >= directTerms &&
		c.rowFloats(1) <= directFloats
}

// rowFloats is the number of floats copied for a band of whole rows of the output.
func (c *bands) rowFloats(rows int) int {
	return c.in * c.stride * c.stride * (rows + (c.kh-1)/c.stride) * (c.outW + (c.kw-1)/c.stride)
}

// directly binds a direct convolution. bias may be nil.
func (b *convolutions) directly(shape *bands, to, input, w, bias []float32) func() {
	c := &direct{bands: *shape, set: b.backend.set, lanes: conv.TapLanes(b.backend.set), to: to, w: w, bias: bias}
	from := volume.Floats(input)
	c.arrange(b)
	work := c.out / c.Parts * c.in * c.kh * c.kw * c.rows * c.outW
	return b.shared(c.Tasks(), c.in*c.plane, work, func(scratch []float32, lo, hi int) {
		c.Each(lo, hi, func(band int) { c.pack(c.set, scratch, from, c.at(band)) },
			func(band, first, end int) { c.compute(scratch, c.at(band), first, end) })
	})
}

// arrange chooses the bands and lists their vectors and taps.
func (c *direct) arrange(b *convolutions) {
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
	c.list(b, c.rows)
	c.list(b, c.rows-1)
}

// list lists the vectors of a band of rows rows.
func (c *direct) list(b *convolutions, rows int) {
	var from, to []int
	if 2*c.outW == c.lanes {
		for row := 0; row < rows; row += 2 {
			from, to = append(from, row*c.pitch), append(to, row*c.outW)
		}
	} else {
		for row := range rows {
			for column := 0; column < c.outW; column += c.lanes {
				first := min(column, c.outW-c.lanes)
				from, to = append(from, row*c.pitch+first), append(to, row*c.outW+first)
			}
		}
	}
	p := conv.NewPixels(from, to)
	b.table(int(p.Bytes()), 1)
	c.pixels = append(c.pixels, *p)
}

// at returns a band; bands differ by at most a row.
func (c *direct) at(i int) block {
	image, band := i/c.divided, i%c.divided
	first, end := band*c.outH/c.divided, (band+1)*c.outH/c.divided
	return block{image: image, row: first, rows: end - first, columns: c.outW}
}

// compute computes a band of groups [lo, hi) of output channels.
func (c *direct) compute(copies []float32, b block, lo, hi int) {
	plane, sum := c.outH*c.outW, c.sum(copies)
	for group := lo; group < hi; group++ {
		o := group * conv.TapRows
		sum.Y = c.to[(b.image*c.out+o)*plane+b.row*c.outW:]
		sum.W = c.w[o*c.outStride:]
		if c.bias != nil {
			sum.Bias = c.bias[o:][:conv.TapRows]
		}
		sum.Compute(c.set, &c.pixels[c.rows-b.rows])
	}
}

// sum is that of a group, without its operands.
func (c *direct) sum(copies []float32) conv.TapSum {
	sum := conv.TapSum{Pitch: c.outH * c.outW, X: copies, Channels: c.in, XStep: c.plane, Taps: c.taps,
		WRow: c.outStride, WStep: c.inStride, ReLU: c.relu}
	if 2*c.outW == c.lanes {
		sum.Fold = c.pitch
	}
	return sum
}

// square binds a convolution of float32 that package square has kernels for, or returns nil. With
// few input channels it pays if there are many output channels. Weights that are converted at every
// run would also have to be packed at every run, which does not pay.
func (b *convolutions) square(shape *bands, o square.Options, to, from, w, bias []float32) func() {
	centred := shape.kh == 3 && shape.kw == 3 && shape.stride == 1 && shape.top == 1 && shape.left == 1
	pays := shape.in*shape.kh*shape.kw >= directTerms || shape.out >= 4*conv.SquareRows
	if !centred || !pays || !square.Fits(b.backend.set, shape.in, shape.out, shape.outH, shape.outW, o) {
		return nil
	}
	weights := b.buffer(b.current.In[1])
	if b.split() || weights.DType != tensor.Float32 {
		return nil
	}
	c := square.New(shape.n, shape.in, shape.out, shape.outH, shape.outW, o, b.backend.set, b.backend.Threads())
	b.table(c.TableBytes(), 1)
	kind := packedForm
	if o.Up {
		kind = phasesForm
	} else if shape.mirrored {
		kind = mirroredForm
	}
	layout := square.Weights{Out: shape.outStride, In: shape.inStride, Mirrored: shape.mirrored}
	u := b.transformedWeights(form{weights.Variable, kind}, c.WeightFloats())
	pack := b.tasks(c.Groups(), c.WeightFloats()/c.Groups(), func(lo, hi int) { c.Pack(u.values, w, layout, lo, hi) })
	run := b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		c.Run(scratch, to, from, u.values, bias, lo, hi)
	})
	return b.following(weights.Variable, u, pack, run)
}

// resized returns the shapes between which a Conv2D computes: those of its operands, but of the
// repeated image and before the pooling.
func (b *convolutions) resized(op nn.Conv2D) (large, small tensor.Shape) {
	large, small = b.inShape(0), b.outShape(0)
	if op.Up {
		large = tensor.Shape{large[0], large[1], 2 * large[2], 2 * large[3]}
	}
	if op.Pool {
		small = tensor.Shape{small[0], small[1], 2 * small[2], 2 * small[3]}
	}
	return large, small
}

// resizedGather binds a Conv2D with Up or Pool, or returns nil if it has neither. If no kernel
// does both, the repeated image or the unpooled one is scratch.
func (b *convolutions) resizedGather(g *geometry, op nn.Conv2D, small, large, w, bias []float32) func() {
	if !op.Up && !op.Pool {
		return nil
	}
	shape := g.gatherShape()
	shape.relu = op.ReLU
	if !b.tiled(g) && !b.split() {
		if run := b.square(&shape, square.Options{ReLU: op.ReLU, Up: op.Up, Pool: op.Pool}, small, large, w,
			bias); run != nil {
			return run
		}
		halved := shape
		halved.inH, halved.inW, halved.outH, halved.outW = shape.inH/2, shape.inW/2, shape.outH/2, shape.outW/2
		same := shape.kh == 3 && shape.kw == 3 && shape.top == 1 && shape.left == 1
		if op.Up && !op.Pool && same && b.alone(&halved) {
			return b.spreadTaps(&halved, true, small, large, w, bias)
		}
	}
	set, x, y := b.backend.set, large, small
	before, after := func() {}, func() {}
	if op.Up {
		rows, columns := g.n*g.large*g.hl/2, g.wl/2
		x = b.floats(4 * rows * columns)
		before = b.rows(rows, 4*columns, func(lo, hi int) {
			elements.DoubleRows(set, x[4*lo*columns:], large[lo*columns:], hi-lo, columns)
		})
	}
	if op.Pool {
		rows, columns := g.n*g.small*g.hs/2, g.ws/2
		y = b.floats(4 * rows * columns)
		after = b.rows(rows, 4*columns, func(lo, hi int) {
			elements.MaxPool(set, small[lo*columns:], y[4*lo*columns:], hi-lo, columns)
		})
	}
	run := b.gather(*g, op.ReLU, y, x, w, bias)
	return func() {
		before()
		run()
		after()
	}
}

// A convolution with one output channel multiplies every input pixel by the weights of
// all taps, as many output channels of one tap each, and adds the products where they
// belong:
//
//	y[p] = bias + Σ over t of z[t, p + t],  z[t, q] = Σ over c of x[c, q]·w[c, t]
//
// Nothing is copied, and a tile of products is as efficient as a direct convolution's. If the
// image is repeated first, the products are those of its pixels with the taps of the four phases
// of the output (square.PhaseTap).
type spreadTaps struct {
	bands
	set     vec.Set
	to      volume.Values
	from    []float32
	bias    []float32
	padded  int       // taps, with those of zeros for whole tiles
	w       []float32 // [padded, in]
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

// alone reports whether spreadTaps computes a convolution.
func (b *convolutions) alone(c *bands) bool {
	return b.backend.set != vec.Go && c.spreads(conv.TapLanes(b.backend.set))
}

// spreads reports whether spreadTaps computes a convolution on vectors of the given number of lanes.
func (c *bands) spreads(lanes int) bool {
	return c.out == 1 && c.stride == 1 && c.in >= spreadTerms && c.kh*c.kw <= 2*conv.TapRows && c.inW >= lanes
}

// spreadTaps binds a convolution with one output channel; up, of a repeated image. bias may be
// nil.
func (b *convolutions) spreadTaps(shape *bands, up bool, to, from, w, bias []float32) func() {
	c := &spreadTaps{bands: *shape, set: b.backend.set, lanes: conv.TapLanes(b.backend.set), up: up,
		to: volume.Floats(to), from: from, bias: bias}
	c.arrange(b)
	perImage, size := len(c.pixels), c.products()
	run := b.shared(c.n*perImage, size+c.rowFloats(), size*c.in, func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.multiply(scratch, task/perImage, task%perImage)
			c.gather(scratch[:size], scratch[size:], task/perImage, task%perImage)
		}
	})
	return func() {
		c.turn(w)
		run()
	}
}

// turn sorts the weights by taps.
func (c *spreadTaps) turn(w []float32) {
	clear(c.w)
	for t := range c.kh * c.kw {
		for channel := range c.in {
			v := w[channel*c.inStride+t]
			if !c.up {
				c.w[t*c.in+channel] = v
				continue
			}
			for phase := range phases {
				tap := 2*square.PhaseTap(phase/2, t/c.kw) + square.PhaseTap(phase%2, t%c.kw)
				c.w[(phase*phaseTaps+tap)*c.in+channel] += v
			}
		}
	}
}

// arrange makes room for the weights and lists the vectors of the bands.
func (c *spreadTaps) arrange(b *convolutions) {
	c.offsets = []int64{0}
	taps := c.kh * c.kw
	if c.up {
		taps = phases * phaseTaps
	}
	c.padded = (taps + conv.TapRows - 1) / conv.TapRows * conv.TapRows
	c.w = b.floats(c.padded * c.in)
	perImage := (c.outH + spreadRows - 1) / spreadRows
	for band := range perImage {
		lo, hi := c.inputRows(band)
		var at []int
		n := (hi - lo) * c.inW
		for p := 0; p < n; p += c.lanes {
			at = append(at, min(p, n-c.lanes))
		}
		p := conv.NewPixels(at, at)
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

// multiply computes the products z of the input rows of a band.
func (c *spreadTaps) multiply(z []float32, image, band int) {
	lo, hi := c.inputRows(band)
	n, plane := (hi-lo)*c.inW, c.inH*c.inW
	sum := conv.TapSum{Pitch: n, X: c.from[image*c.in*plane+lo*c.inW:], Channels: c.in, XStep: plane, Taps: c.offsets,
		WRow: c.in, WStep: 1}
	for r := 0; r < c.padded; r += conv.TapRows {
		sum.Y, sum.W = z[r*n:], c.w[r*c.in:]
		sum.Compute(c.set, c.pixels[band])
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
		first := valueOr0(c.bias, 0)
		for i := range y {
			y[i] = first
		}
		for t := range c.kh * c.kw {
			from := row - c.top + t/c.kw
			if from < lo || from >= hi {
				continue
			}
			columns := span{t%c.kw - c.left, 1}.within(c.outW, c.inW)
			part := y[columns.lo:columns.hi]
			elements.Add(c.set, part, part, z[(t*(hi-lo)+from-lo)*c.inW+columns.start+columns.lo:][:len(part)])
		}
		if c.relu {
			elements.ReLU(c.set, y, y)
		}
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
			first := valueOr0(c.bias, 0)
			for j := range y {
				y[j] = first
			}
			for t := range phaseTaps {
				from := i/2 - 1 + i%2 + t/2
				if from < lo || from >= hi {
					continue
				}
				columns := span{column - 1 + t%2, 1}.within(c.outW, c.inW)
				part := y[columns.lo:columns.hi]
				row := ((2*(i%2)+column)*phaseTaps+t)*(hi-lo) + from - lo
				elements.Add(c.set, part, part, z[row*c.inW+columns.start+columns.lo:][:len(part)])
			}
			if c.relu {
				elements.ReLU(c.set, y, y)
			}
		}
		at := (2*image*c.outH + i) * width
		y := c.to.Results(one, at, width)
		elements.InterleaveRows(c.set, y, width, beside, beside[c.outW:], 1, c.outW)
		c.to.Write(c.set, y, at)
	}
}

// winograd binds a Conv2D whose step asks for Winograd's algorithm, or returns nil if it
// is not one of those. Weights that are variables are transformed again when they change.
func (b *convolutions) winograd(g *geometry, relu bool, y, x, w, bias []float32) func() {
	fits := g.kh == 3 && g.kw == 3 && g.stride == 1 && g.pad == 1
	if b.current.Products != nn.Winograd || !fits || g.n*g.hs*g.ws < winogradPixels ||
		!winograd.Fits(g.large, g.small, g.hs, g.ws) {
		return nil
	}
	c := winograd.New(g.n, g.large, g.small, g.hs, g.ws, relu, b.backend.set, b.backend.Threads())
	variable := b.buffer(b.current.In[1]).Variable
	u := b.transformedWeights(form{variable, winogradForm}, c.WeightFloats())
	transform := b.tasks(g.small, g.large*9*winogradCost, func(lo, hi int) { c.Transform(u.values, w, lo, hi) })
	multiply := c.Multiplier()
	run := b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		multiply.Run(scratch, y, x, u.values, bias, lo, hi)
	})
	return b.following(variable, u, transform, run)
}

// following returns a closure that calls run, after transform if the weights have changed.
func (b *convolutions) following(variable int, u *transformed, transform, run func()) func() {
	state, pool := b.state, b.backend.pool
	return func() {
		if variable < 0 || u.seen != state.changes[variable] {
			transform()
			if variable >= 0 && !pool.Ended() {
				u.seen = state.changes[variable]
			}
		}
		run()
	}
}

// transformedWeights returns memory for the weights of a variable in another form, or, if the
// variable is negative, of the current step. Executables that share their memory have the same.
func (b *convolutions) transformedWeights(f form, floats int) *transformed {
	if f.variable < 0 {
		return &transformed{values: b.floats(floats)}
	}
	if u := b.transformed[f]; u != nil {
		return u
	}
	u := &transformed{values: make([]float32, floats), seen: -1}
	b.table(floats, 4)
	b.table(floats, 4) // for the second round, which finds them
	b.transformed[f] = u
	return u
}

// winogradPixels is the number of outputs of a channel from which transformed weights, four
// times as many as the weights, are reused often enough.
const winogradPixels = 512

// winogradCost is the time to transform a weight, in multiplications of a kernel.
const winogradCost = 64
