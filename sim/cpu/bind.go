package cpu

import (
	"context"
	"errors"
	"math/bits"
	"runtime"
	"sync/atomic"

	"prismtop/sim/nn"
)

// The binding of a plan's steps to closures: the binder, the families of operators, and the
// loops and scratch that closures share.

// grain is the smallest number of elements of a cheap loop worth giving to
// another thread.
const grain = 4096

// binder makes the closures of the steps, one at a time. It has their operands, scratch and loops; the kernels are
// those of its families. They rely on nn.Plan.Check; a kernel that there is none of records an error and returns nil.
type binder struct {
	ctx     context.Context // of the current Load
	backend *Backend
	plan    *nn.Plan
	views   []view
	state   *state

	current       *nn.Step
	served        []string // the kernels of convolutions that compute it
	index         int      // of current
	err           error
	widened       map[nn.BufferID][]float32
	before, after []func()

	memory   slab
	used     int64    // by the current step
	most     int64    // by any step
	written  []uint32 // writes to each buffer from outside the plan
	users    *int     // executables that had the plan's arena
	families []family
	shares   []share

	tables int64 // bytes of tables held by closures

	casts  map[nn.BufferID]nn.BufferID // variables by buffers that are their values in bfloat16
	copied map[int]*copied             // by variable, for those of these buffers that a kernel reads
	final  bool                        // the second round, which knows what the first read

	transformed map[form]*transformed // weights, shared with other executables
	factors     map[nn.BufferID]*factors
}

// step returns the closure that runs a step.
func (b *binder) step(s *nn.Step) (run func(), err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case leave:
			err = v.err
		default:
			panic(v)
		}
	}()
	b.current, b.err, b.used = s, nil, 0
	b.widened, b.before, b.after, b.served = map[nn.BufferID][]float32{}, nil, nil, nil
	if s.Products == nn.TF32 {
		return nil, errors.New("TF32 products: only a GPU multiplies so; use exact ones")
	}
	kernel := b.bind(s.Op)
	b.most = max(b.most, b.used)
	if b.err != nil {
		return nil, b.err
	}
	before, after := b.before, b.after
	if len(before)+len(after) == 0 {
		return kernel, nil
	}
	return func() {
		for _, f := range before {
			f()
		}
		kernel()
		for _, f := range after {
			f()
		}
	}, nil
}

// family binds the operators of a kind; ok is false for others.
type family interface {
	bind(op nn.Op) (run func(), ok bool)
}

// kernels returns the families, each with nothing bound yet.
func (b *binder) kernels() []family {
	return []family{
		&convolutions{b}, &normalisations{b}, &elementwise{b},
		&measurements{binder: b, boxes: map[nn.BufferID]*maskBox{}},
		&losses{b}, &optimizers{binder: b}, &volumes{b}, &ptychography{b},
	}
}

// bind finds the kernel of an operator.
func (b *binder) bind(op nn.Op) func() {
	for _, f := range b.families {
		if run, ok := f.bind(op); ok {
			return run
		}
	}
	return b.fail("no kernel for this operator")
}

// floats, float64s, complexes and halves return scratch for the current step's
// kernel.
func (b *binder) floats(n int) []float32      { return scratch[float32](b, n, 4) }
func (b *binder) float64s(n int) []float64    { return scratch[float64](b, n, 8) }
func (b *binder) complexes(n int) []complex64 { return scratch[complex64](b, n, 8) }
func (b *binder) halves(n int) []uint16       { return scratch[uint16](b, n, 2) }

func scratch[T float32 | float64 | uint16 | complex64](b *binder, n int, size int64) []T {
	offset := b.used
	b.used += roundUp(int64(n) * size)
	if b.used > b.memory.size {
		b.memory = b.slab(b.used) // only in the first round, which runs nothing
	}
	return cut[T](&b.memory, offset, n)
}

// leave is the panic value of a step whose context ends while it waits for memory.
type leave struct{ err error }

// slab allocates size bytes. It leaves the step if the context ends first.
func (b *binder) slab(size int64) slab {
	s, err := newSlabWithin(b.ctx, size)
	if err != nil {
		panic(leave{err})
	}
	return s
}

// table accounts for n elements of size bytes held by a closure.
func (b *binder) table(n int, size int64) { b.tables += int64(n) * size }

// each returns a closure that runs body over [0, n) on the pool.
func (b *binder) each(n, grain int, body func(lo, hi int)) func() {
	p := b.backend.pool
	return func() { p.For(n, grain, body) }
}

