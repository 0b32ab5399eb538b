package cpu

import (
	"fmt"
	"runtime"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// What the passes of the telescope share: the frame, masks packed by strips, and the fields
// from an object through them.

// measureFrame is the common part of Measure, Amplitudes and their gradients: the frame of
// the telescope's passes, the masks, and the fields between two passes.
type measureFrame struct {
	telescope.Frame // its lines belong to the current run

	plans    PlanSource
	parallel fft.Parallel
	op       nn.MeasureFrame
	masks    []*maskBox
	fields   []float32
	work     chan *telescope.Space
	chosen
}

// chosen are the measurements of a pass and the columns it needs.
type chosen struct {
	first, last int
	columns     [2]int
}

// maskBox is a mask packed strip by strip, and the range of its non-zero columns, both
// updated when the mask changes. In the mask itself a strip's rows lie a whole row
// apart, where they conflict in cache.
type maskBox struct {
	pool    *pool.Pool // checks whether the context ended
	mask    []float32
	strips  []float32
	version *uint32 // counts writes
	seen    uint32
	known   bool
	columns [2]int
}

// find updates the columns: whole strips, none for an empty mask.
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
	for at := 0; at < n && !m.pool.Ended(); at += dft.StripLanes {
		strip := m.strips[at*n:][:n*dft.StripLanes]
		for i := range n {
			copy(strip[i*dft.StripLanes:][:dft.StripLanes], m.mask[i*n+at:])
		}
	}
}

// measured returns the side of the measured object.
func measured(object tensor.Shape) int { return object[len(object)-1] }

// measureFrame binds the operators' common part. The masks are every stride-th input
// from first on.
func (b *measurements) measureFrame(op nn.MeasureFrame, n, first, stride int, fields []float32) *measureFrame {
	rows, columns := [2]int{0, n}, [2]int{0, n}
	if op.Pruned {
		rows, columns = telescope.WholeStrips([2]int{op.Top, op.Bottom}),
			telescope.WholeStrips([2]int{op.Left, op.Right})
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
	workers := min(runtime.NumCPU(), n/dft.StripLanes)
	f.work = make(chan *telescope.Space, workers)
	strip, scratch, amplitudes := lines.StripLen(), lines.ScratchLen(), n*dft.StripLanes
	for range workers {
		slab, at := b.slab(int64(4*(5*strip+scratch+amplitudes))), 0
		b.table(5*strip+scratch+amplitudes, 4)
		part := func(n int) []float32 {
			at += n
			return cut[float32](&slab, int64(4*(at-n)), n)
		}
		f.work <- telescope.NewSpace(part(strip), part(strip), part(strip), part(strip), part(strip), part(scratch),
			part(amplitudes))
	}
	return f
}

// maskBox returns the box of an input's mask, shared by all steps that read it.
func (b *measurements) maskBox(i int) *maskBox {
	id := b.current.In[i]
	box := b.boxes[id]
	if box == nil {
		mask := b.in(i)
		slab := b.slab(int64(4 * len(mask)))
		b.table(len(mask), 4)
		box = &maskBox{pool: b.backend.pool, mask: mask, strips: cut[float32](&slab, 0, len(mask)),
			version: &b.written[id]}
		b.boxes[id] = box
	}
	return box
}

// begin fetches the tables for a run; the plan's twiddles are computed unless they
// were cached.
func (f *measureFrame) begin() {
	plan := f.plans.Plan(f.N, f.N)
	if plan == nil {
		panic(fmt.Sprintf("cpu: the FFT plan source has no plan for %d×%d", f.N, f.N))
	}
	f.Lines, _ = plan.Lines()
}

// columnsOf updates the mask of measurement k and returns the columns it needs.
func (f *measureFrame) columnsOf(k int) [2]int {
	columns := f.masks[k].find(f.Set, f.N)
	if !f.op.Pruned {
		return [2]int{0, f.N}
	}
	return columns
}

// choose selects measurements [first, last) for the next passes.
func (f *measureFrame) choose(first, last int) {
	f.chosen = chosen{first, last, [2]int{}}
	for k := first; k < last; k++ {
		f.columns = telescope.Union(f.columns, f.columnsOf(k))
	}
}

// groups calls pass for each group of measurements that share a spectrum: all at
// once, or one by one.
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

// each runs body for each of count strips.
func (f *measureFrame) each(count int, body func(lo, hi int)) {
	if count > 0 {
		f.parallel(count, body)
	}
}

// rowRun is the length of a strip of columns restricted to the window's rows.
func (f *measureFrame) rowRun() int { return (f.Bottom - f.Top + 1) * dft.StripRow }

// tile returns strip c of measurement k's field.
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
		a, b := strip[l.Row(i):][:(next-i)*dft.StripRow], run[(i-f.Top)*dft.StripRow:]
		if out {
			copy(b, a)
		} else {
			copy(a, b)
		}
		i = next
	}
}

