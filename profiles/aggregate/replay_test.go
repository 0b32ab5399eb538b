package aggregate

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// tape is a Source that forwards a Reader's events and keeps a copy of them.
type tape struct {
	*stream.Reader
	events []profiles.Event
	marks  []tickMark
}

// tickMark is a tick: when it was, and how many events and losses had come by then.
type tickMark struct {
	now     time.Time
	events  int
	dropped int64
}

func (p *tape) Drain(take func(*profiles.Event)) bool {
	return p.Reader.Drain(func(e *profiles.Event) {
		p.keep(e)
		take(e)
	})
}

// keep records an event.
func (p *tape) keep(e *profiles.Event) {
	kept := *e
	if it, ok := e.Body.(*profiles.Iteration); ok {
		copied := *it
		kept.Body = &copied
	}
	p.events = append(p.events, kept)
}

// mark records a tick.
func (p *tape) mark(now time.Time) {
	p.marks = append(p.marks, tickMark{now, len(p.events), p.Dropped()})
}

// replay is a Source of what is on a tape, up to one mark after the other. It can neither
// ask for pictures nor read the machine.
type replay struct {
	*tape
	next, done int // mark to come, events handed over
}

func (p *replay) Drain(take func(*profiles.Event)) (any bool) {
	var it profiles.Iteration // as the only one there is: a source may use it again
	for ; p.done < p.marks[p.next].events; p.done++ {
		e := p.events[p.done]
		if body, ok := e.Body.(*profiles.Iteration); ok {
			it = *body
			e.Body = &it
		}
		take(&e)
		any = true
	}
	return any
}

func (p *replay) Dropped() int64 { return p.marks[p.next].dropped }

// source hides the methods of a Source that are not in it.
type source struct{ profiles.Source }

