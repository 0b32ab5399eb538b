package cpu

import (
	"prismtop/sim/cpu/pairconv"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
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
	bfloat := func(i int) bool { return b.buffer(b.current.In[i]).DType == tensor.BFloat16 }
	if b.split() || !bfloat(0) || !bfloat(1) {
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
		if run := b.gatherPairs(g, op.ReLU); run != nil {
			return run
		}
	}
	for _, bind := range []func(*geometry, nn.Conv2D) func(){b.tileDirect, b.winogradPairs, b.spreadPairs,
		b.directPairs} {
		if run := bind(g, op); run != nil {
			return run
		}
	}
	return nil
}

// repeated returns the first input of a Conv2D with Up as if each pixel were repeated, in
// scratch, and the function that repeats them.
func (b *convolutions) repeated(g *geometry) (x []uint16, repeat func()) {
	x = b.halves(g.n * g.large * g.hl * g.wl)
	return x, (&elementwise{b.binder}).doubled(x, b.half(0), g.n*g.large*g.hl/2, g.wl/2)
}

// pairShape returns a patched geometry as package pairconv has it.
func pairShape(g *geometry) pairconv.Shape {
	return pairconv.Shape{N: g.n, Small: g.small, Large: g.large, Height: g.hs, Width: g.ws}
}

// gatherPairs binds a gather of a patched geometry with products of pairs, or returns nil if it is not one of those.
func (b *convolutions) gatherPairs(g *geometry, relu bool) func() {
	shape := pairShape(g)
	if b.pairs() == vec.NoPairs || !b.patched(g) {
		return nil
	}
	if b.backend.tiles != matrix.NoTiles && !relu && len(b.current.In) < 3 && b.outValues(0).H != nil &&
		pairconv.TileGatherFits(shape) {
		c := pairconv.NewTileGather(shape, b.backend.set, b.backend.tiles, b.backend.Threads())
		c.Small, c.Large, c.Weights = b.outValues(0).H, b.half(0), b.half(1)
		return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
	}
	if !pairconv.GatherFits(shape) {
		return nil
	}
	c := pairconv.NewGather(shape, b.pairs(), b.backend.Threads())
	c.Small, c.Large, c.Weights, c.Bias, c.ReLU = b.outValues(0), b.half(0), b.half(1), b.bias(), relu
	b.table(c.TableBytes(), 1)
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}

