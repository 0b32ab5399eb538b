package cpu

import (
	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
)

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
func (b *binder) measureBack(op nn.MeasureFrame, n, first int, fields []float32) *measureBack {
	g := &measureBack{gx: b.out(0)}
	if g.measureFrame = b.measureFrame(op, n, first, 1, fields); b.err != nil {
		return nil
	}
	g.weights = make([]float32, len(g.masks))
	g.rows = b.floats(n / vec.StripLanes * g.rowRun())
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
		g.each((g.Bottom-g.Top)/vec.StripLanes, g.rowsBody)
	}
}

// measureGrad binds the adjoint from the fields to the object.
func (b *binder) measureGrad(op nn.MeasureGrad) func() {
	count := len(b.current.In) - 3
	if !b.operands(4, count+3, 1) {
		return nil
	}
	n, fields, factors, upstream := b.measured(b.outShape(0)), b.in(0), b.in(1), b.in(2)
	if len(fields) != count*nn.MeasureSaved(n, n) || len(factors) != count || len(upstream) != count {
		return b.fail("%d measurements with %d, %d and %d elements", count, len(fields), len(factors), len(upstream))
	}
	g := b.measureBack(op.MeasureFrame, n, 3, fields)
	if b.err != nil {
		return nil
	}
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
		c := g.columns[0]/vec.StripLanes + i
		add := false
		for k := g.first; k < g.last; k++ {
			if own := g.columnsOf(k); c*vec.StripLanes >= own[0] && c*vec.StripLanes < own[1] {
				g.Transform(w.A, g.tile(k, c), w.Scratch)
				g.masked(w.B, w.A, k, c, scale*g.weights[k], add)
				add = true
			}
		}
		run := g.rows[c*g.rowRun():][:g.rowRun()]
		if !add {
			clear(run)
			continue
		}
		g.Transform(w.A, w.B, w.Scratch)
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
		row := b * vec.StripLanes
		g.ImageRows(w, w.A, g.rows[row*vec.StripRow:], g.rowRun(), g.columns)
		to, first := g.gx, (g.Top+row)*g.N
		if g.add {
			to, first = w.Amplitudes, 0
		}
		for at := g.Left; at < g.Right; {
			next := min(g.Right, (at/64+1)*64)
			g.Set.TransposeSquares((next-at)/vec.StripLanes, to, first+at, g.N, vec.StripLanes,
				w.A, l.Row(at)+vec.StripLanes, vec.StripRow, vec.StripLanes*vec.StripRow)
			at = next
		}
		for r := 0; g.add && r < vec.StripLanes; r++ {
			sum := g.gx[(g.Top+row+r)*g.N:][g.Left:g.Right]
			g.Set.Add(sum, sum, w.Amplitudes[r*g.N:][g.Left:g.Right])
		}
	}
	g.work <- w
}

// element computes y = x[index].
func (b *binder) element(index int) func() {
	if !b.operands(1, 1, 1) {
		return nil
	}
	x, y := b.in(0), b.scalar(b.out(0), "the element")
	if index < 0 || index >= len(x) {
		return b.fail("element %d of %d", index, len(x))
	}
	return func() { y[0] = x[index] }
}

// elementGrad computes gx[index] = gy, and 0 elsewhere.
func (b *binder) elementGrad(index int) func() {
	if !b.operands(1, 1, 1) {
		return nil
	}
	gy, gx := b.scalar(b.in(0), "the gradient"), b.out(0)
	if index < 0 || index >= len(gx) {
		return b.fail("element %d of %d", index, len(gx))
	}
	return func() {
		clear(gx)
		gx[index] = gy[0]
	}
}
