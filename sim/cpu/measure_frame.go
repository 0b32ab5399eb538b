package cpu

import (
	"fmt"
	"runtime"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// measureFrame is what Measure, Amplitudes and their gradients have in common: a square of n×n, the
// window of the object and the masks, in strips of vec.StripLanes rows or columns.
type measureFrame struct {
	set      vec.Set
	plans    PlanSource
	parallel fft.Parallel
	op       nn.MeasureFrame
	n        int
	top, end int // rows of the object's window, whole strips
	left, to int // its columns
	masks    []*maskBox
	fields   []float32

	work  chan *measureStrips
	lines *fft.Lines // of the run in progress
	chosen
}

// chosen are the measurements that a pass serves, and the columns that it needs.
type chosen struct {
	first, last int
	columns     [2]int
}

// measureStrips is what one strip in flight works in. Strips that are mostly zero keep
// their zeros: object and column outside the window, line outside the columns.
type measureStrips struct {
	object, column, line, a, b, scratch, target []float32
	columns                                     [2]int // of line
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
	lo, hi := n, 0
	for i := 0; i < n && !m.pool.Ended(); i++ {
		row := m.mask[i*n:][:n]
		if !set.NonZero(row) {
			continue
		}
		for lo > 0 && set.NonZero(row[:lo]) {
			lo -= vec.StripLanes
		}
		for hi < n && set.NonZero(row[hi:]) {
			hi += vec.StripLanes
		}
	}
	if m.columns = [2]int{lo, hi}; lo >= hi {
		m.columns = [2]int{}
	}
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
	f := &measureFrame{set: b.backend.set, parallel: b.backend.parallel, op: op, n: n, to: n, end: n, fields: fields}
	if op.Pruned {
		down := func(v int) int { return v / vec.StripLanes * vec.StripLanes }
		f.top, f.left = down(op.Top), down(op.Left)
		f.end, f.to = down(op.Bottom+vec.StripLanes-1), down(op.Right+vec.StripLanes-1)
	}
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
	f.work = make(chan *measureStrips, workers)
	strip := lines.StripLen()
	for range workers {
		slab := newSlab(int64(4 * (6*strip + n*vec.StripLanes)))
		b.table(6*strip+n*vec.StripLanes, 4)
		w := &measureStrips{}
		for i, s := range []*[]float32{&w.object, &w.column, &w.line, &w.a, &w.b, &w.scratch} {
			*s = cut[float32](&slab, int64(4*i*strip), strip)
		}
		w.target = cut[float32](&slab, int64(4*6*strip), n*vec.StripLanes)
		f.work <- w
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
	plan := f.plans.Plan(f.n, f.n)
	if plan == nil {
		panic(fmt.Sprintf("cpu: the FFT plan source has no plan for %d×%d", f.n, f.n))
	}
	f.lines, _ = plan.Lines()
}

// columnsOf is the columns that measurement k needs, with its mask brought up to date.
func (f *measureFrame) columnsOf(k int) [2]int {
	columns := f.masks[k].find(f.set, f.n)
	if !f.op.Pruned {
		return [2]int{0, f.n}
	}
	return columns
}

// choose makes [first, last) the measurements of the passes to come.
func (f *measureFrame) choose(first, last int) {
	f.chosen = chosen{first, last, [2]int{}}
	for k := first; k < last; k++ {
		c := f.columnsOf(k)
		switch {
		case c[0] == c[1]:
		case f.columns[0] == f.columns[1]:
			f.columns = c
		default:
			f.columns = [2]int{min(f.columns[0], c[0]), max(f.columns[1], c[1])}
		}
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

func (f *measureFrame) strips(columns [2]int) int { return (columns[1] - columns[0]) / vec.StripLanes }

// rowRun is the length of a strip of columns that has the window's rows only.
func (f *measureFrame) rowRun() int { return (f.end - f.top + 1) * vec.StripRow }

// tile is strip c of measurement k's field.
func (f *measureFrame) tile(k, c int) []float32 {
	size := f.lines.StripLen()
	at := k*nn.MeasureSaved(f.n, f.n) + c*size
	return f.fields[at:][:size]
}

// transform is the centred transform of a strip's lines, unscaled.
func (f *measureFrame) transform(to, from, scratch []float32) {
	l := f.lines.Layout()
	f.lines.Transform(f.set, to, l, from, l, scratch, true)
}

// window copies the window's rows between a whole strip and a run of these rows.
func (f *measureFrame) window(strip, run []float32, out bool) {
	l := f.lines.Layout()
	for i := f.top; i < f.end; {
		next := min(f.end, (i/64+1)*64)
		a, b := strip[l.Row(i):][:(next-i)*vec.StripRow], run[(i-f.top)*vec.StripRow:]
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
	l := f.lines.Layout()
	mask := f.masks[k].strips[c*f.n*vec.StripLanes:]
	for i := 0; i < f.n; i += 64 {
		rows := min(64, f.n-i)
		if add {
			f.set.MaskStripAdd(rows, to[l.Row(i):], vec.StripRow, from[l.Row(i):], vec.StripRow, mask[i*vec.StripLanes:], vec.StripLanes, factor)
		} else {
			f.set.MaskStrip(rows, to[l.Row(i):], vec.StripRow, from[l.Row(i):], vec.StripRow, mask[i*vec.StripLanes:], vec.StripLanes, factor)
		}
	}
}

// lineFor is the strip for lines that are zero outside the columns.
func (f *measureFrame) lineFor(w *measureStrips, columns [2]int) []float32 {
	if w.columns != columns {
		clear(w.line)
		w.columns = columns
	}
	return w.line
}
