package cpu

import (
	"sync/atomic"
	"time"

	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
)

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
func (b *binder) measure(op nn.Measure) func() {
	count := (len(b.current.In) - 1) / 2
	if !b.operands(3, 2*count+1, 3) {
		return nil
	}
	if op.Kind > nn.L2 {
		return b.fail("measuring with loss %d", op.Kind)
	}
	n := b.measured(b.inShape(0))
	m := &measure{kind: op.Kind, normalize: op.Normalize, losses: b.out(0), factors: b.out(1)}
	fields := b.out(2)
	if len(m.losses) != count || len(m.factors) != count || len(fields) != count*nn.MeasureSaved(n, n) {
		return b.fail("results of %d, %d and %d elements", len(m.losses), len(m.factors), len(fields))
	}
	for k := range count {
		target := b.in(2*k + 2)
		if len(target) != n*n {
			return b.fail("target %d is not %d×%d", k, n, n)
		}
		m.targets = append(m.targets, target)
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

// compare measures the rows of the current field and splits the elapsed time by
// the clocks read in between.
func (m *measure) compare() {
	m.forward.Store(0)
	m.loss.Store(0)
	m.adjoint.Store(0)
	start := m.clock()
	m.each(m.N/vec.StripLanes, m.measureBody)
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
		row := b * vec.StripLanes
		m.ImageRows(w, w.A, field[l.Row(row):], size, m.columns)
		then := m.clock()
		forward += then - now
		m.Unflip(w, m.targets[k], row)
		m.compareStrip(w, m.sums[2*(k*m.N/vec.StripLanes+b):][:2])
		now = m.clock()
		loss += now - then
		m.Transform(w.B, w.A, w.Scratch)
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
		var lanes [vec.StripRow]float32
		m.Set.LossStrip(m.kind == nn.L1, min(64, m.N-i), w.A[l.Row(i):], w.Amplitudes[i*vec.StripLanes:], &lanes)
		for j := range vec.StripLanes {
			sums[0] += float64(lanes[j])
			sums[1] += float64(lanes[vec.StripLanes+j])
		}
	}
}

// total computes the current measurement's loss and its gradient's factor; see
// pointwiseLoss.
func (m *measure) total() {
	strips := m.N / vec.StripLanes
	sum, norm := 0.0, 0.0
	for b := range strips {
		at := 2 * (m.current*strips + b)
		sum += m.sums[at]
		norm += m.sums[at+1]
	}
	elements := float64(m.N) * float64(m.N)
	scale, factor := 1/elements, 1.0
	if m.normalize {
		scale /= norm/elements + lossEpsilon
	}
	if m.kind == nn.L2 {
		factor = 2
	}
	m.losses[m.current], m.factors[m.current] = float32(sum*scale), float32(factor*scale)
}

// measureShare takes over a phase's share of the last Measure's time.
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
