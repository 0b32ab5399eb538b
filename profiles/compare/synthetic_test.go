package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

var quiet = Options{MaxForeign: machine.Quiet}

// phases of the simulated runs, with their medians in milliseconds.
var simulatedPhases = []struct {
	name string
	ms   float64
}{{"forward", 1.8}, {"telescope", 0.9}, {"loss", 0.25}, {"backward", 3.6}, {"optimizer", 1.5}}

// simulation is a run of a machine whose speed swings: by 15 % between two runs and some percent within
// one, steadily, in moods and between two speeds. Phases follow it to different degrees, have moods of
// their own, and differ by half a percent from process to process.
type simulation struct {
	seed       uint64
	iterations int
	slower     map[string]float64 // factor on a phase
	all        float64            // factor on every phase, 0 for 1
	seedOf     int64              // the setting
	distance   string             // the setting, "" for l1
	psnr       float64            // added to PSNR
	fixed      bool               // PSNR follows from the settings
	noise      *rand.Rand         // of the results: the same for the same bits; nil for those of the seed of the setting
	began      time.Duration      // after the others
	layers     bool
	foreign    float64 // share of other programs
	layout     float64 // of the schema; phases then differ by a third of it from process to process
	lacks      int     // one iteration in so many has no loss, 0 for none
	change     int64   // iteration at which the setting rate changes, 0 for never
}

var simulatedTable = settings.NewTable("simulated", nil, settings.Integer("", "seed", "", "", 0, 1e9), settings.Number("", "rate", "", "", 0, 1).Live(),
	settings.Text("", "distance", "", "", "l1", "l2"), settings.IterationLimit("")).As(settings.Roles{Objective: []string{"distance"}})

func simulatedSchema() profiles.Schema {
	s := profiles.Schema{
		Workload: "simulated", Unit: profiles.Unit{One: "sample", Many: "samples"}, Stages: []string{"initialising", "progressive"},
		Kinds:  []profiles.KindInfo{{Name: "initialisation"}, {Name: "samples", Stage: 1, Units: true}},
		Caches: []profiles.CacheInfo{{Name: "masks", Title: "masks"}},
		Series: []profiles.SeriesInfo{
			{Name: "loss", Title: "new", Better: profiles.LessIsBetter, Scale: profiles.Logarithmic, Group: profiles.Losses, Each: true},
			{Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter, Group: profiles.Metrics},
		},
		Memory: []profiles.MemoryInfo{{Name: "weights", Parameters: true}, {Name: "activations"}}, Quality: "psnr_db",
	}
	for _, p := range simulatedPhases {
		s.Phases = append(s.Phases, profiles.PhaseInfo{Name: p.name})
	}
	s.Phases = append(s.Phases, profiles.PhaseInfo{Name: "metrics", Looking: true})
	return s
}