// scatterPairs binds a scatter of a patched geometry with products of pairs, or returns nil if it is not one of those.
func (b *convolutions) scatterPairs(g *geometry, relu bool) func() {
	shape := pairShape(g)
	if b.pairs() == vec.NoPairs || !b.patched(g) || !b.bfloatOut() {
		return nil
	}
	if b.backend.tiles != matrix.NoTiles && !relu && len(b.current.In) < 3 && b.outValues(0).H != nil &&
		pairconv.TileScatterFits(shape) {
		c := pairconv.NewTileScatter(shape, b.backend.set, b.pairs(), b.backend.tiles, b.backend.Threads())
		c.Large, c.Small, c.Weights = b.outValues(0).H, b.half(0), b.half(1)
		return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
	}
	if !pairconv.ScatterFits(shape) {
		return nil
	}
	c := pairconv.NewScatter(shape, b.backend.set, b.pairs(), b.backend.Threads())
	c.Large, c.Small, c.Weights, c.Bias, c.ReLU = b.outValues(0), b.half(0), b.half(1), b.bias(), relu
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

// pairWeight computes the weight gradient of a patched geometry from pairs of pixels: each one of the band's upper half
// and its counterpart in the lower half. Tiles multiply them where channels and pixels fill some.
type pairWeight struct {
	geometry
	set          vec.Set
	pairs        vec.Pairs
	small, large []uint16
	zeros        []uint16
	source       patchSource
	band         int
	pitch        int // of the pairs of the small grid

	tiles    matrix.Tiles
	short    bool // with segments of sixteen pixels
	segments []int32
}

// pairedWeight reports whether a weight gradient is computed from pairs.
func (b *convolutions) pairedWeight(g *geometry) bool {
	return b.pairs() != vec.NoPairs && b.patched(g) && g.hs%2 == 0
}

// newPairWeight binds the parts of a weight gradient whose operands are inputs small and large of the step.
func (b *convolutions) newPairWeight(g *geometry, small, large int) *pairWeight {
	c := &pairWeight{geometry: *g, set: b.backend.set, pairs: b.pairs(), small: b.half(small), large: b.half(large),
		zeros:  make([]uint16, g.wl),
		source: patchSource{geometry: *g, set: b.backend.set}, band: min(max(2*patchBand(g)&^1, 2), g.hs)}
	b.table(g.wl, 2)
	whole := c.band / 2 * g.ws
	c.pitch = whole + lineFloats // rows a power of two apart share few sets of the cache
	c.useTiles(b, whole)
	return c
}

// useTiles chooses tiles if channels and pairs of pixels, of whole bands and of the last one, fill them.
func (c *pairWeight) useTiles(b *convolutions, whole int) {
	last := c.hs % c.band / 2 * c.ws
	if b.backend.tiles == matrix.NoTiles || c.geometry.small%tileRowsAtOnce != 0 ||
		c.geometry.large%tileChannels != 0 ||
		whole%(matrix.TileSide/2) != 0 || last%(matrix.TileSide/2) != 0 {
		return
	}
	c.tiles, c.short = b.backend.tiles, whole%matrix.TileSide != 0 || last%matrix.TileSide != 0
	for k := 0; k < whole; k += c.depth() {
		c.segments = append(c.segments, int32(2*k), int32(2*patch*k))
	}
	b.table(len(c.segments), 4)
}

// depth is the number of pairs of pixels of a segment.
func (c *pairWeight) depth() int {
	if c.short {
		return matrix.TileSide / 2
	}
	return matrix.TileSide
}

func (c *pairWeight) bandRows() int { return c.band }

// tileRowsAtOnce and tileChannels are the rows of the gradient, and the channels of sixteen taps, of a wide product.
const (
	tileRowsAtOnce = matrix.TileSide
	tileChannels   = 2 * matrix.TileBlock / patch
)

func (c *pairWeight) block() (rows, channels int) {
	if c.tiles != matrix.NoTiles {
		return tileRowsAtOnce, tileChannels
	}
	return patchRows, patchChannels
}

// patches is the number of patches' pairs of a band.
func (c *pairWeight) patches() int { return c.geometry.large * patch * c.band / 2 * c.ws }

func (c *pairWeight) laid() int {
	return c.patches() + c.geometry.small*c.pitch + c.source.padded(c.source.rowsAtOnce())
}

// lay makes the patches of a band, and the pairs of its small grid.
func (c *pairWeight) lay(to []float32, at rowBand) {
	patches, small, x := to[:c.patches()], to[c.patches():][:c.geometry.small*c.pitch],
		to[c.patches()+c.geometry.small*c.pitch:]
	pitch, step, halfRows := c.wl+2, c.source.rowsAtOnce(), at.rows/2
	for l := range c.geometry.large {
		plane := c.large[(at.image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
		for done := 0; done < halfRows; done += step {
			rows := min(step, halfRows-done)
			for r := range 2*rows + 2 {
				above := c.row(plane, 2*(at.first+done)-1+r)
				below := c.row(plane, 2*(at.first+halfRows+done)-1+r)
				line := x[r*pitch:][:pitch]
				line[0], line[pitch-1] = 0, 0
				half.PairRows(c.set, line[1:], 0, above, below, 0, 1, c.wl)
			}
			conv.Patches(c.set, patches[(l*halfRows+done)*c.ws*patch:], x, pitch, c.ws, rows)
		}
	}
	n := halfRows * c.ws
	from := c.small[at.image*c.geometry.small*c.hs*c.ws+at.first*c.ws:]
	half.PairRows(c.set, small, c.pitch, from, from[n:], c.hs*c.ws, c.geometry.small, n)
}

// row returns a row of the large grid, zeros outside of it.
func (c *pairWeight) row(plane []uint16, row int) []uint16 {
	if row < 0 || row >= c.hl {
		return c.zeros
	}
	return plane[row*c.wl:][:c.wl]
}

func (c *pairWeight) products(laid []float32, at rowBand, gw []float32, s, rows, l int, add bool) {
	n, row := at.rows/2*c.ws, c.geometry.large*patch
	patches, small := laid[l*n*patch:], laid[c.patches()+s*c.pitch:]
	if c.tiles == matrix.NoTiles {
		conv.OuterPairs(c.pairs, gw, row, patch, rows, min(patchChannels, c.geometry.large-l), small, c.pitch, 1,
			patches, patch, n*patch, n, add)
		return
	}
	c.tiles.Product(&matrix.TileProduct{Wide: true, Short: c.short, A: asHalves(small), AStride: 2 * c.pitch,
		B: asHalves(patches), BStride: 2 * patch, BHalf: 2 * n * patch, C: gw, CStride: row, CColHalf: patch,
		Groups: 1, Segments: c.segments[:2*n/c.depth()], Accumulate: add})
}

// tileDirect binds a convolution of stride 1 with products of tiles, or returns nil if it is not one of those: its
// weights must be a variable that the plan does not change, which are packed when it changes. Repeated images are
// scratch.
func (b *convolutions) tileDirect(g *geometry, op nn.Conv2D) func() {
	shape := pairconv.Direct{N: g.n, In: g.large, Out: g.small, Height: g.hs, Width: g.ws, Side: g.kh, Pool: op.Pool}
	centred := g.kh == g.kw && g.stride == 1 && g.pad == g.kh/2
	if b.backend.tiles == matrix.NoTiles || !centred || b.outValues(0).H == nil || !pairconv.TileDirectFits(shape) {
		return nil
	}
	variable := b.constant(1)
	if variable < 0 {
		return nil
	}
	c := pairconv.NewTileDirect(shape, b.backend.set, b.backend.tiles, b.backend.Threads())
	b.table(c.TableBytes(), 1)
	w, _ := b.unrounded(1)
	c.Y, c.Bias, c.ReLU = b.outValues(0).H, b.bias(), op.ReLU
	u := b.transformedWeights(form{variable, tileForm}, c.PackedFloats())
	c.Packed = u.values
	pack := b.tasks(g.small, g.large*g.taps(), func(lo, hi int) { c.Pack(w, lo, hi) })
	before := func() {}
	if op.Up {
		c.X, before = b.repeated(g)
	} else {
		c.X = b.half(0)
	}
	run := b.following(variable, u, pack, b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run))
	return func() {
		before()
		run()
	}
}

// winogradPairs binds a convolution of 3×3 with products of pairs by Winograd's algorithm, or returns nil if it is not
// one of those: its weights must be a variable that the plan does not change, which are transformed when it changes. A
// repeated image is scratch.
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
	y, bias := b.outValues(0).H, b.bias()
	u := b.transformedWeights(form{variable, winogradPairForm}, c.WeightFloats())
	transform := b.tasks(g.small, g.large*16*winogradCost, func(lo, hi int) { c.Transform(u.values, w, lo, hi) })
	var x []uint16
	before := func() {}
	if op.Up {
		x, before = b.repeated(g)
	} else {
		x = b.half(0)
	}
	run := b.following(variable, u, transform,
		b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
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
	c.relu, c.input, c.to, c.bias = op.ReLU, b.half(0), b.outValues(0), b.bias()
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
// function that packs them if they may have changed. Those of a variable that the plan does not change are packed from
// the variable, when it has changed.
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
