package stream

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// source hides the methods of a Source that are not in it: no machine is read through it.
type source struct{ profiles.Source }

// settingsOf are the values of a reconstruction's settings.
func settingsOf(s prism.Settings) settings.Values { return s.Values() }

// drained describes a reader's events in a few words.
func drained(r *Reader) string {
	var all []string
	r.Drain(func(e *profiles.Event) { all = append(all, word(e)) })
	return strings.Join(all, " ")
}

// word is an event in a word.
func word(e *profiles.Event) string {
	switch b := e.Body.(type) {
	case *profiles.Iteration:
		return fmt.Sprint(b.Index)
	case *profiles.Begin:
		return "begin"
	case *profiles.Changed:
		return b.Key
	case *profiles.StateChange:
		return b.State.String()
	case *profiles.LogEntry:
		return "log:" + b.Text
	case *profiles.Picture:
		return fmt.Sprintf("picture:%d@%d", b.ID, b.Iteration)
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e.Body), "*profiles."))
}

// run writes the iterations from one index to before another.
func run(s *Stream, from, to int64) {
	for i := from; i < to; i++ {
		s.Iteration(&profiles.Iteration{Index: i, Start: i * 1e6, Total: 1e6, Kind: prism.KindLaterSample})
	}
}

// Each reader has every event in its place, whenever it is read.
func TestEveryReaderGetsEverything(t *testing.T) {
	s := New(64)
	a, b, c := s.Follow(), s.Follow(), s.Follow()
	s.Begin(prismtest.Info(4), settings.Values{})
	s.State(profiles.Running, "")
	run(s, 0, 3)
	if got := drained(a); got != "begin running 0 1 2" {
		t.Errorf("the first has %q", got)
	}
	s.Change(profiles.Change{Key: "amp", Iteration: 3}, settings.Values{})
	run(s, 3, 5)
	s.Measure(prismtest.Compared(4, 20))
	s.Log("news")
	s.UnitDone(profiles.UnitResult{})
	s.Memory(profiles.Memory{Caches: 1})
	s.Memory(profiles.Memory{Caches: 2})
	s.Picture(&profiles.Picture{ID: prism.PictureTruth, Iteration: 4})
	s.Layers(nil, nil)
	s.Ablation(&profiles.Ablation{})
	s.Next(settings.Values{})
	s.State(profiles.Finished, "")
	const later = "amp 3 4 measurement log:news unitresult finished memory layertimes picture:1@4 ablation next"
	if got := drained(a); got != later {
		t.Errorf("the first has %q, want %q", got, later)
	}
	for i, r := range []*Reader{b, c} {
		if got, want := drained(r), "begin running 0 1 2 "+later; got != want {
			t.Errorf("reader %d has %q, want %q", i+1, got, want)
		}
	}
	for i, r := range []*Reader{a, b, c} {
		if got := drained(r); got != "" || r.Dropped() != 0 {
			t.Errorf("reader %d has %q once more, and lost %d", i, got, r.Dropped())
		}
	}
}

// What one reader loses, the others do not, and only it counts it.
func TestASlowReaderLosesAlone(t *testing.T) {
	const n, room = 10_000, 64
	s := New(room)
	fast, slow := s.Follow(), s.Follow()
	a := aggregate.New(source{Source: fast}, aggregate.Options{}) // which reads no machine
	s.Begin(prismtest.Info(4), settings.Values{})
	s.State(profiles.Running, "")
	for i := int64(0); i < n; i += room {
		run(s, i, min(i+room, n))
		for range room {
			s.Measure(prismtest.Compared(i, 20))
		}
		a.Tick(time.Now())
	}
	measured := (n + room - 1) / room * room
	s.State(profiles.Finished, "max_iterations = 10000")
	snap := a.Tick(time.Now())
	if snap.Index != n || snap.State != profiles.Finished || fast.Dropped() != 0 || snap.Own.Dropped != 0 {
		t.Errorf("the fast one has %d iterations, %v, and lost %d", snap.Index, snap.State, fast.Dropped())
	}
	lost := int64(n - room + measured + 3 - maxEvents) // Begin and two states besides the measurements
	if got := slow.Dropped(); got != lost {
		t.Errorf("the slow one lost %d, want %d", got, lost)
	}
	snap = aggregate.New(source{Source: slow}, aggregate.Options{}).Tick(time.Now())
	if snap.Index != room || snap.State != profiles.Finished || snap.EndedBy != "max_iterations = 10000" || snap.Own.Dropped != lost {
		t.Errorf("the slow one has %d iterations, %v by %q, and tells of %d lost", snap.Index, snap.State, snap.EndedBy, snap.Own.Dropped)
	}
}

