package cpu

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/adam"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Adam: its step, its update with and without a gradient scaler, and the updates of
// convolutions whose weight gradient it takes at once.

// optimizers binds Adam, the gradient scaler, and convolutions whose weight gradient Adam takes at once.
type optimizers struct {
	*binder

	gradient *int64 // time of the last ConvAdam's gradient
}

func (b *optimizers) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.Unscale:
		return b.unscale(), true
	case nn.AdamStep:
		return b.adamStep(), true
	case nn.Adam:
		return b.adam(op), true
	case nn.ConvAdam:
		return b.convAdam(op), true
	case nn.GradientShare:
		return b.gradientShare(), true
	case nn.ScalerUpdate:
		return b.scalerUpdate(op.Interval), true
	}
	return nil, false
}

// decimal recovers the decimal value of a float32 constant: 0.999, not
// 0.99900001. Without it the bias corrections 1−β^k lose five digits.
func decimal(x float32) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	if err != nil {
		return float64(x) // unreachable: NaN and infinities parse as well
	}
	return v
}

// adamStep computes step += 1 unless found is 1.
func (b *optimizers) adamStep() func() {
	step := b.out(0)
	if len(b.current.In) == 1 {
		return func() { step[0]++ }
	}
	found := b.in(1)
	return func() {
		if found[0] != 1 {
			step[0]++
		}
	}
}

// adamUpdate is a bound update of one parameter array.
type adamUpdate struct {
	set          vec.Set
	p, m, v      []float32
	vmax         []float32 // nil without AMSGrad
	lr, step     []float32
	beta1, beta2 float64
	eps          float32
	decay        float32
	s            adam.Scalars

	pool   *pool.Pool
	copied *copied // the parameters' copy in bfloat16; nil if the plan reads none
	pairs  vec.Pairs
}

// adamUpdate binds an Adam update of the step's first outputs. The learning rate and
// the step counter are inputs first and first+1.
func (b *optimizers) adamUpdate(op nn.Adam, first int) *adamUpdate {
	u := &adamUpdate{set: b.backend.set, p: b.out(0), m: b.out(1), v: b.out(2),
		lr: b.in(first), step: b.in(first + 1),
		beta1: decimal(op.Beta1), beta2: decimal(op.Beta2), eps: op.Eps, decay: op.Decay,
		pool: b.backend.pool, pairs: b.backend.pairs, copied: b.copied[b.buffer(b.current.Out[0]).Variable]}
	if op.AMSGrad {
		u.vmax = b.out(3)
	}
	return u
}

// begin computes the constants of the next step.
func (u *adamUpdate) begin() {
	if u.copied != nil {
		u.copied.seen, u.copied.fresh = -1, false
	}
	k := float64(u.step[0])
	u.s = adam.Scalars{
		Beta1: float32(u.beta1), Rate1: float32(1 - u.beta1),
		Beta2: float32(u.beta2), Rate2: float32(1 - u.beta2),
		Size: float32(float64(u.lr[0]) / (1 - math.Pow(u.beta1, k))),
		Root: float32(1 / math.Sqrt(1-math.Pow(u.beta2, k))),
		Eps:  u.eps,
	}
}

// end is called when all elements are updated.
func (u *adamUpdate) end() {
	if u.copied != nil {
		u.copied.fresh = !u.pool.Ended()
	}
}

// run returns a closure that updates all elements by body.
func (u *adamUpdate) run(body func()) func() {
	return func() {
		u.begin()
		body()
		u.end()
	}
}

// round copies updated elements.
func (u *adamUpdate) round(lo, hi int) {
	if u.copied != nil {
		half.Narrow(u.set, tensor.BFloat16, u.copied.values[lo:hi], u.p[lo:hi])
	}
}

