package trace

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The counters of a trace.

// counter opens a counter at a time.
func (w *Writer) counter(name string, at int64) { w.open('C', name, at, loopThread) }

// value writes a counter of one number; one that JSON does not have is left out.
func (w *Writer) value(name string, at int64, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		w.counter(name, at)
		w.float("value", v)
		w.close()
	}
}

// counters writes the counters of an iteration that ended at a time.
func (w *Writer) counters(it *profiles.Iteration, at int64) {
	w.value("iteration", at, float64(it.Index))
	for i := range w.schema.Series {
		if s := &w.schema.Series[i]; s.Each {
			w.value(s.Name, at, it.Series[i])
		}
	}
	for i := range w.schema.Caches {
		now, before := it.Caches[i], w.caches[i]
		recent := profiles.CacheCounters{Hits: now.Hits - before.Hits, Misses: now.Misses - before.Misses}
		if rate, ok := recent.HitRate(); ok {
			w.value(w.schema.Caches[i].Name+" hit rate", at, rate)
		}
		if now.Bytes != before.Bytes || w.caches == [profiles.MaxCaches]profiles.CacheCounters{} {
			w.value(w.schema.Caches[i].Name+" cache bytes", at, float64(now.Bytes))
		}
	}
	w.caches = it.Caches
}

// measured writes the series that are not measured in every iteration.
func (w *Writer) measured(m *profiles.Measurement, at int64) {
	for i := range w.schema.Series {
		if s := &w.schema.Series[i]; !s.Each {
			w.value(s.Name, at, m.Values[i])
		}
	}
}

// memory writes the run's memory by category, without the caches.
func (w *Writer) memory(m *profiles.Memory, at int64) {
	if len(w.schema.Memory) == 0 {
		return
	}
	w.counter("memory bytes", at)
	for i := range w.schema.Memory {
		w.number(w.schema.Memory[i].Name, m.Parts[i])
	}
	w.close()
}

// resident writes the memory of the process.
func (w *Writer) resident(r *profiles.Resident, at int64) {
	if r.Reason == "" {
		w.value("process memory bytes", at, float64(r.RSS))
	}
}

// sensors writes the sensors of the GPUs.
func (w *Writer) sensors(s *machine.Sensors, at int64) {
	at = max(at, 0)
	for i := range s.GPUs {
		g := &s.GPUs[i]
		for _, c := range []struct {
			name  string
			gauge machine.Gauge
		}{
			{"memory in use bytes", g.InUse()}, {"utilisation", g.Utilisation}, {"watts", g.Power},
			{"°C", g.Temperature}, {"SM MHz", g.SMClock},
		} {
			if c.gauge.Known {
				w.value(fmt.Sprintf("GPU %d %s", i, c.name), at, c.gauge.Value)
			}
		}
	}
}

// others writes the share of the processors that other programs used since the previous
// reading.
func (w *Writer) others(now *machine.Load, at int64) {
	if w.load != nil {
		if since := now.Since(*w.load); since.Reason == "" && since.Passed > 0 {
			w.value("other programs' share of the processors", at, since.Foreign())
		}
	}
	w.load = now
}
