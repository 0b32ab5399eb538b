package cpu

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
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
	for i := 0; i < n; i++ {
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
	m.seen, m.known = *m.version, true
	return m.columns
}

// pack fills the strips.
func (m *maskBox) pack(n int) {
	for at := 0; at < n; at += vec.StripLanes {
		strip := m.strips[at*n:][:n*vec.StripLanes]
		for i := range n {
			copy(strip[i*vec.StripLanes:][:vec.StripLanes], m.mask[i*n+at:])
		}
	}
}

// measureFrame binds what both operators share. The masks are every stride-th input
// from first on.
func (b *binder) measureFrame(op nn.MeasureFrame, n, first, stride int, fields []float32) *measureFrame {
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
		slab := newSlab(int64(4 * len(mask)))
		b.table(len(mask), 4)
		box = &maskBox{mask: mask, strips: cut[float32](&slab, 0, len(mask)), version: &b.written[id]}
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

// measure is a bound Measure step.
type measure struct {
	*measureFields
	kind            nn.LossKind
	normalize       bool
	targets         [][]float32
	losses, factors []float32
	sums            []float64 // of each measurement's strips: differences, targets

	current                 int // measurement of the rows in progress
	clock                   func() int64
	forward, loss, adjoint  atomic.Int64 // clocks of all threads
	lossNanos, adjointNanos int64        // of the time that passed
	measureBody             func(lo, hi int)
}

// measure binds the telescope and its losses.
func (b *binder) measure(op nn.Measure) func() {
	count := (len(b.current.In) - 1) / 2
	if !b.operands(3, 2*count+1, 3) {
		return nil
	}
	_, n, _, ok := b.planes(b.inShape(0))
	if !ok {
		return nil
	}
	if !nn.MeasureSides(n, len(b.in(0))/n) || op.Kind > nn.L2 {
		return b.fail("measuring planes of %v with loss %d", b.inShape(0), op.Kind)
	}
	m := &measure{kind: op.Kind, normalize: op.Normalize, losses: b.out(0), factors: b.out(1)}
	fields := b.out(2)
	if len(m.losses) != count || len(m.factors) != count || len(fields) != count*nn.MeasureSaved(n, n) {
		return b.fail("results of %d, %d and %d elements", len(m.losses), len(m.factors), len(fields))
	}
	for k := range count {
		if t := b.in(2*k + 2); len(t) != n*n || len(b.in(2*k+1)) != n*n {
			return b.fail("mask and target %d are not %d×%d", k, n, n)
		}
		m.targets = append(m.targets, b.in(2*k+2))
	}
	if m.measureFields = b.measureFields(op.MeasureFrame, n, 2, fields); b.err != nil {
		return nil
	}
	m.sums = b.float64s(2 * count * n / vec.StripLanes)
	epoch := time.Now()
	m.clock = func() int64 { return int64(time.Since(epoch)) }
	m.measureBody = m.measureRows
	b.lastMeasure = m
	return func() {
		m.makeFields()
		m.lossNanos, m.adjointNanos = 0, 0
		for k := range m.masks {
			m.choose(k, k+1)
			m.current = k
			m.compare()
		}
	}
}

// compare measures the current field's rows, and divides the time that took as the
// clocks in between saw it.
func (m *measure) compare() {
	m.forward.Store(0)
	m.loss.Store(0)
	m.adjoint.Store(0)
	start := m.clock()
	m.each(m.n/vec.StripLanes, m.measureBody)
	took := float64(m.clock() - start)
	loss, adjoint := float64(m.loss.Load()), float64(m.adjoint.Load())
	if all := float64(m.forward.Load()) + loss + adjoint; all > 0 {
		m.lossNanos += int64(took * loss / all)
		m.adjointNanos += int64(took * adjoint / all)
	}
	start = m.clock()
	m.total()
	m.lossNanos += m.clock() - start
}

// measureRows finishes the rows of strips [lo, hi): amplitudes, differences, and the
// gradient's rows transformed back into the field.
func (m *measure) measureRows(lo, hi int) {
	w := <-m.work
	l, k, size := m.lines.Layout(), m.current, m.lines.StripLen()
	line := m.lineFor(w, m.columns)
	field := m.fields[k*nn.MeasureSaved(m.n, m.n):]
	var forward, loss, adjoint int64
	now := m.clock()
	for b := lo; b < hi; b++ {
		row := b * vec.StripLanes
		m.lines.Turn(m.set, line, field[l.Row(row):], size, m.columns)
		m.transform(w.a, line, w.scratch)
		then := m.clock()
		forward += then - now
		// The target as the telescope flips it, sixteen rows side by side.
		m.set.TransposeSquares(m.n/vec.StripLanes, w.target, (m.n-1)*vec.StripLanes, -vec.StripLanes, -vec.StripLanes*vec.StripLanes,
			m.targets[k], (m.n-1-row)*m.n, -m.n, vec.StripLanes)
		m.compareStrip(w, m.sums[2*(k*m.n/vec.StripLanes+b):][:2])
		now = m.clock()
		loss += now - then
		m.transform(w.b, w.a, w.scratch)
		m.lines.TurnBack(m.set, field[l.Row(row):], size, w.b, m.columns)
		then, now = now, m.clock()
		adjoint += now - then
	}
	m.forward.Add(forward)
	m.loss.Add(loss)
	m.adjoint.Add(adjoint)
	m.work <- w
}

// compareStrip sums 64 rows in float32 lanes at a time, and these in float64.
func (m *measure) compareStrip(w *measureStrips, sums []float64) {
	l := m.lines.Layout()
	sums[0], sums[1] = 0, 0
	for i := 0; i < m.n; i += 64 {
		var lanes [vec.StripRow]float32
		m.set.LossStrip(m.kind == nn.L1, min(64, m.n-i), w.a[l.Row(i):], w.target[i*vec.StripLanes:], &lanes)
		for j := range vec.StripLanes {
			sums[0] += float64(lanes[j])
			sums[1] += float64(lanes[vec.StripLanes+j])
		}
	}
}

// total is the current measurement's loss and its gradient's factor; see
// pointwiseLoss.
func (m *measure) total() {
	strips := m.n / vec.StripLanes
	sum, norm := 0.0, 0.0
	for b := range strips {
		at := 2 * (m.current*strips + b)
		sum += m.sums[at]
		norm += m.sums[at+1]
	}
	elements := float64(m.n) * float64(m.n)
	scale, factor := 1/elements, 1.0
	if m.normalize {
		scale /= norm/elements + lossEpsilon
	}
	if m.kind == nn.L2 {
		factor = 2
	}
	m.losses[m.current], m.factors[m.current] = float32(sum*scale), float32(factor*scale)
}

// measureShare takes the part of the last Measure's time that belongs to a phase.
func (b *binder) measureShare(op nn.MeasureShare) func() {
	if b.lastMeasure == nil {
		return b.fail("a share of nothing")
	}
	nanos := &b.lastMeasure.lossNanos
	if b.index > 0 {
		if _, second := b.plan.Steps[b.index-1].Op.(nn.MeasureShare); second {
			nanos = &b.lastMeasure.adjointNanos
		}
	}
	of := b.index - 1
	for of > 0 {
		if _, ok := b.plan.Steps[of].Op.(nn.Measure); ok {
			break
		}
		of--
	}
	b.shares = append(b.shares, share{step: b.index, of: of, nanos: nanos})
	return func() {}
}

// share moves a part of a step's time to another step.
type share struct {
	step, of int
	nanos    *int64
}
