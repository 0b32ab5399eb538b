package cpu

import (
	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
)

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
func (b *binder) measureFields(op nn.MeasureFrame, n, stride int, fields []float32) *measureFields {
	m := &measureFields{x: b.in(0)}
	if m.measureFrame = b.measureFrame(op, n, 1, stride, fields); b.err != nil {
		return nil
	}
	m.rows = b.floats(n / vec.StripLanes * m.rowRun())
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
	m.each((m.Bottom-m.Top)/vec.StripLanes, m.objectBody)
	m.each(telescope.Strips(m.columns), m.columnsBody)
}

// objectRows transforms the rows of the object's strips [lo, hi).
func (m *measureFields) objectRows(lo, hi int) {
	w := <-m.work
	for b := lo; b < hi; b++ {
		row := b * vec.StripLanes
		m.ObjectRows(w, m.rows[row*vec.StripRow:], m.rowRun(), m.columns, m.x, m.Top+row)
	}
	m.work <- w
}

// spectrumColumns transforms strips [lo, hi) of the columns, masks them and transforms
// them again. The orthonormal factors of both transforms go with the mask.
func (m *measureFields) spectrumColumns(lo, hi int) {
	w := <-m.work
	scale := m.Factor()
	for i := lo; i < hi; i++ {
		c := m.columns[0]/vec.StripLanes + i
		m.window(w.Column, m.rows[c*m.rowRun():], false)
		m.Transform(w.A, w.Column, w.Scratch)
		for k := m.first; k < m.last; k++ {
			if own := m.columnsOf(k); c*vec.StripLanes >= own[0] && c*vec.StripLanes < own[1] {
				m.masked(w.B, w.A, k, c, scale, false)
				m.Transform(m.tile(k, c), w.B, w.Scratch)
			}
		}
	}
	m.work <- w
}
