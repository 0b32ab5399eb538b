package aggregate

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/profiles/watching"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// thinned is a source that reports when its run is thinned.
type thinned struct {
	*stream.Reader
	stream   *stream.Stream
	thinning chan thinning
}

// thinning is a request of Thin, and whether the run was watched once it was in force.
type thinning struct{ dark, watched bool }

// Thin passes the request on and reports it.
func (s thinned) Thin(dark bool, sparse int) {
	s.Reader.Thin(dark, sparse)
	watched, _ := s.stream.Watched()
	select {
	case s.thinning <- thinning{dark, watched}:
	default: // nobody wants to know
	}
}

// endless writes iterations of a millisecond until the test ends, marked as by a run.
func endless(t *testing.T, s *stream.Stream) {
	s.Begin(prismtest.Info(4), settings.Values{})
	s.State(profiles.Running, "")
	over := make(chan struct{})
	var done sync.WaitGroup
	began := time.Now()
	done.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for i := int64(0); ; i++ {
			it := profiles.Iteration{Index: i, Start: int64(time.Since(began)), Total: 9e5, Kind: prism.KindLaterSample}
			if watched, _ := s.Watched(); !watched {
				it.Flags = profiles.Unwatched
			}
			s.Iteration(&it)
			select {
			case <-tick.C:
			case <-over:
				return
			}
		}
	})
	t.Cleanup(func() { close(over); done.Wait() })
}

// measuredRun starts an aggregator of an endless run that measures the cost of watching.
func measuredRun(t *testing.T) (a *Aggregator, requests chan thinning) {
	s := stream.New(8192)
	requests = make(chan thinning, 64)
	a = New(thinned{s.Follow(), s, requests}, Options{Watching: watching.New(watching.Options{})})
	ctx, cancel := context.WithCancel(context.Background())
	go a.Run(ctx, 0)
	endless(t, s)
	t.Cleanup(func() {
		cancel()
		for range a.Snapshots() {
		}
	})
	return a, requests
}

// taken discards snapshots.
func taken(a *Aggregator) {
	select {
	case <-a.Snapshots():
	default:
	}
}

// A running run is unwatched now and then; a user's input ends that with a snapshot at once.
func TestInputEndsADarkBlock(t *testing.T) {
	a, requests := measuredRun(t)
	switch r := <-requests; {
	case !r.dark:
		t.Fatal("watching went on without having stopped")
	case r.watched:
		t.Error("the run is watched in a dark block")
	}
	taken(a)
	a.Attend()
	switch r := <-requests; {
	case r.dark:
		t.Fatal("another block")
	case !r.watched:
		t.Error("the run is not watched after a dark block")
	}
	if s := <-a.Snapshots(); s == nil || !s.Own.Watching.Measured {
		t.Errorf("%+v", s)
	}
}

// Watching can be suspended, which is in force at once, and again after the end.
func TestWatchingIsHeld(t *testing.T) {
	a, requests := measuredRun(t)
	newest := func() (r thinning) {
		for len(requests) > 0 {
			r = <-requests
		}
		return r
	}
	for range 3 {
		a.Hold(true)
		if r := newest(); !r.dark || r.watched {
			t.Errorf("while watching is suspended: %+v", r)
		}
		before := a.Last()
		a.Attend()
		a.Hold(false)
		if r := <-requests; r.dark || !r.watched {
			t.Errorf("afterwards: %+v", r)
		}
		for a.Last() == before {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestHoldAfterTheEndReturns(t *testing.T) {
	a := New(stream.New(16).Follow(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a.Run(ctx, 0)
	a.Hold(true)
}

// Dark blocks are only while the run runs and no other experiment does.
func TestOtherExperimentsAreNotDisturbed(t *testing.T) {
	r := newRig()
	check := func(what string, want bool) {
		t.Helper()
		if r.tick(); r.a.mayCompare() != want {
			t.Errorf("%s: %v", what, !want)
		}
	}
	check("before the run", false)
	r.start()
	check("running", true)
	r.State(profiles.Paused, "")
	check("paused", false)
	r.State(profiles.Running, "")
	check("running again", true)
	r.Ablation(&profiles.Ablation{Running: true})
	check("in an ablation", false)
	r.Ablation(&profiles.Ablation{Ended: "complete"})
	check("after it", true)
	r.Fork(&profiles.Fork{Running: true})
	check("in a fork", false)
	r.Fork(&profiles.Fork{Ended: "complete"})
	check("after it", true)
	r.State(profiles.Finished, "")
	check("over", false)
}

// A change of density is in the log.
func TestThinningIsLogged(t *testing.T) {
	r := newRig()
	w := watching.New(watching.Options{Budget: 0.01})
	r.a.options.Watching = w
	r.start()
	// Dark blocks of 300 iterations, each half as long as watched ones.
	start, total := int64(0), int64(2e6)
	for i := range int64(60_000) {
		it := profiles.Iteration{Index: i, Start: start, Total: total, Kind: prism.KindLaterSample}
		if i%900 >= 600 {
			it.Flags, it.Total = profiles.Unwatched, total/2
		}
		start += it.Total
		r.Iteration(&it)
		if i%4000 == 3999 {
			r.tick()
		}
	}
	s := r.tick()
	if c := s.Own.Watching; !c.Thinned || c.Budget != 0.01 {
		t.Errorf("%+v", c)
	}
	if n := len(s.Log); n == 0 || s.Log[0].Text != "watching costs 50 % [50, 50], budget 1.0 %: 5 frames a second" {
		t.Errorf("log %+v", s.Log)
	}
}

// counted is a source that counts the iterations taken from it.
type counted struct {
	*stream.Reader
	taken *atomic.Int64
}

// Drain hands the events over and counts the iterations among them.
func (s counted) Drain(take func(*profiles.Event)) bool {
	return s.Reader.Drain(func(e *profiles.Event) {
		take(e)
		if _, ok := e.Body.(*profiles.Iteration); ok {
			s.taken.Add(1)
		}
	})
}

// Between two ticks that are far apart events are taken, so that no ring overflows, and what was
// taken is in the next snapshot.
func TestEventsAreTakenBetweenDistantTicks(t *testing.T) {
	s := stream.New(8192)
	source := counted{s.Follow(), new(atomic.Int64)}
	a := New(source, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go a.Run(ctx, time.Hour)
	<-a.Snapshots() // the first, of nothing
	const n = 20_000
	s.Begin(prismtest.Info(4), settings.Values{})
	s.State(profiles.Running, "")
	for i := range int64(n) {
		if i%4096 == 4095 {
			for source.taken.Load() < i-4096 {
				time.Sleep(time.Millisecond)
			}
		}
		s.Iteration(&profiles.Iteration{Index: i, Start: i * 1e6, Total: 1e6})
	}
	s.State(profiles.Paused, "")
	cancel()
	last := (*profiles.Snapshot)(nil)
	for last = range a.Snapshots() {
	}
	if last.Index != n || last.State != profiles.Paused || last.Own.Dropped != 0 {
		t.Errorf("%d iterations, %v, %d lost", last.Index, last.State, last.Own.Dropped)
	}
}