// A reader that comes late hears how the run stands, and then what happens.
func TestALateReaderBeginsWithHowTheRunStands(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := WithClock(16, func() time.Time { return now })
	first := s.Follow()
	if got := drained(s.Follow()); got != "" {
		t.Errorf("before all: %q", got)
	}
	s.State(profiles.Preparing, "")
	if got := drained(s.Follow()); got != "preparing" {
		t.Errorf("before the run began: %q", got)
	}

	began := now
	s.Begin(prismtest.Info(4), settingsOf(prism.Settings{Seed: 7}))
	s.Log("padded to square")
	s.Memory(profiles.Memory{Caches: 1})
	s.Picture(&profiles.Picture{ID: prism.PictureTruth})
	now = now.Add(time.Second)
	s.State(profiles.Running, "")
	run(s, 0, 5)
	s.Change(profiles.Change{Key: "amp", After: "bf16", Iteration: 5}, settingsOf(prism.Settings{Seed: 7, AMP: "bf16"}))
	run(s, 5, 9)
	s.Memory(profiles.Memory{Caches: 2})
	s.Picture(&profiles.Picture{ID: prism.PictureReconstruction, Iteration: 8})
	s.Picture(&profiles.Picture{ID: prism.PictureReconstruction, Iteration: 9})
	s.Layers([]profiles.Layer{{Name: "layer 1"}}, nil)
	s.Ablation(&profiles.Ablation{Done: 1})
	s.Next(settingsOf(prism.Settings{Threads: 3}))
	first.Report(now, &profiles.Resident{RSS: 5})
	now = now.Add(2 * time.Second)

	late, later := s.Follow(), s.Follow()
	s.Change(profiles.Change{Key: "threads", After: "2", Iteration: 9}, settingsOf(prism.Settings{Seed: 7, AMP: "bf16", Threads: 2}))
	run(s, 9, 11)
	const want = "begin running threads 9 10 memory layertimes picture:0@9 picture:1@0 ablation next resident"
	if got := drained(later); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	snap := aggregate.New(source{Source: late}, aggregate.Options{}).Tick(now)
	if snap.Run.Object != "moon" || snap.Settings.Text("amp") != "bf16" || snap.Settings.Int("threads") != 2 || snap.Settings.Int("seed") != 7 || snap.State != profiles.Running {
		t.Errorf("object %q, settings %+v, state %v", snap.Run.Object, snap.Settings, snap.State)
	}
	if snap.Memory.Memory.Caches != 0 || snap.Memory.RSS != 5 || snap.Picture("truth") == nil || snap.Picture("reconstruction").Iteration != 9 ||
		len(snap.Layers) != 1 || snap.Ablation.Done != 1 || snap.Next.Int("threads") != 3 {
		t.Errorf("memory %+v, pictures %v, layers %v, ablation %v, next %v", snap.Memory, snap.Pictures, snap.Layers, snap.Ablation, snap.Next)
	}
	if snap.Index != 11 || len(snap.Recent) != 2 || snap.Own.Dropped != 0 || snap.Elapsed != 2*time.Second || len(snap.Changes) != 1 {
		t.Errorf("index %d, %d iterations, %d lost, %v, changes %v", snap.Index, len(snap.Recent), snap.Own.Dropped, snap.Elapsed, snap.Changes)
	}
	s.Log("news")
	if got := aggregate.New(source{Source: s.Follow()}, aggregate.Options{}).Tick(now); len(got.Log) != 0 || got.Settings.Int("threads") != 2 {
		t.Errorf("log %v, settings %+v", got.Log, got.Settings)
	}
	s.Log("more")
	var at time.Time
	late.Drain(func(e *profiles.Event) { at = e.At })
	if at.Sub(began) != 3*time.Second {
		t.Errorf("the newest is of %v since the run began", at.Sub(began))
	}

	// Of the run before only what outlives it is heard.
	s.Begin(prismtest.Info(4), settingsOf(prism.Settings{Seed: 8}))
	if got := drained(s.Follow()); got != "begin ablation resident" {
		t.Errorf("after a restart: %q", got)
	}
	s.State(profiles.Failed, "diverged")
	if snap := aggregate.New(source{Source: s.Follow()}, aggregate.Options{}).Tick(now); snap.Err != "diverged" || snap.Settings.Int("seed") != 8 || snap.Next != nil {
		t.Errorf("after a failure: %q, %+v, next %v", snap.Err, snap.Settings, snap.Next)
	}
}

