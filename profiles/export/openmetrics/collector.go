// Package openmetrics serves a run's numbers over HTTP, as OpenMetrics or in the older text
// format of Prometheus, whichever a reader accepts.
package openmetrics

import (
	"bytes"
	"runtime"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"prismtop/profiles"
)

// The collector of a run's numbers, and the metrics of the run, its caches, memory and series. Those of sensors are in
// sensors.go.

// buckets are the upper bounds of the histogram of iteration times, in nanoseconds.
var buckets = [...]int64{
	100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
	250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
}

// Collector counts what only the events have, and takes everything else from the newest
// snapshot. Take may be called while others read.
type Collector struct {
	version string
	newest  func() *profiles.Snapshot

	mu sync.Mutex
	counts
}

// counts are since the program started, over all restarts of the run.
type counts struct {
	schema    profiles.Schema
	times     [len(buckets) + 1]int64 // iterations by their time
	total     int64                   // nanoseconds
	phases    [profiles.MaxPhases]int64
	monitored int64
	changes   int64
}

// New returns a collector; version is the program's, and newest returns the newest snapshot,
// nil before the first.
func New(version string, newest func() *profiles.Snapshot) *Collector {
	return &Collector{version: version, newest: newest}
}

// Take adds an event.
func (c *Collector) Take(e *profiles.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch b := e.Body.(type) {
	case *profiles.Begin:
		c.schema = b.Info.Schema
	case *profiles.Grown:
		c.schema = b.Schema
	case *profiles.Changed:
		if !b.Ablation {
			c.changes++
		}
	case *profiles.Iteration:
		i := 0
		for i < len(buckets) && b.Total > buckets[i] {
			i++
		}
		c.times[i]++
		c.total += b.Total
		c.monitored += b.Retimed
		for p, ns := range b.Phases {
			c.phases[p] += ns
		}
	}
}

// families returns the metrics. What was not measured is absent.
func (c *Collector) families() *families {
	c.mu.Lock()
	now := c.counts
	c.mu.Unlock()
	t := &families{}
	t.info("prismtop_build", "The program.")
	t.sample(1, "version", c.version, "go", runtime.Version())
	now.write(t)
	if s := c.newest(); s != nil && s.Run.Schema.Workload != "" {
		writeRun(t, s)
		writeCaches(t, s)
		writeMemory(t, s)
		writeSensors(t, s)
		writeSeries(t, s)
	}
	return t
}

// Text returns the metrics in the text format of Prometheus.
func (c *Collector) Text() []byte {
	var b bytes.Buffer
	if err := c.families().write(&b, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
		panic(err) // a family without a name
	}
	return b.Bytes()
}

const (
	nano    = 1e-9
	counter = dto.MetricType_COUNTER
	gauge   = dto.MetricType_GAUGE
)

// write writes the counters.
func (c *counts) write(t *families) {
	t.begin("prismtop_iteration_seconds", dto.MetricType_HISTOGRAM,
		"Time of an iteration, without the monitoring of caches.")
	bounds := make([]float64, len(buckets))
	for i, b := range buckets {
		bounds[i] = float64(b) / 1e9
	}
	t.histogram(bounds, c.times[:], float64(c.total)*nano)
	t.family("prismtop_phase_seconds", counter, "Time of a phase of the iterations.")
	for i := range c.schema.Phases {
		t.sample(float64(c.phases[i])*nano, "phase", c.schema.Phases[i].Name)
	}
	t.family("prismtop_monitoring_seconds", counter,
		"Time spent on computing cached entries again, to know what caches save.")
	t.sample(float64(c.monitored) * nano)
	t.family("prismtop_changes", counter, "Changes of settings by the user.")
	t.sample(float64(c.changes))
}