// apply updates elements from lo on with their gradient.
func (u *adamUpdate) apply(lo int, g []float32) {
	hi := lo + len(g)
	switch {
	case u.vmax != nil:
		adam.AMSGrad(u.set, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], u.vmax[lo:hi], g, &u.s)
		u.round(lo, hi)
	case u.copied != nil:
		adam.StepRounded(u.pairs, u.copied.values[lo:hi], u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], g, &u.s)
	default:
		adam.Step(u.set, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], g, &u.s)
	}
}

// applyOuter updates elements from lo on with the gradient factor·x.
func (u *adamUpdate) applyOuter(lo int, x []float32, factor float32) {
	hi := lo + len(x)
	switch {
	case u.vmax != nil:
		adam.AMSGradOuter(u.set, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], u.vmax[lo:hi], x, factor, &u.s)
		u.round(lo, hi)
	case u.copied != nil:
		adam.OuterRounded(u.pairs, u.copied.values[lo:hi], u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], x, factor, &u.s)
	default:
		adam.Outer(u.set, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], x, factor, &u.s)
	}
}

// applyOuterProducts updates rows from element lo on with the gradients factors[r]·x,
// after multiplying the old rows by x: out[r] = Σ x[j]·p[r, j].
func (u *adamUpdate) applyOuterProducts(lo int, out, x, factors []float32) {
	hi := lo + len(out)*len(x)
	if u.vmax != nil {
		adam.AMSGradOuterProducts(u.set, out, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], u.vmax[lo:hi], x, factors, &u.s)
	} else {
		adam.OuterProducts(u.set, out, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], x, factors, &u.s)
	}
	u.round(lo, hi)
}

// applyOuterRounded is applyOuterProducts with the products of weights rounded to bfloat16.
func (u *adamUpdate) applyOuterRounded(lo int, out, x, factors []float32) {
	n := len(x)
	if u.vmax == nil {
		hi := lo + len(out)*n
		adam.OuterProductsRounded(u.pairs, out, u.p[lo:hi], u.m[lo:hi], u.v[lo:hi], x, factors, &u.s)
		u.round(lo, hi)
		return
	}
	matrix.ProductsRounded(u.pairs, out, u.p[lo:], n, x)
	for r, factor := range factors {
		u.applyOuter(lo+r*n, x, factor)
	}
}

func (b *optimizers) adam(op nn.Adam) func() {
	u := b.adamUpdate(op, 1)
	if f := b.factors[b.current.In[0]]; f != nil && !op.Scaler && op.Decay == 0 {
		return u.run(b.outerUpdate(u, f.small, f.large))
	}
	if b.buffer(b.current.In[0]).Factored {
		return b.fail("a gradient as factors with a scaler, a weight decay or no step that keeps them")
	}
	g := b.in(0)
	var found []float32
	if op.Scaler {
		found = b.in(len(b.current.In) - 1)
	}
	run := b.each(len(u.p), grain, func(lo, hi int) { u.apply(lo, g[lo:hi]) })
	if op.Decay != 0 {
		run = b.decayed(u, g)
	}
	update := u.run(run)
	return func() {
		if found == nil || found[0] != 1 {
			update()
		}
	}
}

// decayed returns a closure that updates with the gradient g + decay·p.
func (b *optimizers) decayed(u *adamUpdate, g []float32) func() {
	blocks := (len(g) + grain - 1) / grain
	return b.shared(blocks, grain, grain, func(scratch []float32, lo, hi int) {
		for block := lo; block < hi; block++ {
			from, to := block*grain, min((block+1)*grain, len(g))
			sum := scratch[:to-from]
			copy(sum, g[from:to])
			elements.Axpy(u.set, sum, u.p[from:to], u.decay)
			u.apply(from, sum)
		}
	})
}

