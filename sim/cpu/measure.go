package cpu

import (
	"sync/atomic"
	"time"

	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/nn"
)

// The telescope as operators: measurements with their losses, and the adjoint.

// measurements binds the telescope: transforms, masks, moduli, and the measurements made of them at once.
type measurements struct {
	*binder

	boxes       map[nn.BufferID]*maskBox
	lastMeasure *measure
}

func (b *measurements) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.FFT:
		return b.fft(op.Inverse), true
	case nn.MaskMultiply:
		return b.maskMultiply(), true
	case nn.ModulusFlip:
		return b.modulusFlip(), true
	case nn.ModulusFlipGrad:
		return b.modulusFlipGrad(), true
	case nn.Measure:
		return b.measure(op), true
	case nn.MeasureGrad:
		return b.measureGrad(op), true
	case nn.Amplitudes:
		return b.amplitudes(op), true
	case nn.AmplitudesGrad:
		return b.amplitudesGrad(op), true
	case nn.MeasureShare:
		return b.measureShare(), true
	case nn.Element:
		return b.element(op.Index), true
	case nn.ElementGrad:
		return b.elementGrad(op.Index), true
	}
	return nil, false
}

// measure is a bound Measure step.
type measure struct {
	*measureFields
	kind            nn.LossKind
	normalize       bool
	targets         [][]float32
	losses, factors []float32
	sums            []float64 // per strip of each measurement: differences, targets

	current                 int // measurement of the current rows
	clock                   func() int64
	forward, loss, adjoint  atomic.Int64 // clocks of all threads
	lossNanos, adjointNanos int64        // of wall time
	measureBody             func(lo, hi int)
}

