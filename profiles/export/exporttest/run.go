// Package exporttest has a run for the tests of the formats that runs are exported in.
package exporttest

import (
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// Began is when the run began.
var Began = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// The numbers of the run: two starts of an initialisation and two samples each, all of
// Total's length and Retimed, one after the other with Gap between them. They are uneven, so that
// roundings show.
const (
	Starts     = 2
	Iterations = 12 // of a start: 4 of the initialisation, 5 of the first sample, 3 of the second
	Retimed    = int64(50_003)
	Total      = int64(4_000_123)
	Gap        = int64(10_007)
	Period     = Total + Retimed + Gap
	Forward    = int64(1_500_077)
	Backward   = int64(2_000_019)
	Metrics    = int64(300_041) // of every third iteration
	Restart    = 100 * time.Millisecond
)

// Settings are those of the run. The text has what every format must escape.
func Settings() settings.Values {
	t := settings.NewTable("test", nil, settings.Text("", "image", ""), settings.Switch("", "cache", ""),
		settings.Number("", "rate", "", "", 0, 1))
	v, err := t.Zero().Put("image", "a \"quoted\", name\n.png")
	if err != nil {
		panic(err)
	}
	return v
}

// Schema is the schema of the run.
func Schema() profiles.Schema {
	return profiles.Schema{
		Workload: "test",
		Unit:     profiles.Unit{One: "sample", Many: "samples"},
		Stages:   []string{"initialising", "progressive"},
		Kinds:    []profiles.KindInfo{{Name: "initialisation"}, {Name: "samples", Stage: 1, Units: true}},
		Phases:   []profiles.PhaseInfo{{Name: "forward"}, {Name: "backward"}, {Name: "metrics", Looking: true}},
		Caches:   []profiles.CacheInfo{{Name: "measurement", Setting: "cache"}, {Name: "masks"}},
		Series: []profiles.SeriesInfo{
			{Name: "loss_old", Title: "old", Group: profiles.Losses, Each: true},
			{Name: "loss_new", Title: "new", Group: profiles.Losses, Each: true},
			{Name: "psnr_db", Title: "PSNR", Unit: "dB", Group: profiles.Metrics},
			{Name: "learning_rate", Title: "learning rate", Each: true, Internal: true},
		},
		Memory:  []profiles.MemoryInfo{{Name: "weights", Parameters: true}, {Name: "activations"}},
		Quality: "psnr_db",
	}
}

// Events returns the run's events in order.
func Events() (all []profiles.Event) {
	v := Settings()
	for start := range Starts {
		began := Began.Add(time.Duration(start) * Restart)
		put := func(at int64, b profiles.Body) {
			all = append(all, profiles.Event{At: began.Add(time.Duration(at)), Body: b})
		}
		put(0, &profiles.Begin{Info: profiles.RunInfo{Schema: Schema(), Object: "moon", Device: "cpu", Kernels: "go",
			Units: 2, PriorStarts: start}, Settings: v})
		put(0, &profiles.StateChange{State: profiles.Running})
		put(0, &profiles.Memory{Parts: [profiles.MaxMemory]int64{4096, 1024}, Caches: 7})
		for i := range int64(Iterations) {
			it, from := iteration(i), i*Period
			if i == 6 {
				put(from-Gap, &profiles.Changed{Change: profiles.Change{Key: "cache", Before: "false", After: "true",
					Iteration: i, At: time.Duration(from - Gap)}, Settings: v})
				put(from-Gap, &profiles.Fork{Running: true, Of: i, Key: "cache"})
			}
			if i == 7 {
				put(from-Gap, &profiles.Note{Author: "pts/1", Text: "a \"sharp\" drop", Iteration: i,
					Written: time.Duration(from - Gap)})
			}
			if i == 8 {
				put(from-Gap, &profiles.Changed{Change: profiles.Change{Key: "rate", Before: "0", After: "0.5",
					Iteration: i, At: time.Duration(from - Gap), Ablation: true}, Settings: v})
				put(from-Gap, &profiles.Fork{Of: i, Key: "cache", Ended: "it was stopped"})
			}
			all = append(all, profiles.Event{Body: &it})
			end := from + Total + Retimed
			if i%3 == 2 {
				m := &profiles.Measurement{Iteration: i, Unit: it.Unit, Values: profiles.NoValues()}
				m.Values[2] = 20 + float64(i)
				put(end, m)
			}
			if i == 8 || i == 11 {
				r := &profiles.UnitResult{Unit: it.Unit, Iterations: it.InUnit + 1, Converged: i == 8,
					Values: it.Series, Reached: 0.01, Loss: "loss_new", Threshold: 0.02,
					Elapsed: time.Duration(int64(it.InUnit+1) * Period)}
				r.Values[2] = 0 // not read: only measurements have it
				put(end, r)
			}
			if i%4 == 3 {
				put(end, &profiles.LayerTimes{Layers: []profiles.Layer{{Name: "layer 1 convT", Phase: 0,
					Nanos: 1_000_000}, {Name: "layer 1 convT dW", Phase: 1, Nanos: 1_250_000}}})
				put(end, &profiles.Resident{RSS: 1 << 20 * (i + 1), Peak: 1 << 30})
				put(end, &profiles.Load{Load: machine.Load{Busy: float64(i) * 0.5, Own: float64(i) * 0.25,
					Passed: float64(i)}})
			}
		}
		put(Iterations*Period, &profiles.StateChange{State: profiles.Finished, Why: "max_iterations = 12"})
	}
	return all
}

// iteration returns the record of an iteration.
func iteration(i int64) profiles.Iteration {
	it := profiles.Iteration{Index: i, Unit: -1, InUnit: int32(i), Start: i * Period, Total: Total, Retimed: Retimed,
		Series: profiles.NoValues()}
	it.Phases[0], it.Phases[1] = Forward, Backward
	if i%3 == 2 {
		it.Phases[2] = Metrics
	}
	it.Series[0], it.Series[1], it.Series[3] = math.NaN(), 1/float64(i+1), 0.001
	if i >= 4 {
		it.Kind, it.Unit, it.InUnit, it.Series[0] = 1, 0, int32(i-4), 0.5
	}
	if i >= 9 {
		it.Unit, it.InUnit = 1, int32(i-9)
	}
	if i == 6 {
		it.Flags = profiles.Warmup
	}
	if i >= 6 {
		it.Changes = 1
	}
	if i == 7 {
		it.Flags, it.Series[1] = profiles.NonFinite, math.Inf(1)
	}
	it.Caches[0] = profiles.CacheCounters{Enabled: i >= 6, Hits: max(0, i-6) * 3, Misses: i, Entries: 2,
		Bytes: 100 * (i + 1)}
	return it
}

// Alerts returns what stands after the second start.
func Alerts() []profiles.Alert {
	return []profiles.Alert{{ID: "not-finite", Severity: profiles.Critical, Since: time.Duration(7 * Period),
		Iteration: 7, What: "A loss is infinite."}}
}