// unscale computes g[i] /= scale and sets found to 1 if a quotient is not finite.
func (b *optimizers) unscale() func() {
	scale := b.in(1)
	g, found := b.out(0), b.out(1)
	var overflow atomic.Bool
	var inverse float32
	run := b.each(len(g), grain, func(lo, hi int) {
		if !scaleFinite(g[lo:hi], inverse) {
			overflow.Store(true)
		}
	})
	return func() {
		inverse = float32(1 / float64(scale[0]))
		overflow.Store(false)
		run()
		if overflow.Load() {
			found[0] = 1
		}
	}
}

// scaleFinite computes x[i] *= w and reports whether all products are finite.
func scaleFinite(x []float32, w float32) bool {
	worst := uint32(0)
	for i := range x {
		x[i] *= w
		worst = max(worst, math.Float32bits(x[i])&math.MaxInt32)
	}
	return worst < 0x7f800000
}

// scalerUpdate computes, with backoff factor 0.5 and growth factor 2
// (spec/prism.md §5.7):
//
//	found = 1: scale *= 0.5, good = 0;  else good += 1, and at interval scale *= 2, good = 0
func (b *optimizers) scalerUpdate(interval int) func() {
	found := b.in(0)
	scale, good := b.out(0), b.out(1)
	return func() {
		if found[0] == 1 {
			scale[0], good[0] = scale[0]*0.5, 0
			return
		}
		good[0]++
		if int(good[0]) < interval {
			return
		}
		good[0] = 0
		if larger := scale[0] * 2; !math.IsInf(float64(larger), 0) {
			scale[0] = larger
		}
	}
}

// convUpdate is Adam's update of a convolution's weights.
type convUpdate struct {
	*adamUpdate
	gx       []float32    // unless nil, takes the gradient of one of the images, with the weights before the update
	rounded  denseWeights // these in bfloat16, or empty
	gradient *int64       // takes the gradient's time
}

// convAdam binds an Adam update of a convolution's weights that does not store their
// gradient.
func (b *optimizers) convAdam(op nn.ConvAdam) func() {
	s, l := 0, 1
	if !op.Transposed {
		s, l = 1, 0
	}
	c := newWeightGradient(b.binder, updates, s, l, op.Stride, op.Pad)
	b.gradient = new(int64)
	c.update = &convUpdate{adamUpdate: b.adamUpdate(op.Update, 2), gradient: b.gradient}
	if op.GradInput {
		arrays := len(b.current.Out) - 1
		if rounded := 4 + arrays; len(b.current.In) > rounded {
			c.update.rounded = c.matrixInput(rounded)
		}
		c.update.gx = b.out(arrays)
	}
	return c.bind()
}

// bindGradientAdam computes the gradient, then updates.
func bindGradientAdam(b *convolution) func() {
	u, nanos, c := b.update, b.update.gradient, *b
	gw := b.floats(len(u.p))
	c.computes, c.result = weighs, gw
	compute := c.bind()
	update := u.run(b.each(len(gw), grain, func(lo, hi int) { u.apply(lo, gw[lo:hi]) }))
	epoch := time.Now()
	return func() {
		start := time.Since(epoch)
		compute()
		*nanos = int64(time.Since(epoch) - start)
		update()
	}
}

// gradientShare takes over the gradient's share of the time of the preceding
// ConvAdam.
func (b *optimizers) gradientShare() func() {
	if b.gradient == nil || b.index == 0 {
		return b.fail("a share of nothing")
	}
	b.shares = append(b.shares, share{step: b.index, of: b.index - 1, nanos: b.gradient})
	return func() {}
}

