package cpu

import (
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/nn"
)

// The amplitudes of a telescope for any loss, and their gradient.

// amplitudes is a bound Amplitudes step.
type amplitudes struct {
	*measureFields
	views      []amplitudeView
	directions []float32 // per mask: strips of rows
	boxes      [][2]int  // per mask: the columns of its field

	current  int // view of the rows in progress
	rowsBody func(lo, hi int)
}

// amplitudeView is one measurement: an amplitude (or its gradient) and the masks it
// averages over.
type amplitudeView struct {
	plane       []float32
	first, last int
}

// amplitudeViews returns the views of an operator, one plane per measurement in
// order.
func amplitudeViews(op nn.Amplitudes, plane func(i int) []float32) []amplitudeView {
	views, first := make([]amplitudeView, len(op.Apertures)), 0
	for i, count := range op.Apertures {
		views[i] = amplitudeView{plane(i), first, first + count}
		first += count
	}
	return views
}

// amplitudes binds the forward telescope.
func (b *measurements) amplitudes(op nn.Amplitudes) func() {
	count, measurements := op.Masks(), len(op.Apertures)
	n, directions := measured(b.inShape(0)), b.out(measurements)
	m := &amplitudes{views: amplitudeViews(op, b.out), directions: directions, boxes: make([][2]int, count)}
	m.measureFields = b.measureFields(op.MeasureFrame, n, 1, b.floats(len(directions)))
	m.rowsBody = m.viewRows
	return func() {
		m.makeFields()
		for k := range m.boxes {
			m.boxes[k] = m.columnsOf(k)
		}
		for i := range m.views {
			m.current = i
			m.each(n/dft.StripLanes, m.rowsBody)
		}
	}
}

// viewRows completes the rows of strips [lo, hi) of the current measurement.
func (m *amplitudes) viewRows(lo, hi int) {
	w := <-m.work
	v, l, size := &m.views[m.current], m.Lines.Layout(), m.Lines.StripLen()
	for b := lo; b < hi; b++ {
		row := b * dft.StripLanes
		for k := v.first; k < v.last; k++ {
			z := strip(m.directions, m.N, size, k, b)
			m.ImageRows(w, z, m.fields[k*nn.MeasureSaved(m.N, m.N)+l.Row(row):], size, m.boxes[k])
			m.Amplitudes(w, z, k > v.first)
		}
		if v.last-v.first > 1 {
			elements.Scale(m.Set, w.Amplitudes, w.Amplitudes, 1/float32(v.last-v.first))
		}
		m.Flip(v.plane, w, row)
	}
	m.work <- w
}

// strip is strip b of mask k's directions in planes of n×n.
func strip(directions []float32, n, size, k, b int) []float32 {
	return directions[k*nn.MeasureSaved(n, n)+b*size:][:size]
}

// amplitudesGrad is a bound AmplitudesGrad step.
type amplitudesGrad struct {
	*measureBack
	views      []amplitudeView
	directions []float32
	boxes      [][2]int

	current   int
	fieldBody func(lo, hi int)
}

// amplitudesGrad binds the adjoint of amplitudes.
func (b *measurements) amplitudesGrad(op nn.AmplitudesGrad) func() {
	count, first := op.Masks(), 1+len(op.Apertures)
	n, directions := measured(b.outShape(0)), b.in(0)
	g := &amplitudesGrad{directions: directions, boxes: make([][2]int, count)}
	g.views = amplitudeViews(op.Amplitudes, func(i int) []float32 { return b.in(1 + i) })
	g.measureBack = b.measureBack(op.MeasureFrame, n, first, b.floats(len(directions)))
	for _, v := range g.views {
		for k := v.first; k < v.last; k++ {
			g.weights[k] = 1 / float32(v.last-v.first)
		}
	}
	g.fieldBody = g.fieldRows
	return func() {
		g.begin()
		for k := range g.boxes {
			g.boxes[k] = g.columnsOf(k)
		}
		for i := range g.views {
			g.current = i
			g.each(n/dft.StripLanes, g.fieldBody)
		}
		g.back()
	}
}

// fieldRows multiplies rows of strips [lo, hi) of the current measurement's
// gradient by the directions and transforms them back into the fields.
func (g *amplitudesGrad) fieldRows(lo, hi int) {
	w := <-g.work
	v, l, size := &g.views[g.current], g.Lines.Layout(), g.Lines.StripLen()
	for b := lo; b < hi; b++ {
		row := b * dft.StripLanes
		g.Unflip(w, v.plane, row)
		for k := v.first; k < v.last; k++ {
			z := strip(g.directions, g.N, size, k, b)
			g.Mask(w.A, z, w.Amplitudes, dft.StripLanes, 1)
			g.TransformOver(w, w.B, w.A)
			g.Lines.TurnBack(g.Set, g.fields[k*nn.MeasureSaved(g.N, g.N)+l.Row(row):], size, w.B, g.boxes[k])
		}
	}
	g.work <- w
}
