package suite

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/history"
	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/sim/ablation"
	"prismtop/sim/bench"
	"prismtop/sim/optics"
	"prismtop/sim/prism"
)

// Model is the baseline of PRISM's baseline-v0.2.0.md: the decoder by itself, one iteration, and a
// short experiment, at the standard workload's sizes and with the program's defaults.
type Model struct {
	Settings   map[string]string `json:"settings"`
	Parameters int               `json:"parameters"`

	CreateSeconds   report.Spread    `json:"create_seconds"`      // weights drawn, plan compiled
	CreateMemory    int64            `json:"create_memory_bytes"` // weights, activations and work space of the forward pass
	CreatePeak      *int64           `json:"create_peak_bytes"`   // growth of the peak of resident memory while it is made, the optimizer's moments with it
	NoPeak          string           `json:"create_peak_bytes_reason,omitempty"`
	ForwardMS       report.Spread    `json:"forward_ms"`
	ForwardFPS      float64          `json:"forward_fps"`
	ForwardMemory   map[string]int64 `json:"forward_memory_bytes"` // by category
	IterationMS     report.Spread    `json:"iteration_ms"`
	IterationsPerS  float64          `json:"iterations_per_second"`
	IterationMemory map[string]int64 `json:"iteration_memory_bytes"`
	// PhasesMS are medians of the phases of an iteration, and PhaseShares of their sum.
	PhasesMS    map[string]float64 `json:"phases_ms"`
	PhaseShares map[string]float64 `json:"phase_shares"`

	Experiment *Result `json:"experiment"` // of ten samples, the run whose time is the median
}

func millisecondsOf(nanos []int64) []float64 {
	ms := make([]float64, len(nanos))
	for i, ns := range nanos {
		ms[i] = float64(ns) / 1e6
	}
	return ms
}

// creations is how many times the model is made.
const creations = 9

// Model adds the model's baseline.
func (s *Suite) Model(weight float64) {
	s.plan = append(s.plan, step{"the model", weight, s.model})
}

func (s *Suite) model(ctx context.Context, progress func(float64)) error {
	v, err := s.options.Settings("standard", []settings.Assignment{{Key: "pattern", Value: "trainer"}})
	if err != nil {
		return err
	}
	m := &Model{Settings: history.SettingsOf(v), PhasesMS: map[string]float64{}, PhaseShares: map[string]float64{}}
	o := bench.Options{Maker: s.options.Maker, Settings: prism.From(v), Warmup: 20, Time: s.options.Time}
	if err := s.create(ctx, m, &o.Settings); err != nil {
		return err
	}
	progress(0.1)
	o.Forward = true
	forward, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	m.Parameters = forward.Run.Parameters
	m.ForwardMS = report.SpreadOf(millisecondsOf(forward.Total))
	m.ForwardFPS = 1e3 / m.ForwardMS.Median
	m.ForwardMemory = memoryOf(&forward.Run.Schema, forward.Memory)
	progress(0.4)
	o.Forward = false
	iteration, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	s.report.Machine.on(&iteration.Run, iteration.Threads)
	m.IterationMS = report.SpreadOf(millisecondsOf(iteration.Total))
	m.IterationsPerS = 1e3 / m.IterationMS.Median
	m.IterationMemory = memoryOf(&iteration.Run.Schema, iteration.Memory)
	m.divide(iteration)
	progress(0.8)
	var results []Result
	for round := range repeats {
		r, err := s.measureDefault(ctx, "ten-samples", func(part float64) {
			progress(0.8 + 0.2*(float64(round)+part)/repeats)
		})
		if err != nil {
			return err
		}
		results = append(results, *r)
	}
	m.Experiment = typical(results)
	s.report.Model = m
	return nil
}

// measureDefault runs a workload with the program's defaults and the user's settings.
func (s *Suite) measureDefault(ctx context.Context, preset string, progress func(float64)) (*Result, error) {
	return s.measureWith(ctx, preset, Everything, Optimized, 1, nil, progress)
}

