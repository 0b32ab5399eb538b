package tuitest

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// Change is a change of a setting at an iteration.
func Change(key, before, after string, iteration int64) profiles.Change {
	return profiles.Change{Key: key, Before: before, After: after, Iteration: iteration,
		At: time.Duration(iteration) * 25 * time.Millisecond}
}

// WithEffects returns a run with these effects only.
func WithEffects(effects ...profiles.Effect) *profiles.Snapshot {
	s := Eventful()
	s.Alerts, s.Effects, s.Changes = nil, effects, nil
	for i := range effects {
		s.Changes = append(s.Changes, effects[i].Changes()...)
	}
	return s
}

// compared returns an effect with enough iterations on both sides.
func compared(c profiles.Change, with ...profiles.Change) profiles.Effect {
	return profiles.Effect{Change: c, With: with, Enough: true, BeforeNS: 7.02e6, AfterNS: 5.41e6, Shift: -0.229,
		Low: -0.241, High: -0.218,
		NBefore: 200, NAfter: 200, QualityDrift: 0.12, HasQuality: true}
}

// Together returns a run in which several keys were pressed at a time.
func Together() *profiles.Snapshot {
	last := profiles.Effect{Change: Change("threads", "2", "1", 3900),
		With:   []profiles.Change{Change("learning_rate", "0.001", "0.0005", 3900), Change("loss", "l1", "ssim", 3900)},
		Needed: 12, NBefore: 200, NAfter: 8}
	return WithEffects(compared(Change("amp", "off", "fp16", 1200)),
		compared(Change("amp", "fp16", "bf16", 2410), Change("measurement_cache", "true", "false", 2410)), last)
}

// TakenBack returns a run in which a setting was changed until it was back at its value.
func TakenBack() *profiles.Snapshot {
	s := WithEffects()
	s.Log = []profiles.LogLine{
		{At: 61 * time.Second, Text: "amp is as before from iteration 2410 on, after 4 changes: no effect to measure"}}
	return s
}

// IncomparableRun returns a run with one effect of each kind that cannot be compared.
func IncomparableRun() *profiles.Snapshot {
	confounded := func(c profiles.Change, why, brief string, with ...profiles.Change) profiles.Effect {
		e := compared(c, with...)
		e.Confounded, e.Briefly, e.Closed = why, brief, true
		return e
	}
	few := profiles.Effect{Change: Change("pattern", "trainer", "remeasure", 3100), NBefore: 9, NAfter: 200,
		Closed:     true,
		Confounded: "only 9 comparable iterations before it", Briefly: "too few before"}
	short := profiles.Effect{Change: Change("mask_cache", "true", "false", 3300), Needed: 13, NBefore: 200, NAfter: 7,
		Closed: true}
	s := WithEffects(
		confounded(Change("amp", "off", "bf16", 1200), "others took 1 % before, 62 % after", "others took 62 %"),
		confounded(Change("threads", "2", "1", 1600), "others took 50 % of the processors; sample advanced 9 → 10", "others took 50 %"),
		confounded(Change("learning_rate", "0.001", "0.0005", 2200), "sample advanced 19 → 20", "sample advanced", Change("amp", "bf16", "off", 2200)),
		few, short, compared(Change("fft_cache", "true", "false", 3600)))
	s.Load = profiles.LoadView{Foreign: 0.62, Known: true, Considerable: true}
	return s
}

// AblationWith returns an ablation that compared one setting in a number of groups.
func AblationWith(key string, groups int) *profiles.Ablation {
	return &profiles.Ablation{Ended: "complete", Rows: []profiles.AblationRow{{Key: key, On: "true", Groups: groups,
		Final: true, Effect: -0.2, Low: -0.3, High: -0.1}}}
}

// Switched returns a run after everything was switched off and on by turns.
func Switched() *profiles.Snapshot {
	s := Running()
	Set(s, "pattern", "trainer")
	s.Ablation = &profiles.Ablation{
		Replication: true, Base: s.Settings, Ended: "decided", Work: "later samples", Rounds: 24, Done: 14, Groups: 24,
		Now: -1, Warmup: 3, Spent: 21 * time.Second, Quality: s.Run.Schema.QualityInfo(),
		Rows: []profiles.AblationRow{{Key: "everything", Off: "off", On: "on", OffNS: 10.2e6, OnNS: 6.1e6,
			Effect: -0.402, Low: -0.42, High: -0.381, Groups: 14, Final: true,
			Sequential: true, Iterations: 1420, OffBytes: 118e6, OnBytes: 121e6, HasMemory: true, Quality: 0.02,
			QualityLow: -0.11, QualityHigh: 0.14, QualityGroups: 14}},
	}
	s.Caches[prism.CacheMeasurement].Hits, s.Caches[prism.CacheMeasurement].Misses = 0, 37
	return s
}

// Busy returns a run on a busy machine, with a change that other programs disturbed and one with
// too few iterations before it.
func Busy() *profiles.Snapshot {
	s := Running()
	s.Load = profiles.LoadView{Foreign: 0.62, Known: true, Considerable: true}
	s.Effects[1].Confounded, s.Effects[1].Briefly = "others took 1 % before, 62 % after", "others took 62 %"
	s.Effects[0].Confounded, s.Effects[0].Briefly, s.Effects[0].LeftOut = "", "", 84
	s.Effects[2] = profiles.Effect{Change: s.Changes[2], NBefore: 9, NAfter: 200,
		Confounded: "only 9 comparable iterations before it", Briefly: "too few before"}
	return s
}

