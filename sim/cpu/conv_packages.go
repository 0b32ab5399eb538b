package cpu

import (
	"prismtop/sim/cpu/pairconv"
	"prismtop/sim/cpu/square"
	"prismtop/sim/cpu/winograd"
)

// Convolutions that packages square, winograd and pairconv compute.

// transform returns the weights in another form, of a number of floats, into which into brings rows [lo, hi) of n, each
// for work multiplications: those of a variable when it changes, others (of variable −1) before each run. Executables
// that share their memory have the same.
func (b *convolution) transform(f form, floats, n, work int, into func(to []float32, lo, hi int)) []float32 {
	u := b.transformed[f]
	switch {
	case f.variable < 0:
		u = &transformed{values: b.floats(floats)}
	case u == nil:
		u = &transformed{values: make([]float32, floats), seen: -1}
		b.table(floats, 4)
		b.table(floats, 4) // for the second round, which finds them
		b.transformed[f] = u
	}
	run := b.tasks(n, work, func(lo, hi int) { into(u.values, lo, hi) })
	state, pool := b.state, b.backend.pool
	b.before = append(b.before, func() {
		if f.variable < 0 || u.seen != state.changes[f.variable] {
			run()
			if f.variable >= 0 && !pool.Ended() {
				u.seen = state.changes[f.variable]
			}
		}
	})
	return u.values
}

// repeated returns the first input in bfloat16, as if each pixel were repeated if it is to be.
func (b *convolution) repeated() []uint16 {
	if !b.up {
		return b.half(0)
	}
	x := b.halves(b.n * b.large * b.hl * b.wl)
	b.before = append(b.before, b.doubled(x, b.half(0), b.n*b.large*b.hl/2, b.wl/2))
	return x
}

// bindSquare binds a convolution of package square.
func bindSquare(b *convolution) func() {
	x, w, bias, y := b.input(0), b.input(1), b.bias(), b.output()
	shape, o := &b.shape, b.squareOptions()
	c := square.New(shape.n, shape.in, shape.out, shape.outH, shape.outW, o, b.backend.set, b.backend.Threads())
	b.table(c.TableBytes(), 1)
	kind := packedForm
	if o.Up {
		kind = phasesForm
	} else if shape.mirrored {
		kind = mirroredForm
	}
	layout := square.Weights{Out: shape.outStride, In: shape.inStride, Mirrored: shape.mirrored}
	packed := b.transform(form{b.buffer(b.current.In[1]).Variable, kind}, c.WeightFloats(), c.Groups(),
		c.WeightFloats()/c.Groups(), func(to []float32, lo, hi int) { c.Pack(to, w, layout, lo, hi) })
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		c.Run(scratch, y, x, packed, bias, lo, hi)
	})
}

func (b *convolution) squareOptions() square.Options {
	return square.Options{ReLU: b.relu, Up: b.up, Pool: b.pool}
}

const (
	// winogradPixels is the number of outputs of a channel from which transformed weights, four
	// times as many as the weights, are reused often enough.
	winogradPixels = 512
	// winogradCost is the time to transform a weight, in multiplications of a kernel.
	winogradCost = 64
)

// bindWinograd binds a convolution by Winograd's algorithm.
func bindWinograd(b *convolution) func() {
	x, w, bias, y := b.input(0), b.input(1), b.bias(), b.output()
	c := winograd.New(b.n, b.large, b.small, b.hs, b.ws, b.relu, b.backend.set, b.backend.Threads())
	u := b.transform(form{b.buffer(b.current.In[1]).Variable, winogradForm}, c.WeightFloats(), b.small,
		b.large*9*winogradCost, func(to []float32, lo, hi int) { c.Transform(to, w, lo, hi) })
	multiply := c.Multiplier()
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		multiply.Run(scratch, y, x, u, bias, lo, hi)
	})
}

// bindWinogradPairs binds a convolution of pairs by Winograd's algorithm.
func bindWinogradPairs(b *convolution) func() {
	c := winograd.NewPairs(b.n, b.large, b.small, b.hs, b.ws, b.relu, b.pool, b.products(), b.backend.Threads())
	b.table(c.Bytes(), 1)
	w, _ := b.unrounded(1)
	x, y, bias := b.repeated(), b.outValues(0).H, b.bias()
	u := b.transform(form{b.binder.constant(1), winogradPairForm}, c.WeightFloats(), b.small, b.large*16*winogradCost,
		func(to []float32, lo, hi int) { c.Transform(to, w, lo, hi) })
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		c.Run(scratch, y, x, u, bias, lo, hi)
	})
}

// pairShape returns a patched geometry, pairDirect one of stride 1, as package pairconv has it.
func (b *convolution) pairShape() pairconv.Shape {
	return pairconv.Shape{N: b.n, Small: b.small, Large: b.large, Height: b.hs, Width: b.ws}
}
func (b *convolution) pairDirect() pairconv.Direct {
	return pairconv.Direct{N: b.n, In: b.large, Out: b.small, Height: b.hs, Width: b.ws, Side: b.kh, Pool: b.pool}
}

// bindTileDirect binds a convolution of stride 1 with products of tiles.
func bindTileDirect(b *convolution) func() {
	c := pairconv.NewTileDirect(b.pairDirect(), b.backend.set, b.backend.tiles, b.backend.Threads())
	b.table(c.TableBytes(), 1)
	w, _ := b.unrounded(1)
	c.X, c.Y, c.Bias, c.ReLU = b.repeated(), b.outValues(0).H, b.bias(), b.relu
	c.Packed = b.transform(form{b.binder.constant(1), tileForm}, c.PackedFloats(), b.small, b.large*b.taps(),
		func(_ []float32, lo, hi int) { c.Pack(w, lo, hi) })
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}

// bindTileGather binds a gather of a patched geometry with products of tiles, bindPairGather one of pairs.
func bindTileGather(b *convolution) func() {
	c := pairconv.NewTileGather(b.pairShape(), b.backend.set, b.backend.tiles, b.backend.Threads())
	c.Small, c.Large, c.Weights = b.outValues(0).H, b.half(0), b.half(1)
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}

func bindPairGather(b *convolution) func() {
	c := pairconv.NewGather(b.pairShape(), b.products(), b.backend.Threads())
	c.Small, c.Large, c.Weights, c.Bias, c.ReLU = b.outValues(0), b.half(0), b.half(1), b.bias(), b.relu
	b.table(c.TableBytes(), 1)
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}

// bindTileScatter binds a scatter of a patched geometry with products of tiles, bindPairScatter one of pairs.
func bindTileScatter(b *convolution) func() {
	c := pairconv.NewTileScatter(b.pairShape(), b.backend.set, b.products(), b.backend.tiles, b.backend.Threads())
	c.Large, c.Small, c.Weights = b.outValues(0).H, b.half(0), b.half(1)
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}

func bindPairScatter(b *convolution) func() {
	c := pairconv.NewScatter(b.pairShape(), b.backend.set, b.products(), b.backend.Threads())
	c.Large, c.Small, c.Weights, c.Bias, c.ReLU = b.outValues(0), b.half(0), b.half(1), b.bias(), b.relu
	b.table(c.TableBytes(), 1)
	if n := c.PackedFloats(); n > 0 {
		c.Packed = b.floats(n)
		b.before = append(b.before, b.rows(b.small/2, b.large*patch, c.Pack))
	}
	return b.shared(c.Tasks(), c.Scratch(), c.Work(), c.Run)
}