// bindOuterAdam updates weights between one pixel and an image: the gradient of row s is
// small[s]·large. Unless gx is nil, gx[s] = Σ large[j]·w[s, j] with the weights before the
// update, summed in bindDenseGather's order, or with rounded ones unless they are empty.
func bindOuterAdam(b *convolution) func() {
	u, gx, rounded, columns := b.update.adamUpdate, b.update.gx, b.update.rounded, b.large*b.taps()
	small, large, count := b.input(b.s), b.input(b.l), b.small
	if gx == nil {
		return u.run(b.outerUpdate(u, small, large))
	}
	return u.run(b.rows((count+rowsPerTask-1)/rowsPerTask, rowsPerTask*columns, func(lo, hi int) {
		lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, count)
		switch {
		case rounded.rounded != nil:
			u.applyOuterRounded(lo*columns, gx[lo:hi], large, small[lo:hi])
			return
		case rounded.f == nil && rounded.h == nil:
			u.applyOuterProducts(lo*columns, gx[lo:hi], large, small[lo:hi])
			return
		}
		rounded.products(u.set, gx[lo:hi], lo*columns, columns, large) // whose copy the update overwrites
		for s := lo; s < hi; s++ {
			u.applyOuter(s*columns, large, small[s])
		}
	}))
}

// outerUpdate returns a closure that updates row s with the gradient small[s]·large.
func (b *binder) outerUpdate(u *adamUpdate, small, large []float32) func() {
	return b.rows(len(small), len(large), func(lo, hi int) {
		for s := lo; s < hi; s++ {
			u.applyOuter(s*len(large), large, small[s])
		}
	})
}

// rowsAdam updates rows of weights and computes the gradient of a few rows at a
// time.
type rowsAdam struct {
	*adamUpdate
	row      int                                      // floats of a row
	rows     int                                      // at a time
	count    int                                      // of all rows
	gradient func(laid, gw []float32, first, end int) // rows [first, end)

	epoch          time.Time
	computed, used atomic.Int64 // nanoseconds, summed over threads
}

// run executes tasks [lo, hi).
func (r *rowsAdam) run(laid, scratch []float32, lo, hi int) {
	var computed, used time.Duration
	now := time.Since(r.epoch)
	for task := lo; task < hi; task++ {
		first, end := task*r.rows, min((task+1)*r.rows, r.count)
		gw := scratch[:(end-first)*r.row]
		r.gradient(laid, gw, first, end)
		then := time.Since(r.epoch)
		computed += then - now
		r.apply(first*r.row, gw)
		now = time.Since(r.epoch)
		used += now - then
	}
	r.computed.Add(int64(computed))
	r.used.Add(int64(used))
}

// bindPatchAdam and bindPatchPairsAdam bind the update of a patched geometry that fits into one band of patches, of
// float32 and of pairs.
func bindPatchAdam(b *convolution) func()      { return patchesAdam(b, newPatchWeight(b)) }
func bindPatchPairsAdam(b *convolution) func() { return patchesAdam(b, newPairWeight(b)) }

// patchesAdam updates weights a few rows at a time.
func patchesAdam(b *convolution, p patchProducts) func() {
	g, u := b.geometry, b.update.adamUpdate
	rows, channels := p.block()
	whole := rowBand{rows: g.hs}
	r := &rowsAdam{adamUpdate: u, row: g.large * patch, rows: rows, count: g.small, epoch: time.Now(),
		gradient: func(laid, gw []float32, first, end int) {
			for l := 0; l < g.large; l += channels {
				p.products(laid, whole, gw[l*patch:], first, end-first, l, false)
			}
		}}
	lay := func(laid []float32) {
		start := time.Since(r.epoch)
		p.lay(laid, whole)
		r.computed.Add(int64(time.Since(r.epoch) - start))
	}
	tasks := (r.count + r.rows - 1) / r.rows
	update := b.prepared(tasks, p.laid(), r.rows*r.row, r.rows*r.row*g.hs*g.ws, lay, r.run)
	nanos := b.update.gradient
	return func() {
		start := time.Since(r.epoch)
		r.computed.Store(0)
		r.used.Store(0)
		u.begin()
		update()
		u.end()
		took := float64(time.Since(r.epoch) - start)
		computed, used := float64(r.computed.Load()), float64(r.used.Load())
		if *nanos = 0; computed+used > 0 {
			*nanos = int64(took * computed / (computed + used))
		}
	}
}