// writeRun writes what the run is and how far it got.
func writeRun(t *families, s *profiles.Snapshot) {
	t.info("prismtop_run", "The run.")
	t.sample(1, "workload", s.Run.Schema.Workload, "object", s.Run.Object, "device", s.Run.Device, "kernels",
		s.Run.Kernels)
	t.family("prismtop_state", gauge, "State of the run.")
	for state := profiles.Preparing; state <= profiles.Failed; state++ {
		value := 0.0
		if s.State == state {
			value = 1
		}
		t.sample(value, "prismtop_state", state.String())
	}
	t.family("prismtop_running_seconds", gauge, "Running time since the newest start, without pauses.")
	t.sample(s.Elapsed.Seconds())
	t.family("prismtop_iterations", gauge, "Iterations since the newest start.")
	t.sample(float64(s.Index))
	t.family("prismtop_units", gauge, "Units of work of the run, "+s.Run.Schema.Unit.Many+", in all passes.")
	t.sample(float64(s.Run.AllUnits()))
	ended := s.Ended()
	t.family("prismtop_units_ended", gauge, "Units of work that ended.")
	t.sample(float64(ended.Units))
	t.family("prismtop_units_failed", gauge, "Units of work that ended at their limit without reaching the threshold.")
	t.sample(float64(len(ended.Failed)))
	t.family("prismtop_skipped_steps", counter, "Optimiser steps skipped by the gradient scaler.")
	t.sample(float64(s.SkippedSteps))
	t.family("prismtop_non_finite_iterations", counter, "Iterations with a loss that was NaN or infinite.")
	t.sample(float64(s.NonFinite))
	t.family("prismtop_alert", gauge, "Standing alerts.")
	for i := range s.Alerts {
		t.sample(1, "alert", s.Alerts[i].ID, "severity", s.Alerts[i].Severity.String())
	}
	t.family("prismtop_dropped_records", counter, "Records that the screen's reader lost by falling behind.")
	t.sample(float64(s.Own.Dropped))
	if s.Load.Known {
		t.family("prismtop_other_programs_ratio", gauge, "Share of the machine's processors that other programs use.")
		t.sample(s.Load.Foreign)
	}
}

// writeCaches writes the counters of the caches.
func writeCaches(t *families, s *profiles.Snapshot) {
	for _, f := range []struct {
		name  string
		kind  dto.MetricType
		help  string
		value func(*profiles.CacheView) float64
	}{
		{"prismtop_cache_hits", counter, "Lookups that found an entry.", func(c *profiles.CacheView) float64 { return float64(c.Hits) }},
		{"prismtop_cache_misses", counter, "Lookups that found none.", func(c *profiles.CacheView) float64 { return float64(c.Misses) }},
		{"prismtop_cache_entries", gauge, "Entries held.", func(c *profiles.CacheView) float64 { return float64(c.Entries) }},
		{"prismtop_cache_bytes", gauge, "Memory of the entries.", func(c *profiles.CacheView) float64 { return float64(c.Bytes) }},
		{"prismtop_cache_saved_seconds", gauge, "Time saved by hits, minus the cost of all lookups; negative if the cache costs more.", func(c *profiles.CacheView) float64 { return float64(c.Saved) * nano }},
		{"prismtop_cache_enabled", gauge, "1 if the cache is on.", func(c *profiles.CacheView) float64 {
			if c.Enabled {
				return 1
			}
			return 0
		}},
	} {
		t.family(f.name, f.kind, f.help)
		for i := range s.Run.Schema.Caches {
			t.sample(f.value(&s.Caches[i]), "cache", s.Run.Schema.Caches[i].Name)
		}
	}
}

// writeMemory writes the memory of the run and of its process.
func writeMemory(t *families, s *profiles.Snapshot) {
	t.family("prismtop_memory_bytes", gauge, "Memory of the run by category.")
	if s.Memory.Parts != [profiles.MaxMemory]int64{} {
		for i := range s.Run.Schema.Memory {
			t.sample(float64(s.Memory.Parts[i]), "category", s.Run.Schema.Memory[i].Name)
		}
		t.sample(float64(s.Memory.Caches), "category", "caches")
	}
	if s.Memory.RSS > 0 {
		t.family("prismtop_resident_bytes", gauge, "Memory of the process.")
		t.sample(float64(s.Memory.RSS))
	}
	if s.Memory.PeakRSS > 0 {
		t.family("prismtop_resident_peak_bytes", gauge, "Largest memory of the process so far.")
		t.sample(float64(s.Memory.PeakRSS))
	}
}

// writeSeries writes the newest value of each series.
func writeSeries(t *families, s *profiles.Snapshot) {
	t.family("prismtop_series", gauge, "Newest value of a series of the workload; its name ends in its unit.")
	for i := range s.Run.Schema.Series {
		if v := s.Series[i]; v.Has && v.Latest == v.Latest { // not NaN
			t.sample(v.Latest, "series", s.Run.Schema.Series[i].Name)
		}
	}
}
