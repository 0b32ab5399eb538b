package attach

import (
	"runtime"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
)

// every attaches to a session, which ends once the screen has caught up, and passes on every snapshot that the screen is offered.
func every(t *testing.T, s *served, o ClientOptions, each func(*profiles.Snapshot)) {
	t.Helper()
	o.Table = tableOf
	c, err := Attach(t.Context(), s.server.path, o)
	if err != nil {
		t.Fatal(err)
	}
	c.offers = make(chan *profiles.Snapshot) // unbuffered: offer's receive finds nothing, and its send waits
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		over := false
		for shot := range c.offers {
			each(shot)
			if !shot.CatchingUp && !over { // the end does not wait for a screen that a busy machine holds up
				over = true
				go s.server.Close("over")
			}
		}
	}()
	if _, err := c.Run(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
}

// A screen that attaches to a long run begins with the settings in force, and never shows others.
func TestAnAttachedScreenNeverShowsThePastAsThePresent(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(30_000)
	s.unit(0)
	s.iterate(30_000)
	s.set("off", "bf16")
	s.Log("mixed precision is on")
	s.iterate(200)
	want := s.tick()
	var shots []*profiles.Snapshot
	every(t, s, ClientOptions{}, func(shot *profiles.Snapshot) { shots = append(shots, shot) })
	if len(shots) < 2 || !shots[0].CatchingUp {
		t.Fatalf("%d snapshots, the first of which is not of a screen that catches up", len(shots))
	}
	for i, shot := range shots {
		if shot.Settings.Get("amp") != "bf16" || shot.Index != want.Index || shot.State != want.State || len(shot.Results) != 1 ||
			shot.Picture("reconstruction") == nil || len(shot.Changes) != 1 || len(shot.Log) != len(want.Log) {
			t.Errorf("snapshot %d: mixed precision %s, iteration %d, %v, %d results, %d changes, %d lines of the log",
				i, shot.Settings.Get("amp"), shot.Index, shot.State, len(shot.Results), len(shot.Changes), len(shot.Log))
		}
	}
	if d := shots[0].Elapsed - want.Elapsed; d != 0 {
		t.Errorf("the first is off by %v", d)
	}
	same(t, "caught up", want, shots[len(shots)-1])
}

// A screen that has only the newest iteration shows no effect and no recent use of a cache, and the changes where
// they were made.
func TestAScreenThatCatchesUpDerivesNothingFromOneIteration(t *testing.T) {
	for _, newest := range []profiles.Flags{0, profiles.Warmup} {
		s := serve(t, journalLimit)
		s.begin()
		s.iterate(17)
		s.change("measurement_cache", "on", "off")
		s.iterate(97)
		s.set("off", "bf16")
		s.iterate(300)
		s.change("measurement_cache", "off", "on")
		s.it.Caches[prism.CacheMasks] = profiles.CacheCounters{Enabled: true, Hits: 880, Misses: 20, Entries: 20, Saved: 64e7, Spent: 1e6, Price: 727e3, PricedBy: 9, Priced: 880, Gross: 64e7}
		s.iterate(8000)
		s.it.Flags = newest
		s.iterate(1)
		want := s.tick()
		var shots []*profiles.Snapshot
		every(t, s, ClientOptions{}, func(shot *profiles.Snapshot) { shots = append(shots, shot) })
		first := shots[0]
		if !first.CatchingUp || len(first.Effects) != 0 {
			t.Errorf("catching up: %t, with the effects %+v", first.CatchingUp, first.Effects)
		}
		if !slices.Equal(first.Changes, want.Changes) || len(want.Changes) != 3 {
			t.Errorf("changes %+v, want %+v", first.Changes, want.Changes)
		}
		if !slices.Equal(first.Log, want.Log) {
			t.Errorf("log %v, want %v", first.Log, want.Log)
		}
		if got := first.Caches[prism.CacheMasks]; got != (profiles.CacheView{CacheCounters: want.Caches[prism.CacheMasks].CacheCounters}) {
			t.Errorf("the cache is %+v", got)
		}
		same(t, "caught up", want, shots[len(shots)-1])
	}
}

// A run without parts to catch up with is shown as it is at once.
func TestAShortRunIsNotCaughtUpWith(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(1000)
	s.tick()
	every(t, s, ClientOptions{}, func(shot *profiles.Snapshot) {
		if shot.CatchingUp {
			t.Error("the screen catches up")
		}
	})
}

// The account of a run gives its state to a screen that has nothing else.
func TestTheAccountOfARunIsItsState(t *testing.T) {
	s := newSource(journalLimit)
	s.begin()
	s.iterate(100)
	s.unit(0)
	s.set("off", "bf16")
	s.iterate(100)
	s.State(profiles.Failed, "diverged")
	want := s.tick()
	p := standing(s.journal.began, s.journal.begun, want, &s.journal.last)
	follow := stream.New(256)
	r := follow.Follow()
	p.Bodies(follow.Put)
	got := aggregate.New(&quiet{r}, aggregate.Options{}).Tick(s.now)
	if got.State != profiles.Failed || got.Err != "diverged" || got.Settings.Get("amp") != "bf16" || len(got.Results) != 1 ||
		got.Memory.Memory != want.Memory.Memory || got.Series[prism.SeriesPSNR].Latest != want.Series[prism.SeriesPSNR].Latest {
		t.Errorf("%v by %q, mixed precision %s, %d results, memory %+v, PSNR %v", got.State, got.Err, got.Settings.Get("amp"), len(got.Results), got.Memory.Memory, got.Series[prism.SeriesPSNR].Latest)
	}
}

// quiet is a source that neither reads the machine nor makes pictures.
type quiet struct{ profiles.Source }

// What a journal keeps of samples beside its packed parts is bounded.
func TestSamplesTakeNoMoreMemoryForEver(t *testing.T) {
	s := newSource(256 << 10)
	s.begin()
	ended := func(until int32) uint64 {
		for s.it.Unit < until {
			s.iterate(1)
			s.Stream.UnitDone(profiles.UnitResult{Unit: s.it.Unit, Iterations: 1, Converged: true, Values: profiles.NoValues()})
			if s.it.Unit++; s.it.Unit%100 == 0 {
				s.tick()
			}
		}
		eventually(t, "parts to be packed", func() bool {
			s.journal.mu.Lock()
			defer s.journal.mu.Unlock()
			for _, p := range s.journal.parts {
				if !p.done {
					return false
				}
			}
			return true
		})
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties pools
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	few, many := ended(10_240), ended(51_200)
	runtime.KeepAlive(s)
	t.Logf("heap %d KB after 10,240 samples, %d KB after 51,200", few>>10, many>>10)
	if many > few+2<<20 {
		t.Errorf("heap %d KB after 10,240 samples, %d KB after 51,200", few>>10, many>>10)
	}
}