// Units that are trained again after a failure have ended once, for every reader.
func TestUnitsThatAreTrainedAgainEndOnce(t *testing.T) {
	s := New(64)
	early := aggregate.New(source{Source: s.Follow()}, aggregate.Options{})
	s.Begin(prismtest.Info(9), settingsOf(prism.Settings{}))
	s.State(profiles.Running, "")
	for unit := range int32(5) {
		s.UnitDone(profiles.UnitResult{Unit: unit})
	}
	s.Moved(profiles.Moved{Device: "cpu", Failed: "lost", Again: 3})
	late := aggregate.New(source{Source: s.Follow()}, aggregate.Options{})
	s.UnitDone(profiles.UnitResult{Unit: 2, Iterations: 7})
	for name, a := range map[string]*aggregate.Aggregator{"early": early, "late": late} {
		if r := a.Tick(time.Now()).Results; len(r) != 3 || r[1].Unit != 1 || r[2].Unit != 2 || r[2].Iterations != 7 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The settings that a late reader begins with are not those of a reader before it.
func TestALateReadersBeginIsItsOwn(t *testing.T) {
	s := New(16)
	first := s.Follow()
	s.Begin(prismtest.Info(4), settingsOf(prism.Settings{Threads: 1}))
	s.Change(profiles.Change{Key: "threads"}, settingsOf(prism.Settings{Threads: 2}))
	begun := func(r *Reader) (v settings.Values) {
		r.Drain(func(e *profiles.Event) {
			if b, ok := e.Body.(*profiles.Begin); ok {
				v = b.Settings
			}
		})
		return v
	}
	if a, b := begun(s.Follow()).Int("threads"), begun(first).Int("threads"); a != 2 || b != 1 {
		t.Errorf("the late one begins with %d threads, the first with %d; want 2 and 1", a, b)
	}
}

// A reader that was closed gets nothing more, and the others go on.
func TestAClosedReaderGetsNothingMore(t *testing.T) {
	s := New(4)
	a, b := s.Follow(), s.Follow()
	run(s, 0, 2)
	b.Close()
	b.Close() // twice is no harm
	run(s, 2, 9)
	s.Log("news")
	if got := drained(b); got != "0 1" || b.Dropped() != 0 {
		t.Errorf("the closed one has %q and lost %d", got, b.Dropped())
	}
	if got := drained(a); got != "0 1 2 3 log:news" || a.Dropped() != 5 {
		t.Errorf("the other has %q and lost %d", got, a.Dropped())
	}
}

// A reader that comes when all others have left has room as they had.
func TestAReaderAfterAllOthersHasRoom(t *testing.T) {
	s := New(64)
	s.Follow().Close()
	s.Begin(prismtest.Info(4), settings.Values{})
	r := s.Follow()
	run(s, 0, 64)
	a := aggregate.New(source{Source: r}, aggregate.Options{})
	if snap := a.Tick(time.Now()); snap.Index != 64 || r.Dropped() != 0 {
		t.Errorf("%d iterations, %d lost; want 64 and none", snap.Index, r.Dropped())
	}
}

func TestStreamAllocatesNothingPerIterationWithSeveralReaders(t *testing.T) {
	s := New(1024)
	s.Follow()
	for range 3 {
		s.Follow()
	}
	it := profiles.Iteration{Total: 1e6}
	if n := testing.AllocsPerRun(3000, func() { // more than there is room for
		s.Iteration(&it)
		if s.PictureWanted() {
			t.Error("no one asked for a picture")
		}
		it.Index++
	}); n != 0 {
		t.Errorf("%v allocations per iteration", n)
	}
}

// The first reader reports readings of the machine, and each reader gets them
// once.
func TestAReportReachesEveryReaderOnce(t *testing.T) {
	s := New(16)
	a, b := s.Follow(), s.Follow()
	if !a.Reports() || b.Reports() {
		t.Errorf("the first reports: %v, the second: %v", a.Reports(), b.Reports())
	}
	at := time.Unix(1e9, 0)
	a.Report(at, &profiles.Load{Load: machine.Load{Busy: 1}})
	a.Report(at, &profiles.Resident{RSS: 5})
	b.Report(at, &profiles.Load{Load: machine.Load{Busy: 2}})
	b.Report(at, &profiles.Resident{RSS: 6})
	for i, r := range []*Reader{a, b} {
		var heard []string
		r.Drain(func(e *profiles.Event) {
			switch b := e.Body.(type) {
			case *profiles.Load:
				heard = append(heard, fmt.Sprint("load ", b.Busy, e.At.Equal(at)))
			case *profiles.Resident:
				heard = append(heard, fmt.Sprint("resident ", b.RSS, e.At.Equal(at)))
			}
		})
		if got := fmt.Sprint(heard); got != "[load 1 true resident 5 true]" {
			t.Errorf("reader %d heard %s", i, got)
		}
	}
}

// Readers come, read and leave while the loop runs: each has the iterations from its first
// on, in order and under their settings.
func TestReadersComeAndGoWhileTheLoopRuns(t *testing.T) {
	const n, every = 200_000 / profilestest.Slow, 500
	s := New(256)
	watch := s.Follow()
	ended := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(ended)
		s.Begin(prismtest.Info(4), settings.Values{})
		s.State(profiles.Running, "")
		it := profiles.Iteration{Kind: prism.KindLaterSample}
		for i := range int64(n) {
			if i%every == 0 && i > 0 {
				it.Changes++
				s.Change(profiles.Change{Key: "threads", Iteration: i}, settingsOf(prism.Settings{Threads: int(it.Changes)}))
			}
			it.Index, it.Total = i, 3*i
			s.Iteration(&it)
			if i%64 == 0 {
				runtime.Gosched()
			}
		}
		s.State(profiles.Finished, "")
	})
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	all.Go(func() { // as an aggregator
		for !over() {
			watch.Report(time.Now(), &profiles.Load{})
			watch.Drain(func(*profiles.Event) {})
			runtime.Gosched()
		}
	})
	for range 3 {
		all.Go(func() {
			for last := false; !last; {
				last = over()
				r := s.Follow()
				h := hearing{t: t, last: -1}
				for range 50 {
					r.Drain(h.take)
					s.Log("from the screen")
					runtime.Gosched()
				}
				r.Close()
				r.Drain(h.take)
				if last && h.state != profiles.Finished {
					t.Errorf("a reader after the end has the state %v", h.state)
				}
				if h.begins == 0 && h.last >= 0 {
					t.Error("a reader has iterations and no beginning")
				}
			}
		})
	}
	all.Wait()
	if got := len(*s.readers.Load()); got != 1 {
		t.Errorf("%d readers are left, want the first", got)
	}
}