// measure binds the telescope with its losses.
func (b *measurements) measure(op nn.Measure) func() {
	count := (len(b.current.In) - 1) / 2
	n := measured(b.inShape(0))
	m := &measure{kind: op.Kind, normalize: op.Normalize, losses: b.out(0), factors: b.out(1)}
	fields := b.out(2)
	for k := range count {
		m.targets = append(m.targets, b.in(2*k+2))
	}
	if m.measureFields = b.measureFields(op.MeasureFrame, n, 2, fields); b.err != nil {
		return nil
	}
	m.sums = b.float64s(2 * count * n / dft.StripLanes)
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

// compare measures the rows of the current field and splits the elapsed time by
// the clocks read in between.
func (m *measure) compare() {
	m.forward.Store(0)
	m.loss.Store(0)
	m.adjoint.Store(0)
	start := m.clock()
	m.each(m.N/dft.StripLanes, m.measureBody)
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

// measureRows processes the rows of strips [lo, hi): amplitudes, differences, and
// the gradient's rows transformed back into the field.
func (m *measure) measureRows(lo, hi int) {
	w := <-m.work
	l, k, size := m.Lines.Layout(), m.current, m.Lines.StripLen()
	field := m.fields[k*nn.MeasureSaved(m.N, m.N):]
	var forward, loss, adjoint int64
	now := m.clock()
	for b := lo; b < hi; b++ {
		row := b * dft.StripLanes
		m.ImageRows(w, w.A, field[l.Row(row):], size, m.columns)
		then := m.clock()
		forward += then - now
		m.Unflip(w, m.targets[k], row)
		m.compareStrip(w, m.sums[2*(k*m.N/dft.StripLanes+b):][:2])
		now = m.clock()
		loss += now - then
		m.TransformOver(w, w.B, w.A)
		m.Lines.TurnBack(m.Set, field[l.Row(row):], size, w.B, m.columns)
		then, now = now, m.clock()
		adjoint += now - then
	}
	m.forward.Add(forward)
	m.loss.Add(loss)
	m.adjoint.Add(adjoint)
	m.work <- w
}

// compareStrip sums blocks of 64 rows in float32 lanes, and the blocks in
// float64.
func (m *measure) compareStrip(w *telescope.Space, sums []float64) {
	l := m.Lines.Layout()
	sums[0], sums[1] = 0, 0
	for i := 0; i < m.N; i += 64 {
		var lanes [dft.StripRow]float32
		dft.LossStrip(m.Set, m.kind == nn.L1, min(64, m.N-i), w.A[l.Row(i):], w.Amplitudes[i*dft.StripLanes:], &lanes)
		for j := range dft.StripLanes {
			sums[0] += float64(lanes[j])
			sums[1] += float64(lanes[dft.StripLanes+j])
		}
	}
}

// total computes the current measurement's loss and its gradient's factor; see
// pointwiseLoss.
func (m *measure) total() {
	strips := m.N / dft.StripLanes
	sum, norm := 0.0, 0.0
	for b := range strips {
		at := 2 * (m.current*strips + b)
		sum += m.sums[at]
		norm += m.sums[at+1]
	}
	pixels := float64(m.N) * float64(m.N)
	scale, factor := 1/pixels, 1.0
	if m.normalize {
		scale /= norm/pixels + lossEpsilon
	}
	if m.kind == nn.L2 {
		factor = 2
	}
	m.losses[m.current], m.factors[m.current] = float32(sum*scale), float32(factor*scale)
}

// measureShare takes over a phase's share of the last Measure's time.
func (b *measurements) measureShare() func() {
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

// measureBack is the adjoint, from fields to the object. Fields hold real and
// imaginary parts swapped, so that every transform here is an inverse one.
type measureBack struct {
	*measureFrame
	weights, gx []float32
	rows        []float32 // the window's rows of the gradient, strips of columns
	add         bool      // to the result of an earlier pass in gx

	pass                             func(first int)
	columnsBody, rowsBody, clearBody func(lo, hi int)
}

// measureBack binds the adjoint to the result. The masks are the operands from first
// on.
func (b *measurements) measureBack(op nn.MeasureFrame, n, first int, fields []float32) *measureBack {
	g := &measureBack{gx: b.out(0)}
	if g.measureFrame = b.measureFrame(op, n, first, 1, fields); b.err != nil {
		return nil
	}
	g.weights = make([]float32, len(g.masks))
	g.rows = b.floats(n / dft.StripLanes * g.rowRun())
	g.pass, g.columnsBody, g.rowsBody, g.clearBody = g.gradient, g.gradientColumns, g.gradientRows, g.clearRows
	return g
}

// back computes the weighted sum of the fields' gradients.
func (g *measureBack) back() {
	g.each(g.N, g.clearBody)
	g.groups(g.pass)
}

// gradient adds the chosen measurements' contribution.
func (g *measureBack) gradient(first int) {
	g.add = first > 0
	g.each(telescope.Strips(g.columns), g.columnsBody)
	if g.columns[0] < g.columns[1] {
		g.each((g.Bottom-g.Top)/dft.StripLanes, g.rowsBody)
	}
}

// measureGrad binds the adjoint from the fields to the object.
func (b *measurements) measureGrad(op nn.MeasureGrad) func() {
	n, fields, factors, upstream := measured(b.outShape(0)), b.in(0), b.in(1), b.in(2)
	g := b.measureBack(op.MeasureFrame, n, 3, fields)
	return func() {
		for k := range g.weights {
			g.weights[k] = factors[k] * upstream[k]
		}
		g.begin()
		g.back()
	}
}

// clearRows sets rows [lo, hi) of the gradient to zero; most stay zero.
func (g *measureBack) clearRows(lo, hi int) { clear(g.gx[lo*g.N : hi*g.N]) }

// gradientColumns transforms strips [lo, hi) of the chosen fields' columns back
// through the masks to the object's rows.
func (g *measureBack) gradientColumns(lo, hi int) {
	w := <-g.work
	scale := g.Factor()
	for i := lo; i < hi; i++ {
		c := g.columns[0]/dft.StripLanes + i
		add := false
		for k := g.first; k < g.last; k++ {
			if own := g.columnsOf(k); c*dft.StripLanes >= own[0] && c*dft.StripLanes < own[1] {
				g.Transform(w, w.A, g.tile(k, c))
				g.masked(w.B, w.A, k, c, scale*g.weights[k], add)
				add = true
			}
		}
		run := g.rows[c*g.rowRun():][:g.rowRun()]
		if !add {
			clear(run)
			continue
		}
		g.TransformOver(w, w.A, w.B)
		g.window(w.A, run, true)
	}
	g.work <- w
}

// gradientRows transforms the rows of the window's strips [lo, hi) and keeps the real
// part of the window's columns.
func (g *measureBack) gradientRows(lo, hi int) {
	w := <-g.work
	l := g.Lines.Layout()
	for b := lo; b < hi; b++ {
		row := b * dft.StripLanes
		g.ImageRows(w, w.A, g.rows[row*dft.StripRow:], g.rowRun(), g.columns)
		to, first := g.gx, (g.Top+row)*g.N
		if g.add {
			to, first = w.Amplitudes, 0
		}
		for at := g.Left; at < g.Right; {
			next := min(g.Right, (at/64+1)*64)
			dft.TransposeSquares(g.Set, (next-at)/dft.StripLanes, to, first+at, g.N, dft.StripLanes,
				w.A, l.Row(at)+dft.StripLanes, dft.StripRow, dft.StripLanes*dft.StripRow)
			at = next
		}
		for r := 0; g.add && r < dft.StripLanes; r++ {
			sum := g.gx[(g.Top+row+r)*g.N:][g.Left:g.Right]
			elements.Add(g.Set, sum, sum, w.Amplitudes[r*g.N:][g.Left:g.Right])
		}
	}
	g.work <- w
}

// element computes y = x[index].
func (b *measurements) element(index int) func() {
	x, y := b.in(0), b.out(0)
	return func() { y[0] = x[index] }
}

// elementGrad computes gx[index] = gy, and 0 elsewhere.
func (b *measurements) elementGrad(index int) func() {
	gy, gx := b.in(0), b.out(0)
	return func() {
		clear(gx)
		gx[index] = gy[0]
	}
}