// create times the making of the decoder.
func (s *Suite) create(ctx context.Context, m *Model, p *prism.Settings) error {
	device, err := s.options.Maker.Open(p)
	if err != nil {
		return err
	}
	defer device.Backend.Close()
	var seconds []float64
	debug.FreeOSMemory()
	before, _, reason := machine.ReadResident()
	if reason == "" {
		reason = machine.ResetPeak()
	}
	for i := range creations {
		start := time.Now()
		pass, err := prism.NewForward(ctx, p, device.Backend)
		if err != nil {
			return err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		if i == 0 && reason == "" {
			if _, most, why := machine.ReadResident(); why == "" {
				most -= before
				m.CreatePeak = &most
			} else {
				reason = why
			}
		}
		memory := pass.Memory()
		m.CreateMemory = memory.Total() - memory.Parts[prism.MemoryMoments]
		pass.Close()
	}
	m.CreateSeconds, m.NoPeak = report.SpreadOf(seconds), reason
	return nil
}

// divide divides an iteration among its phases.
func (m *Model) divide(r *bench.Report) {
	sum := 0.0
	for p, info := range r.Run.Schema.Phases {
		if len(r.Phases[p]) > 0 {
			median := report.SpreadOf(millisecondsOf(r.Phases[p])).Median
			m.PhasesMS[info.Name] = median
			sum += median
		}
	}
	for name, ms := range m.PhasesMS {
		m.PhaseShares[name] = ms / sum
	}
}

// memoryOf returns the memory of a run by category.
func memoryOf(schema *profiles.Schema, m profiles.Memory) map[string]int64 {
	parts := map[string]int64{"caches": m.Caches}
	for i, info := range schema.Memory {
		parts[info.Name] = m.Parts[i]
	}
	return parts
}

// Measurement compares measuring an object with taking the measurement from the cache, over and over
// at the centres of a pattern: what PRISM's phase1_week3_performance_report.md calls 16x.
type Measurement struct {
	Centres     int             `json:"centres"`
	ComputedMS  report.Spread   `json:"computed_ms"`
	CachedMS    report.Spread   `json:"cached_ms"`
	Speedup     report.Interval `json:"speedup"`
	EntryBytes  int64           `json:"entry_bytes"`
	PrunedMS    report.Spread   `json:"computed_pruned_ms"` // computed with this program's own savings
	PrunedRatio report.Interval `json:"speedup_over_pruned"`
}

// Cached adds the comparison of measurements.
func (s *Suite) Cached(weight float64) {
	s.plan = append(s.plan, step{"one measurement", weight, s.cached})
}

// cachedRounds is the number of rounds, each of which measures at every centre three ways by turns.
const cachedRounds = 12

func (s *Suite) cached(ctx context.Context, progress func(float64)) error {
	v, err := s.options.Settings("profiling", Documented.assignments(Optimized))
	if err != nil {
		return err
	}
	p := prism.From(v)
	object, err := prism.LoadObject(ctx, &p)
	if err != nil {
		return err
	}
	device, err := s.options.Maker.Open(&p)
	if err != nil {
		return err
	}
	defer device.Backend.Close()
	window := optics.ObjectWindow(p.Size, p.ObjectSize)
	centres := optics.FermatSpiral(p.Samples, float64(p.Size)/2)
	system := func(cache bool, how optics.Transforms) (*prism.MeasurementSystem, error) {
		return prism.NewMeasurementSystem(prism.SystemOptions{
			Truth: object.Amplitude, Size: p.Size, Aperture: optics.Aperture{Kind: optics.Circular, Radius: p.Radius},
			Host: device.Host, Masks: optics.NewMaskCache(p.Size, 0, true, nil),
			Cache: prism.NewMeasurementCache(0, cache, nil), Rows: [2]int{window.Top, window.Top + window.Size},
			Transforms: how,
		})
	}
	var systems [3]*prism.MeasurementSystem
	for i, how := range []optics.Transforms{{}, {}, {Fused: true, Pruned: true}} {
		if systems[i], err = system(i == 1, how); err != nil {
			return err
		}
	}
	m := &Measurement{Centres: len(centres), EntryBytes: 4 * int64(p.Size) * int64(p.Size)}
	target := make([]float32, p.Size*p.Size)
	var times [3][]float64
	var ratios, pruned []float64
	for round := range cachedRounds + 1 {
		var sums [3]float64
		for k := range systems {
			i := (k + round) % len(systems)
			for _, c := range centres {
				start := time.Now()
				if err := systems[i].Measure(ctx, nil, []optics.Point{c}, nil, target); err != nil {
					return err
				}
				ms := time.Since(start).Seconds() * 1e3
				if sums[i] += ms; round > 0 { // the first fills the caches
					times[i] = append(times[i], ms)
				}
			}
		}
		if round > 0 {
			ratios, pruned = append(ratios, math.Log(sums[0]/sums[1])), append(pruned, math.Log(sums[2]/sums[1]))
		}
		progress(float64(round+1) / (cachedRounds + 1))
	}
	m.ComputedMS, m.CachedMS, m.PrunedMS = report.SpreadOf(times[0]), report.SpreadOf(times[1]),
		report.SpreadOf(times[2])
	m.Speedup = report.Of(stats.SignedRank(ratios)).Through(math.Exp)
	m.PrunedRatio = report.Of(stats.SignedRank(pruned)).Through(math.Exp)
	s.report.Measurement = m
	return nil
}

// Effect is what one optimisation does to the time of an iteration, by an ablation.
type Effect struct {
	Preset      string          `json:"preset"`
	Setting     string          `json:"setting"`
	Off         string          `json:"off"`
	On          string          `json:"on"`
	OffMS       float64         `json:"off_ms"`
	OnMS        float64         `json:"on_ms"`
	Speedup     report.Interval `json:"speedup"` // off over on
	MemoryBytes int64           `json:"memory_difference_bytes"`
	Note        string          `json:"note,omitempty"`
}

// Effects adds an ablation of single settings in the middle of a workload, with PRISM's
// optimisations on and this program's own off.
func (s *Suite) Effects(preset string, keys []string, weight float64) {
	s.plan = append(s.plan, step{"ablation of " + preset, weight,
		func(ctx context.Context, progress func(float64)) error {
			return s.effects(ctx, preset, keys, progress)
		}})
}

func (s *Suite) effects(ctx context.Context, preset string, keys []string, progress func(float64)) error {
	v, err := s.options.Settings(preset, Documented.assignments(Optimized))
	if err != nil {
		return err
	}
	table, _, err := bench.Ablation(ctx, s.options.Maker, v, ablation.Options{Only: keys, Rounds: s.options.Rounds},
		func(a *profiles.Ablation) {
			if a.Groups > 0 {
				progress(float64(a.Done) / float64(a.Groups))
			}
		})
	if table == nil {
		return err
	}
	for _, r := range table.Rows {
		e := Effect{Preset: preset, Setting: r.Key, Off: r.Off, On: r.On, OffMS: r.OffNS / 1e6, OnMS: r.OnNS / 1e6,
			MemoryBytes: r.OnBytes - r.OffBytes, Note: r.Note}
		if r.Groups == 0 {
			continue
		}
		e.Speedup = report.Between(r.Effect, r.Low, r.High).Through(func(v float64) float64 { return 1 / (1 + v) })
		s.report.Effects = append(s.report.Effects, e)
	}
	return err
}