// Values that differ in one place are recognised as different.
func TestDifferFindsTheDifference(t *testing.T) {
	s := &profiles.Snapshot{Run: prismtest.Info(4), Settings: settingsOf(prism.Settings{}), Clock: profiles.Curve{{Mean: 1}}, Pictures: [profiles.MaxPictures]*profiles.Picture{{Width: 1}}, Series: [profiles.MaxSeries]profiles.SeriesView{{Latest: math.NaN()}}}
	if got := profilestest.Differ(*s, *s); got != "" {
		t.Error(got)
	}
	for want, change := range map[string]func(*profiles.Snapshot){
		".Run.Schema.Kinds[1].Name is first sample and x": func(s *profiles.Snapshot) {
			s.Run.Schema = prism.Schema()
			s.Run.Schema.Kinds[1].Name = "x"
		},
		".Pictures[0].Width is 1 and 2":      func(s *profiles.Snapshot) { s.Pictures[0] = &profiles.Picture{Width: 2} },
		".Series[0].Latest is NaN and 3":     func(s *profiles.Snapshot) { s.Series[0].Latest = 3 },
		".Clock[0].Mean is 1 and 2":          func(s *profiles.Snapshot) { s.Clock = profiles.Curve{{Mean: 2}} },
		".Log has 0 and 1 elements":          func(s *profiles.Snapshot) { s.Log = []profiles.LogLine{{}} },
		".Memory.Memory.Parts[2] is 0 and 1": func(s *profiles.Snapshot) { s.Memory.Parts[2] = 1 },
		fmt.Sprintf(".Settings.values[%d] is  and fp16", slices.Index(prism.Table.Names(), "amp")): func(s *profiles.Snapshot) {
			s.Settings = settingsOf(prism.Settings{AMP: "fp16"})
		},
		".ETAKnown is false and true":              func(s *profiles.Snapshot) { s.ETAKnown = true },
		".Caches[1].CacheCounters.Hits is 0 and 4": func(s *profiles.Snapshot) { s.Caches[1].Hits = 4 },
	} {
		other := *s
		change(&other)
		if got := profilestest.Differ(*s, other); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// recorded is a rig whose aggregator reads through a tape, and what its ticks gave.
type recorded struct {
	*rig
	tape   *tape
	beside *tape // of a second reader, which is read after each tick
	shots  []*profiles.Snapshot
}

func newRecorded(capacity int) *recorded {
	r := &recorded{rig: &rig{now: time.Now()}}
	r.Stream = stream.WithClock(capacity, func() time.Time { return r.now })
	r.loadAt = r.now
	r.tape = &tape{Reader: r.Follow()}
	r.beside = &tape{Reader: r.Follow()}
	r.a = New(r.tape, Options{Load: r.readLoad, Pictures: time.Second, Sensors: everySecond(&r.now, nil)})
	return r
}

// tick takes a snapshot and marks the tick on the tapes.
func (r *recorded) tick() *profiles.Snapshot {
	s := r.rig.tick()
	r.tape.mark(r.now)
	r.beside.Drain(func(*profiles.Event) {})
	r.beside.mark(r.now)
	r.shots = append(r.shots, s)
	if r.PictureWanted() {
		r.Picture(&profiles.Picture{ID: prism.PictureReconstruction, Iteration: r.it.Index, Width: 3})
		r.Answered()
	}
	return s
}

// goOn iterates n times, with a tick after every hundred.
func (r *recorded) goOn(n int) {
	for range n / 100 {
		r.iterate(100)
		r.tick()
	}
}

// stand waits for a number of seconds.
func (r *recorded) stand(seconds int) {
	for range 4 * seconds {
		r.now = r.now.Add(250 * time.Millisecond)
		r.tick()
	}
}

// set changes a setting with the next iteration.
func (r *recorded) set(key, before, after string, v settings.Values, ablation bool) {
	r.Change(profiles.Change{Key: key, Before: before, After: after, Iteration: r.it.Index, Ablation: ablation, At: time.Duration(r.it.Start)}, v)
	r.it.Changes++
}

// live is a run with events of every kind, optionally with an ablation.
func (r *recorded) live(ablation bool) {
	r.tick()
	s := prism.Settings{Seed: 7, Threshold: 1e-3, MeasurementCache: true, Channels: []int{64, 1}}
	r.Log("padded to square")
	r.Begin(prismtest.Info(4), s.Values())
	r.Picture(&profiles.Picture{ID: prism.PictureTruth, Width: 2})
	r.Memory(profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryWeights: 12, prism.MemoryScratch: 3}, Caches: 5})
	r.tick()
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	r.it.Kind, r.it.Unit, r.it.Series[prism.SeriesLossOld] = prism.KindInitialisation, -1, math.NaN()
	r.goOn(300)
	for unit := range int32(4) {
		r.it.Kind, r.it.Unit, r.it.InUnit, r.it.Flags = prism.KindLaterSample, unit, 0, profiles.Warmup
		if unit == 0 {
			r.it.Kind = prism.KindFirstSample
		}
		r.it.Series[prism.SeriesLossOld] = 0.5 / float64(unit+1)
		r.iterate(1)
		r.it.Flags = 0
		c := &r.it.Caches[prism.CacheMeasurement]
		c.Enabled, c.Misses, c.Bytes, c.Entries = true, c.Misses+1, c.Bytes+100, c.Entries+1
		r.goOn(400)
		r.it.Flags = profiles.SkippedStep
		r.iterate(3)
		r.it.Flags = 0
		r.Measure(prismtest.ComparedAll(r.it.Index-1, 20+float64(unit), 0.5, 4))
		r.setOthers(0.3 * float64(unit%2))
		if unit == 1 {
			s.AMP = "bf16"
			r.set("amp", "off", "bf16", s.Values(), false)
			r.set("mask_cache", "true", "false", s.Values(), false)
			r.set("threads", "2", "1", s.Values(), false)
			r.set("threads", "1", "2", s.Values(), false)
		}
		if ablation && unit == 2 {
			r.ablate(s.Values())
		}
		r.goOn(600)
		r.Layers([]profiles.Layer{{Name: "layer 1", Nanos: float64(unit)}}, &profiles.Roofs{GFLOPS: 5})
		m := profiles.Measurement{Iteration: r.it.Index - 1, Unit: unit, Values: profiles.NoValues()}
		m.Values[prism.SeriesCoverage] = 0.1 * float64(unit)
		r.Measure(m)
		r.UnitDone(profiles.UnitResult{Unit: unit, Iterations: 1004, Converged: unit != 2, Values: r.it.Series, Reached: 7e-3, Threshold: 1e-3, Elapsed: time.Second})
	}
	r.Refuse("no room")
	r.State(profiles.Paused, "")
	r.stand(3)
	r.iterate(1) // a single step
	r.stand(1)
	r.Log("news")
	r.stand(2)
	r.State(profiles.Running, "")
	s.Threads = 3
	r.Next(s.Values())
	r.goOn(3000)
	r.stand(6) // a stall
	r.it.Flags, r.it.Series[prism.SeriesLossNew] = profiles.NonFinite, math.Inf(1)
	r.iterate(2)
	r.State(profiles.Failed, "diverged")
	r.stand(2)
	again := prismtest.Info(4)
	again.PriorStarts = 1
	r.Begin(again, s.Values())
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	r.goOn(700)
	r.State(profiles.Finished, "max_iterations = 700")
	r.stand(2)
}

