package aggregate

import (
	"slices"

	"prismtop/profiles"
)

// Clone returns an aggregator in the same state that consumes the rest of another source, so that a
// replay can return to this moment. The two share only what neither modifies. A must not tick
// meanwhile.
func (a *Aggregator) Clone(source profiles.Source) *Aggregator {
	c := New(source, a.options)
	c.record = a.record.clone()
	c.before, c.noted, c.prior = a.before, slices.Clip(a.noted), a.prior
	c.log, c.ablation, c.compared, c.recording = slices.Clip(a.log), a.ablation, a.compared, a.recording
	c.asked, c.memory, c.sensors, c.cost, c.dropped, c.ablatingSince = a.asked, a.memory, a.sensors, a.cost,
		a.dropped, a.ablatingSince
	c.readings.memoryAt, c.readings.memoryIn = a.readings.memoryAt, a.readings.memoryIn
	c.loads = loads{slices.Clone(a.loads.marks), a.loads.view}
	c.newest.Store(a.newest.Load())
	c.behind, c.drained = a.behind, a.drained
	return c
}

func (r *record) clone() record {
	c := *r
	c.pace.marks = slices.Clone(r.pace.marks)
	c.recent.phases, c.recent.lookups = slices.Clone(r.recent.phases), slices.Clone(r.recent.lookups)
	c.stage = &stage{total: r.stage.total, phases: slices.Clone(r.stage.phases)}
	c.single = slices.Clip(r.single)
	c.iterationTime, c.clock = r.iterationTime.clone(), r.clock.clone()
	for i := range c.series {
		c.series[i] = r.series[i].clone()
	}
	c.watch, c.energies = r.watch.clone(), r.energies.clone()
	c.alerts, c.effects = r.alerts.Clone(), r.effects.Clone()
	c.results, c.notes = slices.Clip(r.results), slices.Clip(r.notes)
	c.earlier.Failed = slices.Clip(r.earlier.Failed)
	return c
}

// clone returns a copy of a series. Published points are shared: both only append beyond them.
func (s *series) clone() series {
	c := *s
	c.points, c.counts = slices.Clip(s.points), slices.Clip(s.counts)
	c.open.Bins = slices.Clone(s.open.Bins)
	return c
}

func (w *memoryWatch) clone() memoryWatch {
	c := *w
	c.rss, c.parameters, c.buffers, c.caches = w.rss.clone(), w.parameters.clone(), w.buffers.clone(), w.caches.clone()
	c.gpu = w.gpu.clone()
	c.readings = slices.Clone(w.readings)
	return c
}
