package bench

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/stats"
	"prismtop/sim/cpu/roof"
)

// Summary returns the report in the form of a run's summary, plus the benchmark's
// own numbers.
func (r *Report) Summary(version, preset string, processor machine.CPU) *export.Summary {
	sum := export.Summarize(r.snapshot(), export.Source{Version: version, Preset: preset, CPU: processor,
		Threads: r.Threads})
	b := &export.Benchmark{
		Measured: "iterations", Sample: r.Sample, Warmup: r.Warmup, Go: runtime.Version(),
		Started: r.Started.UTC().Format(time.RFC3339), MinMS: map[string]float64{},
		DroppedBatches: r.Dropped, Clean: r.Clean, ForeignCPUReason: r.ForeignReason,
	}
	if r.Options.Forward {
		b.Measured = "forward"
	}
	if r.ForeignReason == "" {
		b.ForeignCPU = &r.Foreign
	}
	sum.ForeignCPU, sum.ForeignCPUReason = b.ForeignCPU, b.ForeignCPUReason
	if len(r.Total) > 0 {
		b.MinMS["iteration"] = milliseconds(slices.Min(r.Total))
	}
	for p, nanos := range r.Phases {
		if len(nanos) > 0 {
			b.MinMS[r.Run.Schema.Phases[p].Name] = milliseconds(slices.Min(nanos))
		}
	}
	sum.Benchmark = b
	return sum
}

// AddLayers adds the steps of the plan, longest first, and the roofs by which they
// are judged.
func (r *Report) AddLayers(s *export.Summary, roofs *roof.Roofs) {
	b := s.Benchmark
	b.Roofs = &export.Roofs{GFLOPS: roofs.GFLOPS, Measured: roofs.Measured.UTC().Format(time.RFC3339)}
	for _, l := range roofs.Levels {
		b.Roofs.Levels = append(b.Roofs.Levels, export.Bandwidth(l))
	}
	for _, step := range kernels(r.Steps) {
		times := spread(step.Nanos)
		j := roofs.Judge(step.FLOPs, step.Bytes, time.Duration(times.Median))
		b.Layers = append(b.Layers, export.Layer{
			Name: step.Name, Kernel: step.Kernel, Phase: r.Run.Schema.Phases[step.Phase].Name,
			MedianMS: times.Median / 1e6, P10MS: times.P10 / 1e6, P90MS: times.P90 / 1e6,
			FLOPs: step.FLOPs, Bytes: step.Bytes, GFLOPS: j.GFLOPS, GBs: j.GBs,
			ComputeShare: j.Compute, MemoryShare: j.Memory, Bound: j.Bound,
		})
	}
	slices.SortStableFunc(b.Layers, func(x, y export.Layer) int { return cmp.Compare(y.MedianMS, x.MedianMS) })
}

// kernels merges steps that only report a share of an earlier kernel's time, those
// without operations and bytes, into that kernel.
func kernels(steps []StepTimes) []StepTimes {
	var list []StepTimes
	for _, s := range steps {
		if s.FLOPs > 0 || s.Bytes > 0 || len(list) == 0 {
			s.Nanos = slices.Clone(s.Nanos)
			list = append(list, s)
			continue
		}
		whole := &list[len(list)-1]
		for i, nanos := range s.Nanos {
			whole.Nanos[i] += nanos
		}
	}
	return list
}

func milliseconds(nanos int64) float64 { return float64(nanos) / 1e6 }

// snapshot returns the measurement as the end of a run.
func (r *Report) snapshot() *profiles.Snapshot {
	s := &profiles.Snapshot{
		Run: r.Run, Settings: r.Options.Settings.Values(), State: profiles.Finished,
		Elapsed: r.Elapsed, Kind: r.Kind, Index: int64(len(r.Total)), Unit: r.Sample, Caches: r.caches(),
		Memory: profiles.MemoryView{Memory: r.Memory, PeakRSS: r.PeakRSS, Reason: r.RSSReason},
	}
	s.Whole.Total = spread(r.Total)
	whole := 0.0
	for _, t := range r.Total {
		whole += float64(t)
	}
	for i, v := range r.Series {
		s.Series[i] = profiles.SeriesView{Latest: v, Has: r.Run.Schema.Each(i)}
	}
	for p, nanos := range r.Phases {
		v := profiles.PhaseView{Spread: spread(nanos)}
		if v.N > 0 {
			v.Share = v.Mean * float64(v.N) / whole
		}
		s.Whole.Phases[p] = v
	}
	return s
}

// caches returns the state of the caches at the end; the forward pass has none.
func (r *Report) caches() (views [profiles.MaxCaches]profiles.CacheView) {
	for i, c := range r.Caches {
		views[i].CacheCounters = c
	}
	return views
}

// spread summarises nanoseconds; its N is 0 if there are none.
func spread(nanos []int64) profiles.Spread {
	if len(nanos) == 0 {
		return profiles.Spread{}
	}
	sorted := slices.Sorted(slices.Values(nanos))
	q := func(p float64) float64 { return stats.Quantile(sorted, p) }
	return profiles.Spread{
		Last: float64(nanos[len(nanos)-1]), Mean: stats.Mean(nanos),
		Median: q(0.5), P10: q(0.1), P95: q(0.95), P90: q(0.9), N: len(nanos),
	}
}
