package cpu

import (
	"prismtop/sim/cpu/pairconv"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/winograd"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions of bfloat16 on processors that multiply pairs of them (vec.Pairs). What is added up is
// paired: two channels of the small grid for a scatter, two neighbouring columns for a gather, the
// two halves of a band's pixels for a weight gradient. Pairs then take the way of float32 with half as
// many terms. Sums are float32 and rounded as they are stored.

// pairs returns how the current step's products of pairs are computed: NoPairs unless both operands
// are bfloat16.
func (b *convolutions) pairs() vec.Pairs {
	if b.split() || !b.bfloat() {
		return vec.NoPairs
	}
	return b.backend.pairs
}

// convPairs binds a gather with products of pairs, or returns nil if there is no kernel for it.
func (b *convolutions) convPairs(g *geometry, op nn.Conv2D) func() {
	pairs := b.pairs()
	if pairs == vec.NoPairs || !b.bfloatOut() {
		return nil
	}
	if !op.Up && !op.Pool {
		if run := b.gatherPairs(g, op.ReLU); run != nil || b.err != nil {
			return run
		}
	}
	for _, bind := range []func(*geometry, nn.Conv2D) func(){b.winogradPairs, b.spreadPairs, b.directPairs} {
		if run := bind(g, op); run != nil || b.err != nil {
			return run
		}
	}
	return nil
}

// repeated returns the first input of a Conv2D with Up as if each pixel were repeated, in scratch, and the function that
// repeats them.
func (b *convolutions) repeated(g *geometry) (x []uint16, repeat func()) {
	x = b.halves(g.n * g.large * g.hl * g.wl)
	return x, (&elementwise{b.binder}).doubled(x, b.half(0), g.n*g.large*g.hl/2, g.wl/2)
}

// gatherPairs binds a gather of a patched geometry with products of pairs, or returns nil if it is not one of those.
func (b *convolutions) gatherPairs(g *geometry, relu bool) func() {
	shape := pairconv.Shape{N: g.n, Small: g.small, Large: g.large, Height: g.hs, Width: g.ws}
	if b.pairs() == vec.NoPairs || !b.patched(g) || !pairconv.GatherFits(shape) {
		return nil
	}
	c := pairconv.NewGather(shape, b.pairs(), b.backend.Threads())
	c.Small, c.Large, c.Weights, c.Bias, c.ReLU = b.outValues(0), b.half(0), b.half(1), b.bias(g.small), relu
	b.table(c.TableBytes(), 1)
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}

// scatterPairs binds a scatter of a patched geometry with products of pairs, or returns nil if it is not one of those.
func (b *convolutions) scatterPairs(g *geometry, relu bool) func() {
	shape := pairconv.Shape{N: g.n, Small: g.small, Large: g.large, Height: g.hs, Width: g.ws}
	if b.pairs() == vec.NoPairs || !b.patched(g) || !pairconv.ScatterFits(shape) || !b.bfloatOut() {
		return nil
	}
	c := pairconv.NewScatter(shape, b.backend.set, b.pairs(), b.backend.Threads())
	c.Large, c.Small, c.Weights, c.Bias, c.ReLU = b.outValues(0), b.half(0), b.half(1), b.bias(g.large), relu
	b.table(c.TableBytes(), 1)
	n := c.PackedFloats()
	if n > 0 {
		c.Packed = b.floats(n)
	}
	run := b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
	if n == 0 {
		return run
	}
	pack := b.rows(g.small/2, g.large*patch, c.Pack)
	return func() {
		pack()
		run()
	}
}

// pairPatches makes patches of pairs for a band of the small grid's rows: each pairs those of a pixel in
// the band's upper half with those of its counterpart in the lower half.
type pairPatches struct {
	patchSource
	large []uint16
	zeros []uint16
}

// halfRows is the number of rows of the band's halves.
func (c *pairPatches) halfRows() int { return c.rows / 2 }

// fill makes the patches of channels [lo, hi).
func (c *pairPatches) fill(scratch []float32, lo, hi int) {
	pitch, step, halfRows := c.wl+2, c.rowsAtOnce(), c.halfRows()
	for done := 0; done < halfRows; done += step {
		rows := min(step, halfRows-done)
		x := scratch[:c.padded(rows)]
		for l := lo; l < hi; l++ {
			plane := c.large[(c.image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
			for r := range 2*rows + 2 {
				above := c.row(plane, 2*(c.first+done)-1+r)
				below := c.row(plane, 2*(c.first+halfRows+done)-1+r)
				to := x[r*pitch:][:pitch]
				to[0], to[pitch-1] = 0, 0
				half.PairRows(c.set, to[1:], 0, above, below, 0, 1, c.wl)
			}
			conv.Patches(c.set, c.dst[(l*halfRows+done)*c.ws*patch:], x, pitch, c.ws, rows)
		}
	}
}

// row returns a row of the large grid, zeros outside of it.
func (c *pairPatches) row(plane []uint16, row int) []uint16 {
	if row < 0 || row >= c.hl {
		return c.zeros
	}
	return plane[row*c.wl:][:c.wl]
}

// pairWeight computes the weight gradient of a patched geometry from pairs of pixels.
type pairWeight struct {
	geometry
	set       vec.Set
	pairs     vec.Pairs
	smallGrid []uint16
	source    *pairPatches
	small     []float32 // pairs of the band, [small, pixels/2]
	fill      func()
	pair      func()
	row, band int
}

// pairedWeight reports whether a weight gradient is computed from pairs.
func (b *convolutions) pairedWeight(g *geometry) bool {
	return b.pairs() != vec.NoPairs && b.patched(g) && g.hs%2 == 0
}

// pairBand is the number of rows of the small grid whose pairs of patches a weight gradient holds at a time.
func pairBand(g *geometry) int { return min(max(4*patchBand(g)&^1, 2), g.hs) }

// newPairWeight binds the parts of a weight gradient whose operands are inputs small and large of the step.
func (b *convolutions) newPairWeight(g *geometry, small, large int) *pairWeight {
	c := &pairWeight{geometry: *g, set: b.backend.set, pairs: b.pairs(), smallGrid: b.half(small), row: g.large * patch}
	c.band = pairBand(g)
	halfRows := c.band / 2 * g.ws
	c.source = &pairPatches{
		patchSource: patchSource{geometry: *g, set: c.set, dst: b.floats(c.row * halfRows)},
		large:       b.half(large), zeros: make([]uint16, g.wl),
	}
	b.table(g.wl, 2)
	c.small = b.floats(g.small * halfRows)
	c.fill = b.shared(g.large, c.source.padded(c.source.rowsAtOnce()), 4*patch*halfRows, c.source.fill)
	c.pair = b.rows(g.small, halfRows, func(lo, hi int) {
		n := c.source.halfRows() * c.ws
		x := c.smallGrid[(c.source.image*c.geometry.small+lo)*c.hs*c.ws+c.source.first*c.ws:]
		half.PairRows(c.set, c.small[lo*n:], n, x, x[n:], c.hs*c.ws, hi-lo, n)
	})
	return c
}

func (c *pairWeight) bandRows() int { return c.band }

func (c *pairWeight) at(image, first, rows int) {
	c.source.image, c.source.first, c.source.rows = image, first, rows
	c.fill()
	c.pair()
}

// products adds the band's products to rows of the gradient from row s on, for
// channels l and l+1; the first band overwrites them. gw starts at the first element.
func (c *pairWeight) products(gw []float32, s, rows, l int) {
	band := c.source
	n := band.halfRows() * c.ws
	conv.OuterPairs(c.pairs, gw, c.row, patch, rows, min(2, c.geometry.large-l), c.small[s*n:], n, 1,
		band.dst[l*n*patch:], patch, n*patch, n, band.image > 0 || band.first > 0)
}

// winogradPairs binds a convolution of 3×3 with products of pairs by Winograd's algorithm, or returns nil if it is not one
// of those: its weights must be a variable that the plan does not change, which are transformed when it changes. A repeated
// image is scratch.
func (b *convolutions) winogradPairs(g *geometry, op nn.Conv2D) func() {
	square := g.kh == 3 && g.kw == 3 && g.stride == 1 && g.pad == 1
	if !square || !winograd.PairsFit(g.large, g.small, g.hs, g.ws, op.Pool) || b.outValues(0).H == nil {
		return nil
	}
	variable := b.constant(1)
	if variable < 0 {
		return nil
	}
	c := winograd.NewPairs(g.n, g.large, g.small, g.hs, g.ws, op.ReLU, op.Pool, b.pairs(), b.backend.Threads())
	b.table(c.Bytes(), 1)
	w, _ := b.unrounded(1)
	y, bias := b.outValues(0).H, b.bias(g.small)
	u := b.transformedWeights(form{variable, winogradPairForm}, c.WeightFloats())
	transform := b.tasks(g.small, g.large*16*winogradCost, func(lo, hi int) { c.Transform(u.values, w, lo, hi) })
	var x []uint16
	before := func() {}
	if op.Up {
		x, before = b.repeated(g)
	} else {
		x = b.half(0)
	}
	run := b.following(variable, u, transform, b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		c.Run(scratch, y, x, u.values, bias, lo, hi)
	}))
	return func() {
		before()
		run()
	}
}

// spreadPairs is a spreadTaps of pairs of neighbouring input channels, whose number is even.
type spreadPairs struct {
	spreadTaps // of in/2 pairs
	pairs      vec.Pairs
	input      []uint16
	packed     []float32 // [padded, in/2] pairs
}

// spreadPairs binds a convolution with one output channel with products of pairs, or returns nil if it is not one of
// those.
func (b *convolutions) spreadPairs(g *geometry, op nn.Conv2D) func() {
	shape := g.gatherShape()
	if op.Up {
		shape.inH, shape.inW, shape.outH, shape.outW = shape.inH/2, shape.inW/2, shape.outH/2, shape.outW/2
		if shape.kh != 3 || shape.kw != 3 || shape.top != 1 {
			return nil
		}
	}
	c := &spreadPairs{spreadTaps: spreadTaps{bands: shape, set: b.backend.set, up: op.Up}, pairs: b.pairs()}
	c.lanes = conv.PairLanes
	if !c.spreads(c.lanes) || c.in%2 != 0 || op.Pool {
		return nil
	}
	w, ok := b.unrounded(1)
	switch {
	case !ok && op.Up:
		return nil // sums of rounded weights would be rounded again
	case !ok:
		w = b.in(1)
	}
	c.relu, c.input, c.to, c.bias = op.ReLU, b.half(0), b.outValues(0), b.bias(1)
	if b.err != nil {
		return nil
	}
	c.arrange(b)
	c.packed = b.floats(len(c.w) / 2)
	perImage, size := len(c.pixels), c.products()
	copies := c.in / 2 * (spreadRows + c.kh - 1) * c.inW
	run := b.shared(c.n*perImage, size+c.rowFloats()+copies, size*c.in/2, func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.multiply(scratch, scratch[size+c.rowFloats():], task/perImage, task%perImage)
			c.gather(scratch[:size], scratch[size:], task/perImage, task%perImage)
		}
	})
	return func() {
		c.turn(w)
		for i := range c.packed {
			c.packed[i] = half.RoundPair(c.w[2*i], c.w[2*i+1])
		}
		run()
	}
}

