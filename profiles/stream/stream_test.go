package stream

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

func TestStreamAllocatesNothingPerIteration(t *testing.T) {
	s := New(1024)
	a := aggregate.New(s.Follow(), aggregate.Options{})
	it := profiles.Iteration{Total: 1e6}
	if n := testing.AllocsPerRun(2000, func() {
		s.Iteration(&it)
		if s.PictureWanted() {
			t.Error("nobody asked for a picture")
		}
		it.Index++
	}); n != 0 {
		t.Errorf("%v allocations per iteration", n)
	}
	a.Tick(time.Now())
}

func TestDrainKeepsEventsInTheirPlaceAmongTheIterations(t *testing.T) {
	s := New(16)
	s.Begin(prismtest.Info(4), settings.Values{})
	s.Iteration(&profiles.Iteration{Index: 0})
	s.Iteration(&profiles.Iteration{Index: 1})
	s.Change(profiles.Change{Key: "amp", Iteration: 2}, settings.Values{})
	s.Iteration(&profiles.Iteration{Index: 2})
	r := s.Follow()
	if got, want := drained(r), "begin 0 1 amp 2"; got != want {
		t.Fatalf("events %q, want %q", got, want)
	}
	if r.Drain(func(e *profiles.Event) { t.Errorf("a second Drain found %T", e.Body) }) {
		t.Error("a second Drain found something")
	}
}

func TestSettingsOfAnEventDoNotFollowTheRun(t *testing.T) {
	s := New(2)
	of := prism.Settings{Channels: []int{64, 1}}
	s.Begin(profiles.RunInfo{}, of.Values())
	of.Channels[0] = 7
	if got := aggregate.New(s.Follow(), aggregate.Options{}).Tick(time.Now()).Settings.Get("channels"); got != "64,1" {
		t.Errorf("channels = %s, want 64,1 as they were when the run began", got)
	}
}

// A reader that never drains costs records, not time: everything is accepted or
// counted, and the calls return.
func TestAReaderThatNeverDrainsDoesNotStopTheRun(t *testing.T) {
	s := New(64)
	s.Begin(prismtest.Info(4), settings.Values{})
	const n = 100_000
	for i := range int64(n) {
		s.Iteration(&profiles.Iteration{Index: i, Total: 1e6})
		s.Measure(prismtest.Compared(i, 20))
	}
	s.Change(profiles.Change{Key: "amp", Iteration: n}, settingsOf(prism.Settings{AMP: "bf16"}))
	s.State(profiles.Finished, "")

	const lost = n - 64 + n + 1 + 1 + 1 - maxEvents // Begin, Change and State besides the measurements
	r := s.Follow()
	if got := r.Dropped(); got != lost {
		t.Errorf("dropped %d, want %d", got, lost)
	}
	snap := aggregate.New(r, aggregate.Options{}).Tick(time.Now())
	if snap.State != profiles.Finished || snap.Settings.Text("amp") != "bf16" {
		t.Errorf("state %v, amp %q: how the run ended was lost", snap.State, snap.Settings.Text("amp"))
	}
	if snap.Own.Dropped != lost || snap.Index != 64 {
		t.Errorf("snapshot tells %d dropped and %d iterations, want %d and 64", snap.Own.Dropped, snap.Index, lost)
	}
}

func TestBeginFindsRoomInAFullQueue(t *testing.T) {
	s := New(2)
	for range maxEvents {
		s.Log("again")
	}
	s.Begin(prismtest.Info(4), settings.Values{})
	snap := aggregate.New(s.Follow(), aggregate.Options{}).Tick(time.Now())
	if snap.Run.Object != "moon" || snap.Own.Dropped != maxEvents {
		t.Errorf("object %q, dropped %d", snap.Run.Object, snap.Own.Dropped)
	}
}

