package cpu

import (
	"fmt"
	"runtime"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// measureFrame is what Measure, Amplitudes and their gradients have in common: the frame of
// the telescope's passes, the masks, and the fields between two passes.
type measureFrame struct {
	telescope.Frame // its lines are of the run in progress

	plans    PlanSource
	parallel fft.Parallel
	op       nn.MeasureFrame
	masks    []*maskBox
	fields   []float32
	work     chan *telescope.Space
	chosen
}

// chosen are the measurements that a pass serves, and the columns that it needs.
type chosen struct {
	first, last int
	columns     [2]int
}

// maskBox is a mask, its strips of columns one after the other, and the columns that it
// has anything in: all found when it has changed. A strip's rows lie a whole row of the
// mask apart there, where they are in one another's way in the caches.
type maskBox struct {
	pool    *pool.Pool // knows when to leave it
	mask    []float32
	strips  []float32
	version *uint32 // counts writes
	seen    uint32
	known   bool
	columns [2]int
}

// find brings the columns up to date: whole strips, none for an empty mask.
func (m *maskBox) find(set vec.Set, n int) [2]int {
	if m.known && m.seen == *m.version {
		return m.columns
	}
	columns := [2]int{n, 0}
	for i := 0; i < n && !m.pool.Ended(); i++ {
		columns = telescope.Widen(set, columns, m.mask[i*n:][:n])
	}
	if columns[0] >= columns[1] {
		columns = [2]int{}
	}
	m.columns = columns
	m.pack(n)
	m.seen, m.known = *m.version, !m.pool.Ended()
	return m.columns
}

// pack fills the strips.
func (m *maskBox) pack(n int) {
	for at := 0; at < n && !m.pool.Ended(); at += vec.StripLanes {
		strip := m.strips[at*n:][:n*vec.StripLanes]
		for i := range n {
			copy(strip[i*vec.StripLanes:][:vec.StripLanes], m.mask[i*n+at:])
		}
	}
}

// measured is the side of the object that is measured; one that is no square with a power
// of two as its side is an error.
func (b *binder) measured(object tensor.Shape) int {
	count, h, w, ok := b.planes(object)
	if ok && (count != 1 || !nn.MeasureSides(h, w)) {
		b.fail("measuring an object of %v", object)
	}
	return h
}

// measureFrame binds what the operators share. The masks are every stride-th input from
// first on.
func (b *binder) measureFrame(op nn.MeasureFrame, n, first, stride int, fields []float32) *measureFrame {
	for i := first; i < len(b.current.In); i += stride {
		if len(b.in(i)) != n*n {
			b.fail("mask %d is not %d×%d", (i-first)/stride, n, n)
		}
	}
	if b.err != nil {
		return nil
	}
	rows, columns := [2]int{0, n}, [2]int{0, n}
	if op.Pruned {
		rows, columns = telescope.WholeStrips([2]int{op.Top, op.Bottom}), telescope.WholeStrips([2]int{op.Left, op.Right})
	}
	f := &measureFrame{parallel: b.backend.parallel, op: op, fields: fields, Frame: telescope.Frame{
		Set: b.backend.set, N: n, Top: rows[0], Bottom: rows[1], Left: columns[0], Right: columns[1],
	}}
	var err error
	if f.plans, err = b.fftPlans(n, n); err != nil {
		b.fail("%w", err)
		return nil
	}
	lines, err := fft.NewLines(n)
	if err != nil {
		b.fail("%w", err)
		return nil
	}
	for i := first; i < len(b.current.In); i += stride {
		f.masks = append(f.masks, b.maskBox(i))
	}
	workers := min(runtime.NumCPU(), n/vec.StripLanes)
	f.work = make(chan *telescope.Space, workers)
	strip := lines.StripLen()
	for range workers {
		slab := newSlab(int64(4 * (6*strip + n*vec.StripLanes)))
		b.table(6*strip+n*vec.StripLanes, 4)
		part := func(i, n int) []float32 { return cut[float32](&slab, int64(4*i*strip), n) }
		f.work <- telescope.NewSpace(part(0, strip), part(1, strip), part(2, strip), part(3, strip), part(4, strip), part(5, strip),
			part(6, n*vec.StripLanes))
	}
	return f
}

// maskBox is the box of an input's mask, one for all steps that read it.
func (b *binder) maskBox(i int) *maskBox {
	id := b.current.In[i]
	box := b.boxes[id]
	if box == nil {
		mask := b.in(i)
		slab := b.slab(int64(4 * len(mask)))
		b.table(len(mask), 4)
		box = &maskBox{pool: b.backend.pool, mask: mask, strips: cut[float32](&slab, 0, len(mask)), version: &b.written[id]}
		b.boxes[id] = box
	}
	return box
}

// begin fetches the tables for a run, and the plan's twiddles are made if nobody kept
// them.
func (f *measureFrame) begin() {
	plan := f.plans.Plan(f.N, f.N)
	if plan == nil {
		panic(fmt.Sprintf("cpu: the FFT plan source has no plan for %d×%d", f.N, f.N))
	}
	f.Lines, _ = plan.Lines()
}

// columnsOf is the columns that measurement k needs, with its mask brought up to date.
func (f *measureFrame) columnsOf(k int) [2]int {
	columns := f.masks[k].find(f.Set, f.N)
	if !f.op.Pruned {
		return [2]int{0, f.N}
	}
	return columns
}

// choose makes [first, last) the measurements of the passes to come.
func (f *measureFrame) choose(first, last int) {
	f.chosen = chosen{first, last, [2]int{}}
	for k := first; k < last; k++ {
		f.columns = telescope.Union(f.columns, f.columnsOf(k))
	}
}

// groups calls pass for the measurements that share a spectrum, all or one by one.
func (f *measureFrame) groups(pass func(first int)) {
	if f.op.Shared {
		f.choose(0, len(f.masks))
		pass(0)
		return
	}
	for k := range f.masks {
		f.choose(k, k+1)
		pass(k)
	}
}

// each runs body for every one of count strips.
func (f *measureFrame) each(count int, body func(lo, hi int)) {
	if count > 0 {
		f.parallel(count, body)
	}
}

// rowRun is the length of a strip of columns that has the window's rows only.
func (f *measureFrame) rowRun() int { return (f.Bottom - f.Top + 1) * vec.StripRow }

// tile is strip c of measurement k's field.
func (f *measureFrame) tile(k, c int) []float32 {
	size := f.Lines.StripLen()
	at := k*nn.MeasureSaved(f.N, f.N) + c*size
	return f.fields[at:][:size]
}

// window copies the window's rows between a whole strip and a run of these rows.
func (f *measureFrame) window(strip, run []float32, out bool) {
	l := f.Lines.Layout()
	for i := f.Top; i < f.Bottom; {
		next := min(f.Bottom, (i/64+1)*64)
		a, b := strip[l.Row(i):][:(next-i)*vec.StripRow], run[(i-f.Top)*vec.StripRow:]
		if out {
			copy(b, a)
		} else {
			copy(a, b)
		}
		i = next
	}
}

// masked is to = factor·mask·from for strip c of columns, or adds to it.
func (f *measureFrame) masked(to, from []float32, k, c int, factor float32, add bool) {
	mask := f.masks[k].strips[c*f.N*vec.StripLanes:]
	if add {
		f.MaskAdd(to, from, mask, vec.StripLanes, factor)
	} else {
		f.Mask(to, from, mask, vec.StripLanes, factor)
	}
}