// pieceWork is the approximate number of multiplications between checks of the
// context: far less than a millisecond in assembly, about ten in plain Go.
const pieceWork = 1 << 24

// tasks returns a closure that runs body over [0, n) on the pool where an element
// costs work multiplications.
func (b *binder) tasks(n, work int, body func(lo, hi int)) func() {
	p := b.backend.pool
	return func() { p.ForPieces(n, 1+worthwhile/work, 1+pieceWork/work, body) }
}

// rows returns a closure that runs body over [0, n) on the pool, for cheap work on
// rows of floats floats.
func (b *binder) rows(n, floats int, body func(lo, hi int)) func() {
	p := b.backend.pool
	return func() { p.ForPieces(n, 1+grain/floats, 1+pieceFloats/floats, body) }
}

// pieceFloats is pieceWork for elements that are only read and written.
const pieceFloats = 1 << 18

// maxShares bounds the number of scratch pieces of a loop.
const maxShares = 16

// spread returns a closure that runs body over [0, n) on the pool, in ranges made
// of shares of n. Every range gets its own scratch, size floats per share; work is
// the number of multiplications per element.
func (b *binder) spread(n, size, work int, body func(scratch []float32, lo, hi int)) func() {
	shares := min(n, maxShares)
	size = (size + lineFloats - 1) / lineFloats * lineFloats
	scratch := b.floats(shares * size)
	return b.each(shares, 1+worthwhile*shares/(n*work+1), func(lo, hi int) {
		body(scratch[lo*size:hi*size], lo*n/shares, hi*n/shares)
	})
}

// shared is spread with size floats of scratch per range. A thread usually gets the
// piece it had before, which is still in its caches.
func (b *binder) shared(n, size, work int, body func(scratch []float32, lo, hi int)) func() {
	shares := min(n, maxShares)
	size = (size + lineFloats - 1) / lineFloats * lineFloats
	scratch, places, pool := b.floats(shares*size), &places{}, b.backend.pool
	piece := 1 + pieceWork/(work+1)
	return b.each(shares, 1+worthwhile*shares/(n*work+1), func(lo, hi int) {
		place := places.take()
		for from, end := lo*n/shares, hi*n/shares; from < end && !pool.Ended(); from += piece {
			body(scratch[place*size:][:size], from, min(from+piece, end))
		}
		places.give(place)
	})
}

// prepared is shared with operands beside a range's scratch: laid floats that lay fills. Every thread fills its own,
// once a run: to read what another core has just written takes longer than to make it again. There is
// scratch for as many ranges at a time as there are threads now; others wait for it.
func (b *binder) prepared(n, laid, size, work int, lay func(laid []float32),
	body func(laid, scratch []float32, lo, hi int)) func() {
	shares := min(n, maxShares)
	most := min(shares, b.backend.Threads())
	laid, size = (laid+lineFloats-1)/lineFloats*lineFloats, (size+lineFloats-1)/lineFloats*lineFloats
	scratch, places, pool := b.floats(most*(laid+size)), &places{most: most}, b.backend.pool
	runs, filled := 0, make([]int, most) // the run for which a place was filled
	b.table(most, 8)
	piece := 1 + pieceWork/(work+1)
	loop := b.each(shares, 1+worthwhile*shares/(n*work+1), func(lo, hi int) {
		place := places.take()
		defer places.give(place)
		own := scratch[place*(laid+size):][:laid+size]
		if filled[place] != runs {
			lay(own[:laid])
			filled[place] = runs
		}
		for from, end := lo*n/shares, hi*n/shares; from < end && !pool.Ended(); from += piece {
			body(own[:laid], own[laid:], from, min(from+piece, end))
		}
	})
	return func() {
		runs++
		loop()
	}
}

// places are pieces of scratch, one for each range that can run at a time, at most most unless that is 0.
type places struct {
	taken atomic.Uint32
	most  int
}

// take returns the first free place.
func (p *places) take() int {
	for {
		taken := p.taken.Load()
		first := ^taken & (taken + 1)
		if p.most > 0 && first >= 1<<p.most {
			runtime.Gosched()
			continue
		}
		if p.taken.CompareAndSwap(taken, taken|first) {
			return bits.TrailingZeros32(first)
		}
	}
}

func (p *places) give(place int) { p.taken.And(^(1 << place)) }

// lineFloats is the number of floats of a cache line.
const lineFloats = 16