// OverAfter300 returns a run that a limit ended during its fourth sample and during an effect.
func OverAfter300() *profiles.Snapshot {
	s := IncomparableRun()
	s.State, s.Index, s.Unit, s.InUnit, s.Results = profiles.Finished, 300, 3, 41, s.Results[:3]
	s.Load = profiles.LoadView{}
	s.Effects[5] = profiles.Effect{Change: Change("fft_cache", "true", "false", 295), Needed: 20, NBefore: 200,
		Closed: true, Ended: true}
	s.Phases[prism.PhaseBackward] = profiles.PhaseView{}
	s.Phases[prism.PhaseOptimizer], s.Whole.Phases[prism.PhaseOptimizer] = profiles.PhaseView{}, profiles.PhaseView{}
	s.Caches[prism.CacheFFTPlans] = profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true}}
	s.Memory.Trend = profiles.MemoryTrend{Needed: 12 * time.Second}
	return s
}

// Eventful returns a run with many events: finished samples, a log, alerts, a memory history and
// all metrics.
func Eventful() *profiles.Snapshot {
	s := Running()
	Set(s, "iterations", "250", "cycles", "4", "measurement_cache_mb", "256")
	for i := range 37 {
		r := profiles.UnitResult{
			Unit: int32(i), Iterations: int32(60 + 900*Noise(i)*Noise(i+3)), Converged: i%9 != 5, Threshold: 0.005,
			Values: LossesOf(4.1e-3*(0.5+Noise(i)), 4.8e-3*(0.5+Noise(i+1)/2)),
		}
		if !r.Converged {
			r.Iterations, r.Values[prism.SeriesLossNew] = 1000, 0.0183
		}
		r.Elapsed = time.Duration(r.Iterations) * time.Duration(5.2e6+1e6*Noise(i))
		s.Results = append(s.Results, r)
	}
	for i := range 30 {
		text := fmt.Sprintf("saved europa-%06d.png", 100*i)
		if i%10 == 9 {
			text = "over after 12s: No iteration ended for more than 2s; usually one takes 5.4 ms, and this line is " +
				"long enough to go on below the first row of a pane."
		}
		s.Log = append(s.Log, profiles.LogLine{At: time.Duration(3*i) * time.Second, Text: text})
	}
	s.Alerts = []profiles.Alert{
		{ID: "sample-limit", Severity: profiles.Warning, Since: 93 * time.Second, Iteration: 3990,
			What: "3 of the last 10 samples ended at their limit far from the threshold: sample 33 at 0.018, 3.7 " +
				"times 0.005.",
			Try: "Halve the learning rate {lower learning_rate} where the loss jumps about; else raise iterations " +
				"or threshold."},
		{ID: "mask-cache-cost", Severity: profiles.Notice, Since: 41 * time.Second, Iteration: 1700,
			What: "The mask cache costs more than it saves: 12 of 3038 lookups hit, 31 ms lost since the run began.",
			Try:  "Switch it off {switch mask_cache} and compare."},
	}
	for id := range s.Caches {
		c := &s.Caches[id]
		c.RecentIterations, c.RecentSaved, c.RecentLow, c.RecentHigh = 400, c.Saved/10, c.Saved/10-c.Saved/150,
			c.Saved/10+c.Saved/120
		c.Spent, c.Price, c.PricedBy, c.Priced = (c.Hits+c.Misses)*38_000, 2_410_000, 15, c.Hits
	}
	s.Series[prism.SeriesPSNR].Curve = Curve(206, 20, func(i int) (float64, float64, float64) {
		v := 25 - 14*math.Exp(-float64(i)/60)
		return v, v, v
	})
	s.Series[prism.SeriesSSIM].Curve = Curve(206, 20, func(i int) (float64, float64, float64) {
		v := 0.85 - 0.7*math.Exp(-float64(i)/70)
		return v, v, v
	})
	s.Series[prism.SeriesRMSE].Curve = Curve(206, 20, func(i int) (float64, float64, float64) {
		v := 10 + 60*math.Exp(-float64(i)/50)
		return v, v, v
	})
	bytes := func(f func(i int) float64) profiles.Curve {
		return Curve(206, 20, func(i int) (float64, float64, float64) { v := f(i); return v * 0.999, v, v * 1.001 })
	}
	s.Memory.History = profiles.MemoryHistory{
		RSS:        bytes(func(i int) float64 { return 180e6 + 1.5e5*float64(i) + 1e6*Noise(i) }),
		Parameters: bytes(func(int) float64 { return 44.8e6 }), Buffers: bytes(func(int) float64 { return 16.7e6 }),
		Caches: bytes(func(i int) float64 { return 1e5 * float64(i) }),
	}
	s.Memory.Trend = profiles.MemoryTrend{Known: true, Span: 92 * time.Second, N: 92, PerMinute: 2.1e6, Low: 1.7e6,
		High:        2.6e6,
		PerThousand: 190e3, CachesPerMinute: 1.2e6, Beyond: 0.9e6, BeyondLow: 0.4e6, BeyondHi: 1.3e6}
	return s
}
