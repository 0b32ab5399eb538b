package cpu

import (
	"sync/atomic"
	"time"

	"prismtop/sim/nn"
)

// convAdam binds an Adam update of a convolution's weights that does not store their
// gradient.
func (b *binder) convAdam(op nn.ConvAdam) func() {
	outs := 3
	if op.Update.AMSGrad {
		outs++
	}
	results := outs
	if op.GradInput {
		results++
	}
	if !b.operands(4+outs, 4+outs, results) || !b.inPlace([]int{4, 5, 6, 7}[:outs]...) {
		return nil
	}
	if op.Update.Scaler {
		return b.fail("a gradient scaler needs all gradients before the first update")
	}
	if op.Update.Decay != 0 {
		return b.fail("weight decay needs the gradient before the update")
	}
	s, l := 0, 1
	if !op.Transposed {
		s, l = 1, 0
	}
	g, ok := b.convGeometry(b.inShape(s), b.inShape(l), b.outShape(0), op.Stride, op.Pad, anyOutputPad)
	if !ok {
		return nil
	}
	small, large, u := b.in(s), b.in(l), b.adamUpdate(op.Update, 2, outs)
	outer := g.single() && g.n == 1 && !b.split()
	var gx []float32
	if op.GradInput {
		if !outer || !op.Transposed {
			return b.fail("the image's gradient comes with the update where that is of an outer product only")
		}
		if gx = b.out(outs); !b.sameShape(b.inShape(0), b.outShape(outs)) {
			return nil
		}
	}
	if b.err != nil {
		return nil
	}
	b.gradient = new(int64)
	switch {
	case outer:
		return b.outerAdam(&g, u, gx, small, large)
	case !b.tiled(&g) && b.patched(&g) && g.n == 1 && g.hs <= patchBand(&g) && !b.split():
		return b.patchesAdam(&g, u, small, large)
	}
	gw, nanos := b.floats(len(u.p)), b.gradient
	compute := b.weightGradient(g, gw, small, large)
	update := b.each(len(gw), grain, func(lo, hi int) { u.apply(lo, gw[lo:hi]) })
	epoch := time.Now()
	return func() {
		start := time.Since(epoch)
		compute()
		*nanos = int64(time.Since(epoch) - start)
		u.begin()
		update()
	}
}

// gradientShare takes over the gradient's share of the time of the preceding
// ConvAdam.
func (b *binder) gradientShare() func() {
	if b.gradient == nil || b.index == 0 {
		return b.fail("a share of nothing")
	}
	b.shares = append(b.shares, share{step: b.index, of: b.index - 1, nanos: b.gradient})
	return func() {}
}

// outerAdam updates weights between one pixel and an image: the gradient of row s is
// small[s]·large. Unless gx is nil, gx[s] = Σ large[j]·w[s, j] with the weights before the
// update, summed in denseGather's order.
func (b *binder) outerAdam(g *geometry, u *adamUpdate, gx, small, large []float32) func() {
	columns := g.large * g.taps()
	run := b.rows(g.small, columns, func(lo, hi int) {
		for s := lo; s < hi; s++ {
			u.applyOuter(s*columns, large, small[s])
		}
	})
	if gx != nil {
		run = b.rows((g.small+rowsPerTask-1)/rowsPerTask, rowsPerTask*columns, func(lo, hi int) {
			lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, g.small)
			u.applyOuterProducts(lo*columns, gx[lo:hi], large, small[lo:hi])
		})
	}
	return func() {
		u.begin()
		run()
	}
}

// rowsAdam updates rows of weights and computes the gradient of a few rows at a
// time.
type rowsAdam struct {
	*adamUpdate
	row      int                                // floats of a row
	rows     int                                // at a time
	count    int                                // of all rows
	gradient func(gw []float32, first, end int) // rows [first, end)

	epoch          time.Time
	computed, used atomic.Int64 // nanoseconds, summed over threads
}

// run executes tasks [lo, hi).
func (r *rowsAdam) run(scratch []float32, lo, hi int) {
	var computed, used time.Duration
	now := time.Since(r.epoch)
	for task := lo; task < hi; task++ {
		first, end := task*r.rows, min((task+1)*r.rows, r.count)
		gw := scratch[:(end-first)*r.row]
		r.gradient(gw, first, end)
		then := time.Since(r.epoch)
		computed += then - now
		r.apply(first*r.row, gw)
		now = time.Since(r.epoch)
		used += now - then
	}
	r.computed.Add(int64(computed))
	r.used.Add(int64(used))
}

// patchesAdam updates the weights of a patched geometry that fits into one band of
// patches, eight rows at a time.
func (b *binder) patchesAdam(g *geometry, u *adamUpdate, small, large []float32) func() {
	p := b.newPatchWeight(g, small, large)
	r := &rowsAdam{adamUpdate: u, row: p.row, rows: patchRows, count: g.small, epoch: time.Now(),
		gradient: func(gw []float32, first, end int) {
			for l := 0; l < g.large; l += 2 {
				p.products(gw[l*patch:], first, end-first, l)
			}
		}}
	tasks := (r.count + r.rows - 1) / r.rows
	update := b.shared(tasks, r.rows*r.row, r.rows*r.row*p.pixels, r.run)
	nanos := b.gradient
	return func() {
		start := time.Since(r.epoch)
		p.source.rows = g.hs
		p.fill()
		filled := time.Since(r.epoch)
		r.computed.Store(0)
		r.used.Store(0)
		u.begin()
		update()
		took := float64(time.Since(r.epoch) - filled)
		computed, used := float64(r.computed.Load()), float64(r.used.Load())
		*nanos = int64(filled - start)
		if computed+used > 0 {
			*nanos += int64(took * computed / (computed + used))
		}
	}
}
