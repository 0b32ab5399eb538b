package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/history"
	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/prism"
)

// Side says which optimisations a run has.
type Side string

// The sides of a comparison.
const (
	Baseline  Side = "baseline"
	Optimized Side = "optimized"
)

// Set is a set of optimisations that a comparison switches together.
type Set string

// The sets. Those that are not in a set are off on both sides.
const (
	// Documented are the optimisations that PRISM's documents switch and that this program has: the
	// measurement cache, FFT cache and mask cache. The baseline clears the measurement cache
	// after each of them, as the documents' baseline does. On a GPU, mixed precision is among them.
	Documented Set = "prism"
	// Everything are all optimisations that this program offers to save time.
	Everything Set = "all"
)

// documented are the settings of the set Documented, besides the measurement cache.
var documented = []string{"measurement_cache", "fft_cache", "mask_cache"}

// Fixed returns the settings that the sides of a set decide, and the user cannot.
func (set Set) Fixed() (keys []string) {
	for _, side := range []Side{Baseline, Optimized} {
		for _, a := range set.assignments(side) {
			if !slices.Contains(keys, a.Key) {
				keys = append(keys, a.Key)
			}
		}
	}
	return keys
}

// assignments returns the settings of a side on the device of the suite. Mixed precision is among the optimisations of
// a GPU, as in the documents: theirs in fp16 with a gradient scaler, and of all the one that costs no accuracy, where
// the GPU has it.
func (s *Suite) assignments(set Set, side Side) []settings.Assignment {
	sets := set.assignments(side)
	if side == Optimized && s.options.GPU != "" {
		mode := "fp16"
		if set == Everything && !s.options.NoBF16 {
			mode = "bf16"
		}
		for i := range sets {
			if sets[i].Key == "amp" {
				sets[i].Value = mode
			}
		}
	}
	return sets
}

// assignments returns the settings of a side on the processor.
func (set Set) assignments(side Side) []settings.Assignment {
	off, on := prism.Table.Everything()
	sets := append([]settings.Assignment{{Key: "amp", Value: "off"}, {Key: "checkpointing", Value: "false"}}, off...)
	switch {
	case side == Optimized && set == Everything:
		sets = append(sets, on...)
	case side == Optimized:
		for _, key := range documented {
			sets = append(sets, settings.Assignment{Key: key, Value: "true"})
		}
	case set == Documented: // it is cleared after each measurement
		sets = append(sets, settings.Assignment{Key: "measurement_cache", Value: "true"})
	}
	return sets
}

// Result is a whole run of a workload.
type Result struct {
	Side   Side   `json:"side"`
	Preset string `json:"preset"`
	Set    Set    `json:"optimizations"`
	Seed   uint64 `json:"seed"`

	Settings map[string]string `json:"settings"`

	Samples    int   `json:"samples"` // of all passes
	Centres    int   `json:"centres"` // of one pass: at each the object is measured
	Iterations int64 `json:"iterations"`

	PrepareSeconds float64 `json:"prepare_seconds"` // before the first iteration
	Seconds        float64 `json:"total_seconds"`
	SampleMS       float64 `json:"ms_per_sample"`
	SamplesPerS    float64 `json:"samples_per_second"`
	IterationMS    float64 `json:"ms_per_iteration"`
	IterationsPerS float64 `json:"iterations_per_second"`

	Phases map[string]float64 `json:"phase_shares"` // of the time of the iterations, 0 to 1

	Caches map[string]Cache `json:"caches"`

	MemoryBytes int64  `json:"memory_bytes"`     // held by the run at its largest
	GPUBytes    int64  `json:"gpu_memory_bytes"` // held on the GPU at its largest; 0 without one
	PeakRSS     *int64 `json:"rss_peak_bytes"`   // of the process so far, all runs together
	RSSReason   string `json:"rss_peak_bytes_reason,omitempty"`

	PSNR        *float64 `json:"psnr_db"` // of the last reconstruction, on the object's window
	SSIM        *float64 `json:"ssim"`
	MSE         *float64 `json:"mse"`
	Correlation *float64 `json:"correlation"` // Pearson's, of the pixels

	partial bool // of runs that were interrupted
}

// Cache is what a cache counted over a run.
type Cache struct {
	Enabled bool     `json:"enabled"`
	Cleared bool     `json:"cleared"` // after each measurement
	Hits    int64    `json:"hits"`
	Misses  int64    `json:"misses"`
	HitRate *float64 `json:"hit_rate"` // null if nothing was looked up
	Entries int64    `json:"entries"`
	Bytes   int64    `json:"bytes"`
}

// measure runs a workload from its first iteration to its last, on a side of a set.
func (s *Suite) measure(ctx context.Context, preset string, set Set, side Side, seed uint64,
	progress func(float64)) (*Result, error) {
	return s.measureWith(ctx, preset, set, side, seed, s.assignments(set, side), progress)
}