// masked computes to = factor·mask·from for strip c of columns, or adds to it.
func (f *measureFrame) masked(to, from []float32, k, c int, factor float32, add bool) {
	mask := f.masks[k].strips[c*f.N*dft.StripLanes:]
	if add {
		f.MaskAdd(to, from, mask, dft.StripLanes, factor)
	} else {
		f.Mask(to, from, mask, dft.StripLanes, factor)
	}
}

// measureFields computes the columns of the masked fields of an object.
type measureFields struct {
	*measureFrame
	x    []float32
	rows []float32 // the window's rows transformed, strips of columns

	pass                    func(first int)
	objectBody, columnsBody func(lo, hi int)
}

// measureFields binds the transforms from the first operand through the masks,
// which are every stride-th operand after it.
func (b *measurements) measureFields(op nn.MeasureFrame, n, stride int, fields []float32) *measureFields {
	m := &measureFields{x: b.in(0)}
	if m.measureFrame = b.measureFrame(op, n, 1, stride, fields); b.err != nil {
		return nil
	}
	m.rows = b.floats(n / dft.StripLanes * m.rowRun())
	m.pass, m.objectBody, m.columnsBody = m.spectra, m.objectRows, m.spectrumColumns
	return m
}

// makeFields starts a run by computing the fields of all measurements.
func (m *measureFields) makeFields() {
	m.begin()
	m.groups(m.pass)
}

// spectra computes the fields' columns of the chosen measurements.
func (m *measureFields) spectra(int) {
	m.each((m.Bottom-m.Top)/dft.StripLanes, m.objectBody)
	m.each(telescope.Strips(m.columns), m.columnsBody)
}

// objectRows transforms the rows of the object's strips [lo, hi).
func (m *measureFields) objectRows(lo, hi int) {
	w := <-m.work
	for b := lo; b < hi; b++ {
		row := b * dft.StripLanes
		m.ObjectRows(w, m.rows[row*dft.StripRow:], m.rowRun(), m.columns, m.x, m.Top+row)
	}
	m.work <- w
}

// spectrumColumns transforms strips [lo, hi) of the columns, masks them and transforms
// them again. The orthonormal factors of both transforms go with the mask.
func (m *measureFields) spectrumColumns(lo, hi int) {
	w := <-m.work
	scale := m.Factor()
	for i := lo; i < hi; i++ {
		c := m.columns[0]/dft.StripLanes + i
		m.window(w.Column, m.rows[c*m.rowRun():], false)
		m.Transform(w, w.A, w.Column)
		for k := m.first; k < m.last; k++ {
			if own := m.columnsOf(k); c*dft.StripLanes >= own[0] && c*dft.StripLanes < own[1] {
				m.masked(w.B, w.A, k, c, scale, false)
				m.TransformOver(w, m.tile(k, c), w.B)
			}
		}
	}
	m.work <- w
}
