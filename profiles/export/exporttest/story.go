package exporttest

import (
	"math"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// Hostile is a name that means something in HTML, XML, Markdown, JavaScript and to a terminal.
const Hostile = "</script><img src=x onerror=alert(1)>\"'&|`*_[a](http://evil.example/)${x}\x1b[31m\u202e--> ]]>"

// Story is a run of any length, with changes of settings, alerts, layers and pictures, all of whose names
// are hostile where a user or a file gives them.
type Story struct {
	Iterations int64
	Restarted  bool // there is a short start before it
}

// table are the settings of a story.
var table = settings.NewTable("story", nil, settings.Text("", "image", ""), settings.Switch("", "cache", "").Live(),
	settings.Text("", "amp", "", "off", "bf16").Live(), settings.Number("", "rate", "per second", "", 0, 1),
	settings.Integer("", "threads", "", "", 0, 64))

// StorySettings are the settings at the beginning of a story.
func StorySettings() settings.Values {
	v := table.Zero()
	for key, value := range map[string]string{"image": Hostile, "amp": "off", "rate": "0.25"} {
		var err error
		if v, err = v.Set(key, value); err != nil {
			panic(err)
		}
	}
	return v
}

// StorySchema is the schema of a story.
func StorySchema() profiles.Schema {
	return profiles.Schema{
		Workload: "story",
		Unit:     profiles.Unit{One: "sample", Many: "samples"},
		Stages:   []string{"progressive"},
		Kinds:    []profiles.KindInfo{{Name: "samples", Units: true}},
		Phases: []profiles.PhaseInfo{{Name: "forward", What: "the decoder"}, {Name: "telescope"}, {Name: "loss"},
			{Name: "backward", What: "all gradients"}, {Name: "optimizer", What: "Adam"},
			{Name: "metrics " + Hostile, Looking: true}},
		Caches: []profiles.CacheInfo{{Name: "measurement", Title: "measurement", Setting: "cache"}, {Name: "masks", Title: "mask"}},
		Series: []profiles.SeriesInfo{
			{Name: "loss_old", Title: "old", Group: profiles.Losses, Scale: profiles.Logarithmic, Each: true},
			{Name: "loss_new", Title: "new", Group: profiles.Losses, Scale: profiles.Logarithmic, Each: true},
			{Name: "psnr_db", Title: "PSNR", Unit: "dB", Group: profiles.Metrics, Better: profiles.MoreIsBetter, Absent: "never compared"},
			{Name: "ssim", Title: "SSIM", Unit: "0 to 1", Group: profiles.Metrics, Better: profiles.MoreIsBetter, Absent: "never compared"},
		},
		Memory:   []profiles.MemoryInfo{{Name: "weights", Parameters: true}, {Name: "activations"}},
		Pictures: []profiles.PictureInfo{{Name: "reconstruction", Live: true}, {Name: "truth"}},
		Quality:  "psnr_db",
	}
}

// StoryRegular is the mean time of an iteration in nanoseconds before the first change, which saves 30 %
// of it; a few take twelve times as long.
const StoryRegular = 6_000_000

// Tell calls take with the events of the story in order. An event is valid only during the call.
func (s Story) Tell(take func(*profiles.Event)) {
	if s.Restarted {
		Story{Iterations: 40}.start(Began.Add(-time.Hour), 0, take)
		s.start(Began, 1, take)
		return
	}
	s.start(Began, 0, take)
}

// start tells one start.
func (s Story) start(began time.Time, prior int, take func(*profiles.Event)) {
	v := StorySettings()
	put := func(at int64, b profiles.Body) { take(&profiles.Event{At: began.Add(time.Duration(at)), Body: b}) }
	put(0, &profiles.Begin{Info: profiles.RunInfo{Schema: StorySchema(), Object: "moon " + Hostile, Device: "cpu",
		Kernels: "avx512", GPUReason: "no CUDA device",
		Parameters: 1234, Seed: 7, Units: 10, Passes: 1, Notes: []string{"a note " + Hostile}, PriorStarts: prior},
		Settings: v})
	put(0, &profiles.StateChange{State: profiles.Running})
	put(0, &profiles.Memory{Parts: [profiles.MaxMemory]int64{40 << 20, 90 << 20}, Caches: 7})
	put(0, picture(1, 0))
	at, noise := int64(0), uint32(1)
	random := func() float64 { // 0 to 1, the same every time
		noise = noise*1664525 + 1013904223
		return float64(noise>>8) / (1 << 24)
	}
	changes, cache := uint32(0), profiles.CacheCounters{}
	speed := 1.0
	change := func(i int64, key, before, after string) {
		var err error
		if v, err = v.Set(key, after); err != nil {
			panic(err)
		}
		changes++
		put(at, &profiles.Changed{Change: profiles.Change{Key: key, Before: before, After: after, Iteration: i,
			At: time.Duration(at)}, Settings: v})
	}
	for i := range s.Iterations {
		switch i {
		case s.Iterations / 3:
			change(i, "amp", "off", "bf16")
			speed = 0.7
		case s.Iterations / 2:
			put(at, &profiles.Note{Author: "pts/1", Text: "looks better " + Hostile, Iteration: i,
				Written: time.Duration(at)})
		case 2 * s.Iterations / 3:
			change(i, "cache", "false", "true")
		}
		it := profiles.Iteration{Index: i, Unit: int32(i * 10 / s.Iterations), Start: at, Series: profiles.NoValues(),
			Changes: changes}
		if i == 0 || i == s.Iterations/3 || i == 2*s.Iterations/3 {
			it.Flags = profiles.Warmup
		}
		it.Total = int64(StoryRegular * speed * (0.97 + 0.06*random()))
		if i%997 == 500 {
			it.Total *= 12 // something else ran
		}
		for p, share := range []float64{0.25, 0.1, 0.05, 0.42, 0.15} {
			it.Phases[p] = int64(share * float64(it.Total))
		}
		done := float64(i) / float64(s.Iterations)
		it.Series[0], it.Series[1] = 0.3*math.Exp(-5*done)*(0.9+0.2*random()), 0.2*math.Exp(-6*done)*(0.8+0.4*random())
		if cache.Enabled = v.On("cache"); cache.Enabled && i%50 != 0 {
			cache.Hits++
		} else {
			cache.Misses++
		}
		it.Caches[0], it.Caches[1] = cache, profiles.CacheCounters{Enabled: true, Hits: i, Misses: 1, Entries: 1,
			Bytes: 4096}
		take(&profiles.Event{Body: &it})
		at += it.Total + 10_000
		if i%10 == 5 {
			m := &profiles.Measurement{Iteration: i, Unit: it.Unit, Values: profiles.NoValues()}
			m.Values[2], m.Values[3] = 12+14*(1-math.Exp(-4*done)), 0.3+0.5*done
			put(at, m)
		}
		if i%200 == 100 {
			put(at, &profiles.Resident{RSS: 200<<20 + i<<8, Peak: 260 << 20})
			put(at, &profiles.Load{Load: machine.Load{Busy: float64(at) / 1e9, Own: float64(at) / 1e9,
				Passed: 2 * float64(at) / 1e9}})
		}
		if i == s.Iterations/2 {
			put(at, &profiles.LayerTimes{Layers: []profiles.Layer{
				{Name: "layer 1 convT " + Hostile, Phase: 0, Nanos: 900_000, FLOPs: 3e8, Bytes: 4 << 20, Compute: 0.4,
					Memory: 0.2, Judged: true},
				{Name: "layer 1 convT dW", Phase: 3, Nanos: 1_100_000, FLOPs: 3e8, Bytes: 4 << 20}}})
			put(at, picture(0, i))
		}
	}
	put(at, &profiles.UnitResult{Unit: 0, Iterations: int32(min(s.Iterations, 1000)), Converged: true,
		Values: profiles.NoValues(), Loss: "loss_new", Threshold: 0.02, Reached: 0.01})
	put(at, &profiles.StateChange{State: profiles.Finished,
		Why: "max_iterations = " + strconv.FormatInt(s.Iterations, 10)})
}

// picture returns a picture of the story.
func picture(id int, iteration int64) *profiles.Picture {
	p := &profiles.Picture{ID: id, Iteration: iteration, Width: 64, Height: 64}
	for i := range 64 * 64 {
		x, y := float64(i%64-32), float64(i/64-32)
		p.Pixels = append(p.Pixels, float32(max(0, 1-math.Hypot(x, y)/(28+float64(4*id)))))
	}
	return p
}

// Follower is what a story is told to.
type Follower interface {
	Take(*profiles.Event)
	See(*profiles.Snapshot)
}

// Follow tells the story to a follower, with the snapshots of an aggregator.
func (s Story) Follow(to Follower) {
	f := &feed{}
	a := aggregate.New(f, aggregate.Options{})
	began, at := Began, time.Duration(0)
	tick := func() {
		shown := *a.Tick(began.Add(at))
		if n := shown.Index; n > s.Iterations/2 && n <= s.Iterations*3/4 {
			shown.Alerts = append(shown.Alerts, profiles.Alert{ID: "told", Severity: profiles.Warning,
				Iteration: s.Iterations / 2, What: "What " + Hostile, Try: "Try that {switch amp}."})
		}
		to.See(&shown)
	}
	begun := false
	s.Tell(func(e *profiles.Event) {
		if _, ok := e.Body.(*profiles.Begin); ok {
			if begun { // the end of the start before it
				tick()
			}
			begun = true
		}
		to.Take(e)
		f.put(e)
		if it, ok := e.Body.(*profiles.Iteration); ok {
			if at = time.Duration(it.Start); it.Index%500 == 499 {
				tick()
			}
			return
		}
		if _, ok := e.Body.(*profiles.Begin); ok {
			began, at = e.At, 0
		}
		at = max(at, e.At.Sub(began))
	})
	tick()
}

// feed is a source of events that are put into it.
type feed struct {
	events []profiles.Event
}

func (f *feed) put(e *profiles.Event) {
	kept := *e
	if it, ok := e.Body.(*profiles.Iteration); ok {
		copied := *it
		kept.Body = &copied
	}
	f.events = append(f.events, kept)
}

// Drain calls take with the events.
func (f *feed) Drain(take func(*profiles.Event)) bool {
	for i := range f.events {
		take(&f.events[i])
	}
	some := len(f.events) > 0
	f.events = f.events[:0]
	return some
}

// Dropped returns 0.
func (*feed) Dropped() int64 { return 0 }