func TestPicturesAreMadeOnRequest(t *testing.T) {
	s := New(2)
	a := aggregate.New(s.Follow(), aggregate.Options{Pictures: time.Second})
	now := time.Now()
	a.Tick(now)
	if !s.PictureWanted() {
		t.Fatal("no picture was asked for")
	}
	p := &profiles.Picture{Iteration: 3}
	s.Picture(p)
	if !s.PictureWanted() {
		t.Error("the request was answered before every picture was published")
	}
	s.Answered()
	if s.PictureWanted() {
		t.Error("the request outlived its answer")
	}
	if snap := a.Tick(now.Add(999 * time.Millisecond)); snap.Pictures[prism.PictureReconstruction] != p || s.PictureWanted() {
		t.Errorf("pictures %v, wanted again %v before their time", snap.Pictures, s.PictureWanted())
	}
	if a.Tick(now.Add(time.Second)); !s.PictureWanted() {
		t.Error("no second picture was asked for")
	}
}

// A fast producer with changes, log lines from another goroutine and a reader at
// work: every record is taken in or counted, each under its own settings.
func TestStreamAndAggregatorAgreeWhileBothRun(t *testing.T) {
	const n, every = 40_000, 4_000
	s := New(1024)
	reader := s.Follow()
	a := aggregate.New(reader, aggregate.Options{Pictures: time.Millisecond})
	var run sync.WaitGroup
	run.Go(func() {
		s.Begin(prismtest.Info(3), settings.Values{})
		s.State(profiles.Running, "")
		it := profiles.Iteration{Kind: prism.KindLaterSample, Unit: 1}
		for i := int64(0); i < n; i++ {
			if i%every == 0 && i > 0 {
				it.Changes++
				s.Change(profiles.Change{Key: "threads", After: fmt.Sprint(it.Changes), Iteration: i}, settingsOf(prism.Settings{Threads: int(it.Changes)}))
			}
			it.Index, it.Start = i, i*1000
			it.Total = 1_000_000 * int64(it.Changes+1)
			s.Iteration(&it)
			if s.PictureWanted() {
				s.Picture(&profiles.Picture{Iteration: i})
				s.Answered()
			}
			if i%64 == 0 {
				runtime.Gosched()
			}
		}
		s.State(profiles.Finished, "")
	})
	run.Go(func() {
		for range 50 {
			s.Log("from the screen")
		}
	})
	ended := make(chan struct{})
	go func() { run.Wait(); close(ended) }()

	for {
		snap := a.Tick(time.Now())
		// Under change k every time is k+1 ms: a record under the wrong settings shows.
		if k := len(snap.Changes); snap.Total.N > 0 && snap.Total.P10 != snap.Total.P90 {
			t.Fatalf("after %d changes the window mixes %v and %v ns", k, snap.Total.P10, snap.Total.P90)
		}
		select {
		case <-ended:
		default:
			continue
		}
		snap = a.Tick(time.Now())
		// Changes are joined where the ring dropped every record between them.
		last := ""
		if k := len(snap.Changes); k > 0 {
			last = snap.Changes[k-1].After
		}
		if snap.State != profiles.Finished || len(snap.Changes) > n/every-1 || last != fmt.Sprint(n/every-1) || len(snap.Log) != 50 {
			t.Errorf("state %v, %d changes, the last to %s, %d log lines", snap.State, len(snap.Changes), last, len(snap.Log))
		}
		if got := int64(reader.ring.Read()) + snap.Own.Dropped; got != n {
			t.Errorf("%d records taken in or counted, want %d", got, n)
		}
		return
	}
}

func BenchmarkStreamIteration(b *testing.B) {
	s, it, out := New(8192), profiles.Iteration{}, profiles.Iteration{}
	r := s.Follow()
	b.ReportAllocs()
	for b.Loop() {
		s.Iteration(&it)
		if s.PictureWanted() {
			b.Fatal("nobody asked for a picture")
		}
		r.ring.Pop(&out)
	}
}

// Only the first reader thins the watching of a run.
func TestTheFirstReaderThins(t *testing.T) {
	s := New(16)
	first, second := s.Follow(), s.Follow()
	check := func(what string, watched bool, sparse int) {
		t.Helper()
		if w, n := s.Watched(); w != watched || n != sparse {
			t.Errorf("%s: watched %v, %d times as sparse", what, w, n)
		}
	}
	check("at first", true, 1)
	second.Thin(true, 4)
	check("by the second", true, 1)
	first.Thin(false, 4)
	check("thin", true, 4)
	first.Thin(true, 4)
	check("dark", false, 4)
	first.Thin(false, 0)
	check("full", true, 1)
	if n := testing.AllocsPerRun(100, func() { s.Watched() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