// ablate switches a setting to and fro.
func (r *recorded) ablate(v settings.Values) {
	r.Ablation(&profiles.Ablation{Running: true, Rounds: 2})
	for i := range 4 {
		values := [2]string{"bf16", "off"}
		r.set("amp", values[i%2], values[1-i%2], v, true)
		r.goOn(300)
		r.Ablation(&profiles.Ablation{Running: i < 3, Rounds: 2, Done: i})
	}
}

// follow passes a source to an aggregator that ticks at the marks of a tape, and compares
// its snapshots with the live ones.
func (r *recorded) follow(t *testing.T, p *tape) {
	t.Helper()
	from := &replay{tape: p}
	a := New(source{from}, Options{Load: func() machine.Load { t.Error("a replay read this machine"); return machine.Load{} }, Pictures: time.Second})
	var before *profiles.Snapshot
	for i, m := range p.marks {
		from.next = i
		got := a.Tick(m.now)
		if i > 0 && (got == before) != (r.shots[i] == r.shots[i-1]) {
			t.Fatalf("tick %d of %d: the snapshot before again: %v", i, len(p.marks), got == before)
		}
		before = got
		x, y := *r.shots[i], *got
		x.Own.Aggregator, y.Own.Aggregator = 0, 0
		if d := profilestest.Differ(x, y); d != "" {
			t.Fatalf("tick %d of %d, live and replayed: %s", i, len(p.marks), d)
		}
	}
}

// The events of a run contain everything shown on its screen: replayed at the same ticks,
// they give the same snapshots.
func TestAReplayGivesTheSameSnapshots(t *testing.T) {
	for _, capacity := range []int{8192, 64} { // of 100 iterations some are lost
		r := newRecorded(capacity)
		r.live(true)
		if last := r.shots[len(r.shots)-1]; last.State != profiles.Finished || last.Run.PriorStarts != 1 || (last.Own.Dropped > 0) != (capacity < 100) || last.Ablation == nil {
			t.Fatalf("the run ended as %v with %d lost", last.State, last.Own.Dropped)
		}
		r.follow(t, r.tape)
	}
}

// A second reader besides the screen's gets the same events. Only what others took during
// an ablation may differ, by the reading of the tick in which its newest state came.
func TestASecondReaderRecordsTheSame(t *testing.T) {
	r := newRecorded(8192)
	r.live(false)
	r.follow(t, r.beside)
}