// multiply computes the products z of the input rows of a band, from copies of their pairs.
func (c *spreadPairs) multiply(z, copies []float32, image, band int) {
	lo, hi := c.inputRows(band)
	n, plane, pairs := (hi-lo)*c.inW, c.inH*c.inW, c.in/2
	x := c.input[image*c.in*plane+lo*c.inW:]
	half.PairRows(c.set, copies, n, x, x[plane:], 2*plane, pairs, n)
	sum := conv.TapSum{Pitch: n, X: copies, Channels: pairs, XStep: n, Taps: c.offsets, WRow: pairs, WStep: 1}
	for r := 0; r < c.padded; r += conv.TapRows {
		sum.Y, sum.W = z[r*n:], c.packed[r*pairs:]
		sum.ComputePairs(c.pairs, c.pixels[band])
	}
}

// weightPairs returns the current step's weights [out, in, taps] as pairs of input channels, [out, ⌈in/2⌉, taps], and a
// function that packs them if they may have changed. Those of a variable that the plan does not change are packed from the
// variable, when it has changed.
func (b *convolutions) weightPairs(out, in, taps int) (pairs []float32, pack func()) {
	whole, rows, products, set := in/2, (in+1)/2, b.pairs(), b.backend.set
	size := rows * taps
	if variable := b.constant(1); variable >= 0 {
		w, _ := b.unrounded(1)
		u, zeros := b.transformedWeights(form{variable, pairForm}, out*size), make([]float32, taps)
		return u.values, b.following(variable, u, b.rows(out, in*taps, func(lo, hi int) {
			for o := lo; o < hi; o++ {
				x, y := w[o*in*taps:][:in*taps], u.values[o*size:][:size]
				if whole > 0 {
					half.RoundPairs(products, y, taps, x, x[taps:], 2*taps, whole, taps)
				}
				if whole < rows {
					half.RoundPairs(products, y[whole*taps:], taps, x[2*whole*taps:], zeros, taps, 1, taps)
				}
			}
		}), func() {})
	}
	pairs, w, zeros := b.floats(out*size), b.half(1), make([]uint16, taps)
	return pairs, b.rows(out, in*taps, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			x, y := w[o*in*taps:][:in*taps], pairs[o*size:][:size]
			if whole > 0 {
				half.PairRows(set, y, taps, x, x[taps:], 2*taps, whole, taps)
			}
			if whole < rows {
				half.PairRows(set, y[whole*taps:], taps, x[2*whole*taps:], zeros, taps, 1, taps)
			}
		}
	})
}

// bfloatOut reports whether the step's first result is float32 or bfloat16.
func (b *convolutions) bfloatOut() bool {
	d := b.buffer(b.current.Out[0]).DType
	return d == tensor.Float32 || d == tensor.BFloat16
}