// measureWith is measure with the assignments of the caller.
func (s *Suite) measureWith(ctx context.Context, preset string, set Set, side Side, seed uint64,
	sets []settings.Assignment, progress func(float64)) (*Result, error) {
	sets = append(sets, settings.Assignment{Key: "seed", Value: fmt.Sprint(seed)})
	v, err := s.options.Settings(preset, sets)
	if err != nil {
		return nil, err
	}
	r := &Result{Side: side, Preset: preset, Set: set, Seed: seed, Settings: history.SettingsOf(v),
		Phases: map[string]float64{}, Caches: map[string]Cache{}}
	start := time.Now()
	run, err := sim.New(ctx, sim.Options{Maker: s.options.Maker, Settings: v, Stream: stream.New(2)})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	r.PrepareSeconds = time.Since(start).Seconds()
	info := run.Info()
	s.report.Machine.on(&info, run.Threads())
	m := follower{result: r, schema: &info.Schema, clears: set == Documented && side == Baseline,
		all: float64(expected(v)), progress: progress}
	if err := m.follow(ctx, run); err != nil {
		return nil, err
	}
	r.Samples, r.Centres = info.AllUnits(), info.Units
	r.complete()
	return r, r.compare(ctx, run)
}

// expected is the number of iterations of a workload in which every sample ends at its limit.
func expected(v settings.Values) int {
	return max(1, v.Int("init_iterations")*v.Int("init_cycles")+
		v.Int("samples")*v.Int("passes")*v.Int("iterations")*v.Int("cycles"))
}

// follower takes the iterations of a run.
type follower struct {
	result   *Result
	schema   *profiles.Schema
	clears   bool // the measurements after every iteration
	all      float64
	progress func(float64)
	last     profiles.Iteration
}

// follow runs all iterations.
func (f *follower) follow(ctx context.Context, run *sim.Run) error {
	var phases [profiles.MaxPhases]int64
	r := f.result
	if f.clears { // what the preparation measured
		run.ClearCache(prism.CacheMeasurement)
	}
	start := time.Now()
	for {
		rec, over, err := run.Next(ctx)
		if err != nil {
			return err
		}
		if rec != nil {
			f.last = *rec
			r.Iterations++
			for p, ns := range rec.Phases {
				phases[p] += ns
			}
			// Each sample adds to the caches, and the first one has a plan of its own.
			if rec.InUnit == 0 || r.Iterations%16 == 1 || over {
				memory := run.Memory()
				r.MemoryBytes = max(r.MemoryBytes, memory.Total())
				r.GPUBytes = max(r.GPUBytes, memory.Device.Total())
			}
			if f.clears {
				run.ClearCache(prism.CacheMeasurement)
			}
			if r.Iterations%16 == 1 {
				f.progress(min(1, float64(r.Iterations)/f.all))
			}
		}
		if over {
			break
		}
	}
	r.Seconds = time.Since(start).Seconds()
	if r.Iterations == 0 {
		return errors.New("the workload has no iterations")
	}
	whole := 0.0
	for _, ns := range phases {
		whole += float64(ns)
	}
	for p, info := range f.schema.Phases {
		r.Phases[info.Name] = float64(phases[p]) / whole
	}
	for c, info := range f.schema.Caches {
		r.Caches[info.Name] = cacheOf(f.last.Caches[c], f.clears && profiles.CacheID(c) == prism.CacheMeasurement)
	}
	return nil
}

func cacheOf(c profiles.CacheCounters, cleared bool) Cache {
	v := Cache{Enabled: c.Enabled, Cleared: cleared, Hits: c.Hits, Misses: c.Misses, Entries: c.Entries, Bytes: c.Bytes}
	if rate, ok := c.HitRate(); ok {
		v.HitRate = &rate
	}
	return v
}

// complete fills in what follows from the rest.
func (r *Result) complete() {
	r.SampleMS, r.SamplesPerS = 1e3*r.Seconds/float64(r.Samples), float64(r.Samples)/r.Seconds
	r.IterationMS, r.IterationsPerS = 1e3*r.Seconds/float64(r.Iterations), float64(r.Iterations)/r.Seconds
	_, peak, reason := machine.ReadResident()
	if r.RSSReason = reason; reason == "" {
		r.PeakRSS = &peak
	}
}

// compare compares the result of a run with the truth.
func (r *Result) compare(ctx context.Context, run *sim.Run) error {
	q, err := run.Quality(ctx)
	if err != nil {
		return err
	}
	r.PSNR, r.SSIM = report.Finite(q[prism.SeriesPSNR]), report.Finite(q[prism.SeriesSSIM])
	truth, got := run.Picture(prism.PictureTruth), run.Picture(prism.PictureReconstruction)
	if truth != nil && got != nil {
		mse, correlation := agreement(truth.Pixels, got.Pixels)
		r.MSE, r.Correlation = report.Finite(mse), report.Finite(correlation)
	}
	return nil
}

// agreement returns the mean squared difference of two pictures, and Pearson's correlation of their
// pixels, which is NaN if one of them is flat.
func agreement(a, b []float32) (mse, correlation float64) {
	n := float64(len(a))
	var sumA, sumB, squares float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		sumA, sumB, squares = sumA+x, sumB+y, squares+(x-y)*(x-y)
	}
	var aa, bb, ab float64
	for i := range a {
		x, y := float64(a[i])-sumA/n, float64(b[i])-sumB/n
		aa, bb, ab = aa+x*x, bb+y*y, ab+x*y
	}
	return squares / n, ab / math.Sqrt(aa*bb)
}