// play sends the run's events to take.
func (m simulation) play(take func(*profiles.Event)) {
	r := rand.New(rand.NewPCG(m.seed, 11))
	began := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(m.began)
	results := m.noise
	if results == nil {
		results = rand.New(rand.NewPCG(uint64(m.seedOf), 5))
	}
	schema := simulatedSchema()
	schema.Layout, schema.Series[1].Fixed = m.layout, m.fixed
	v, err := simulatedTable.Zero().Set("seed", fmt.Sprint(m.seedOf))
	if err == nil {
		v, err = v.Set("distance", cmp.Or(m.distance, "l1"))
	}
	if err != nil {
		panic(err)
	}
	at := int64(0)
	send := func(b profiles.Body) { take(&profiles.Event{At: began.Add(time.Duration(at)), Body: b}) }
	send(&profiles.Begin{Info: profiles.RunInfo{Schema: schema, Object: "moon", Device: "cpu", Kernels: "go"}, Settings: v})
	send(&profiles.StateChange{State: profiles.Running})
	send(&profiles.Memory{Parts: [profiles.MaxMemory]int64{4 << 20, 1 << 20}})
	run := 0.15 * r.NormFloat64() // of the machine
	walk, mood, fast := 0.0, 0.0, false
	layout, own := make([]float64, len(simulatedPhases)), make([]float64, len(simulatedPhases))
	for p := range layout {
		layout[p] = max(0.005, m.layout/3) * r.NormFloat64()
	}
	rough, changes := 0.0, uint32(0)
	var load profiles.Load
	nextLoad := int64(0)
	for i := range int64(m.iterations) {
		walk += 0.0006 * r.NormFloat64()
		mood = 0.98*mood + 0.006*r.NormFloat64()
		if r.Float64() < 0.001 {
			fast = !fast
		}
		speed := run + walk + mood
		if fast {
			speed -= 0.08
		}
		if at >= nextLoad {
			load.Passed += 1
			load.Own += 0.9
			load.Busy += 0.9 + m.foreign
			send(&profiles.Load{Load: load.Load})
			send(&profiles.Resident{RSS: 100 << 20, Peak: 120<<20 + int64(r.IntN(1<<20))})
			nextLoad += 5e8
		}
		if m.change > 0 && i == m.change {
			if v, err = v.Set("rate", "0.5"); err != nil {
				panic(err)
			}
			changes++
			send(&profiles.Changed{Change: profiles.Change{Key: "rate", Before: "0", After: "0.5", Iteration: i}, Settings: v})
			send(&profiles.Memory{Parts: [profiles.MaxMemory]int64{4 << 20, 2 << 20}})
		}
		it := profiles.Iteration{Index: i, Kind: 1, Unit: int32(i / 500), Start: at, Changes: changes, Series: profiles.NoValues()}
		if i < 50 {
			it.Kind, it.Unit = 0, -1
		}
		stall := 0.0
		if r.Float64() < 0.01 {
			stall = 20e6
		}
		for p, phase := range simulatedPhases {
			own[p] = 0.95*own[p] + 0.004*r.NormFloat64()
			follows := 0.9 + 0.05*float64(p)
			ns := phase.ms * 1e6 * math.Exp(follows*speed+layout[p]+own[p]+0.03*r.NormFloat64())
			if f := m.slower[phase.name]; f > 0 {
				ns *= f
			}
			if m.all > 0 {
				ns *= m.all
			}
			it.Phases[p] = int64(ns)
			it.Total += int64(ns)
		}
		it.Total += int64(stall) + 30_000
		rough = 0.9*rough + 0.01*results.NormFloat64()
		if it.Series[0] = math.Exp(-float64(i)/3000 + rough); m.lacks > 0 && i%int64(m.lacks) == 3 {
			it.Series[0] = math.NaN()
		}
		it.Caches[0] = profiles.CacheCounters{Enabled: true, Hits: i - i/500, Misses: 1 + i/500, Bytes: 4096}
		at += it.Total + 50_000
		take(&profiles.Event{Body: &it})
		if i%60 == 59 {
			q := &profiles.Measurement{Iteration: i, Values: profiles.NoValues()}
			q.Values[1] = 20 + m.psnr + float64(i)/2000 + rough
			send(q)
		}
		if m.layers && i%60 == 30 {
			send(&profiles.LayerTimes{Layers: []profiles.Layer{{Name: "layer 1 convT", Nanos: 0.3 * float64(it.Phases[0])}, {Name: "layer 1 convT dW", Phase: 3, Nanos: 0.2 * float64(it.Phases[3])}}})
		}
	}
	send(&profiles.StateChange{State: profiles.Finished})
}

// sample gathers a stretch of the run.
func (m simulation) sample(t *testing.T, name, stretch string) *Sample {
	t.Helper()
	var s Stretch
	if stretch != "" {
		var err error
		if s, err = ParseStretch(stretch); err != nil {
			t.Fatal(err)
		}
	}
	sample := NewSample(Run{Path: name, Name: name, Began: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(m.began), Program: "1.0", Processor: "simulated", Threads: 2}, s, 0)
	m.play(sample.Take)
	if err := sample.End(); err != nil {
		t.Fatal(err)
	}
	return sample
}

// compared compares simulated runs, one a side.
func compared(t *testing.T, runs ...simulation) *Comparison {
	t.Helper()
	var names []string
	var sides [][]*Sample
	for i, m := range runs {
		name := string(rune('A' + i))
		names, sides = append(names, name), append(sides, []*Sample{m.sample(t, name, "")})
	}
	c, err := Compare(names, sides, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rowNamed returns a row.
func rowNamed(t *testing.T, c *Comparison, name string) *Row {
	t.Helper()
	for i := range c.Rows {
		if c.Rows[i].Name == name {
			return &c.Rows[i]
		}
	}
	t.Fatalf("no row %s", name)
	return nil
}

// signed lists the rows with a verdict that something differs, with their words.
func signed(c *Comparison) (all []string) {
	for i := range c.Rows {
		r := &c.Rows[i]
		for k := range r.Against {
			if v := r.Against[k].Verdict; v != Equal && v != InNoise && v != NotComparable {
				d := r.Against[k]
				all = append(all, fmt.Sprintf("%s %s: %.4g and %.4g, %.2f %% [%.2f, %.2f]", r.Name, r.Words(k), r.Values[0].Value, r.Values[k+1].Value, 100*d.Value, 100*d.Low, 100*d.High))
			}
		}
	}
	return all
}