// hearing checks the events of one reader.
type hearing struct {
	t       *testing.T
	begins  int
	threads int
	last    int64
	state   profiles.State
}

func (h *hearing) take(e *profiles.Event) {
	switch b := e.Body.(type) {
	case *profiles.Begin:
		h.begins++
		h.threads = b.Settings.Int("threads")
	case *profiles.Changed:
		h.threads = b.Settings.Int("threads")
	case *profiles.StateChange:
		h.state = b.State
	case *profiles.Iteration:
		if b.Index <= h.last || b.Total != 3*b.Index {
			h.t.Errorf("iteration %d of %d ns after %d", b.Index, b.Total, h.last)
		}
		if h.begins > 0 && h.threads != int(b.Changes) {
			h.t.Errorf("iteration %d under the settings of %d changes, heard of %d", b.Index, b.Changes, h.threads)
		}
		h.last = b.Index
	}
}

// The replication of a change does not replace the table of the ablation before it, also for a reader that comes later,
// nor does an ablation the replication before it.
func TestAReplicationReplacesNoAblation(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := WithClock(16, func() time.Time { return now })
	s.Begin(prismtest.Info(4), settingsOf(prism.Settings{Seed: 7}))
	table := &profiles.Ablation{Ended: "complete", Rows: make([]profiles.AblationRow, 2)}
	replication := &profiles.Ablation{Replication: true, Rows: make([]profiles.AblationRow, 1)}
	for _, order := range [][2]*profiles.Ablation{{table, replication}, {replication, table}} {
		for _, a := range order {
			now = now.Add(time.Second)
			s.Ablation(a)
		}
		snap := aggregate.New(source{Source: s.Follow()}, aggregate.Options{}).Tick(now)
		if snap.Compared == nil || len(snap.Compared.Rows) != 2 || snap.Ablation.Replication != order[1].Replication {
			t.Errorf("compared %+v, newest %+v", snap.Compared, snap.Ablation)
		}
	}
}

// How a comparison ended reaches a reader although the next began before it looked, as a press of another key has it.
func TestTheEndOfAComparisonIsNotLostToTheNext(t *testing.T) {
	s := New(16)
	r := s.Follow()
	s.Ablation(&profiles.Ablation{Replication: true, Of: 1, Running: true})
	s.Ablation(&profiles.Ablation{Replication: true, Of: 1, Ended: "another was changed"})
	s.Ablation(&profiles.Ablation{Replication: true, Of: 2, Running: true})
	var got []string
	r.Drain(func(e *profiles.Event) {
		if a, ok := e.Body.(*profiles.Ablation); ok {
			got = append(got, fmt.Sprint(a.Of, a.Running, " ", a.Ended))
		}
	})
	if want := []string{"1 false another was changed", "2 true "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
