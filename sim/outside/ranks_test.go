package outside_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/loop"
	"prismtop/profiles/loop/looptest"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/outside"
)

// train trains ranks in step, the slow one taking more, and follows them.
func train(t *testing.T, world int, each, more time.Duration, slow int) (r *rig, writers []*looptest.Writer, stops []func()) {
	t.Helper()
	folder := t.TempDir()
	r = &rig{over: make(chan struct{})}
	for rank := range world {
		writers = append(writers, looptest.CreateRank(t, folder, 0, rank, world))
	}
	stops = looptest.Ranks(writers, each, more, slow)
	for _, stop := range stops {
		t.Cleanup(stop)
	}
	r.loop = &outside.Loop{Over: r.over, Failure: func() error { return nil }}
	for rank, w := range writers {
		ring, g := greeted(t, w)
		if rank == 0 {
			r.loop.Ring, r.loop.Greeting = ring, g
		} else {
			r.loop.Peers = append(r.loop.Peers, outside.Peer{Ring: ring, Greeting: g})
		}
	}
	shelf, err := outside.Table(r.loop.Greeting)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}})
	if err != nil {
		t.Fatal(err)
	}
	r.events = stream.New(1 << 14)
	if r.Run, err = sim.New(t.Context(), sim.Options{Maker: outside.Maker{Loop: r.loop}, Settings: v, Stream: r.events}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.a = aggregate.New(r.events.Follow(), aggregate.Options{})
	return r, writers, stops
}

// greeted opens the ring of a loop and waits for its greeting.
func greeted(t *testing.T, w *looptest.Writer) (ring *loop.Ring, g *loop.Greeting) {
	t.Helper()
	ring, err := loop.Open(w.Path)
	if err == nil {
		err = loop.Wait(t.Context().Done(), func() (bool, error) { g, err = ring.Greeting(); return g != nil, err })
	}
	if err != nil {
		t.Fatal(err)
	}
	return ring, g
}

// applied returns the step at which each rank answered the newest settings, by the records of its ring.
func applied(t *testing.T, writers []*looptest.Writer) (steps []int64) {
	t.Helper()
	for _, w := range writers {
		b, err := os.ReadFile(w.Path)
		if err != nil {
			t.Fatal(err)
		}
		step := int64(-1)
		for at := 65536; at+576 <= len(b); at += 576 {
			if b[at+8] == byte(loop.Answer) && b[at+48] == byte(loop.Done) {
				step = max(step, int64(b[at+16])|int64(b[at+17])<<8|int64(b[at+18])<<16)
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// What is changed is in force at one step on all ranks.
func TestSettingsChangeOnAllRanksAtOneStep(t *testing.T) {
	r, writers, _ := train(t, 3, time.Millisecond, 0, 0)
	r.next(t)
	for i, value := range []string{"bf16", "off", "bf16"} {
		if err := r.Set("autocast", value); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r.next(t)
		}
		if got := r.a.Tick(time.Now()).Settings.Get("autocast"); got != value {
			t.Fatalf("change %d: autocast = %s", i, got)
		}
		steps := applied(t, writers)
		for _, step := range steps {
			if step != steps[0] || step < 0 {
				t.Errorf("change %d was in force at steps %v", i, steps)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(writers[0].Path), "*agreed*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := r.Set("accumulate", "9"); err != nil {
		t.Fatal(err)
	}
	r.next(t)
}

// The rank that the others wait for is named, and those that wait are not.
func TestTheSlowRankIsNamed(t *testing.T) {
	r, _, _ := train(t, 3, 2*time.Millisecond, 2*time.Millisecond, 1)
	for deadline := time.Now().Add(30 * time.Second); ; {
		r.next(t)
		s := r.a.Tick(time.Now())
		if s.Ranks == nil || s.Ranks.Steps < 128 {
			if time.Now().After(deadline) {
				t.Fatalf("%+v", s.Ranks)
			}
			continue
		}
		v := s.Ranks
		if v.Slow != 1 || v.Excess < 1e6 || v.Low <= 0 || len(v.List) != 3 || v.List[1].Wait > v.List[0].Wait || v.List[0].Wait < 1e6 || v.Phase == "" || v.Phase == "exchange" {
			t.Errorf("%+v", v)
		}
		return
	}
}

// A rank that ends while the others train is told, and settings are locked with that reason.
func TestALostRankLocksSettings(t *testing.T) {
	r, writers, stops := train(t, 2, time.Millisecond, 0, 0)
	for range 5 {
		r.next(t)
	}
	stops[1]()
	writers[1].State(loop.Failed)
	time.Sleep(300 * time.Millisecond)
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(time.Second)
		stops[0]()
		writers[0].State(loop.Failed)
		close(r.over)
	}()
	for {
		_, done, err := r.Next(t.Context())
		if done || err != nil {
			break
		}
	}
	s := r.a.Tick(time.Now())
	var said []string
	for _, l := range s.Log {
		said = append(said, l.Text)
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, "rank 1 failed with an exception") || !strings.Contains(text, "autocast stays off: rank 1 failed") {
		t.Errorf("%s", text)
	}
}

// A comparison is handed over by groups of blocks, of one process and of several: every step that is compared ran under the
// settings that the run says, which the loss shows. At its end the user's choice is in force.
func TestAComparisonIsHandedOver(t *testing.T) {
	for _, world := range []int{1, 2} {
		var r *rig
		if world == 1 {
			r = follow(t, time.Millisecond)
		} else {
			r, _, _ = train(t, world, time.Millisecond, 0, 0)
		}
		r.next(t)
		if err := r.Set("autocast", "bf16"); err != nil {
			t.Fatal(err)
		}
		it := r.next(t)
		change := r.a.Tick(time.Now()).Changes[0]
		if err := r.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: []settings.Assignment{{Key: "autocast", Value: "off"}}, At: change.Iteration}); err != nil {
			t.Fatal(err)
		}
		compared, scheduled := map[string]int{}, 0
		check := func() {
			before := it.Series[0]
			it = r.next(t)
			learnt, want := 1/it.Series[0]-1/before, 1.0
			value := r.a.Tick(time.Now()).Settings.Get("autocast")
			if value == "bf16" {
				want = 0.75
			}
			if it.Flags&profiles.Warmup == 0 {
				compared[value]++
				if math.Abs(learnt-want) > 1e-6 {
					t.Fatalf("%d ranks, iteration %d under %s: %g", world, it.Index, value, learnt)
				}
			}
			if s := r.loop.Ring.Asked(); s != nil && s.Schedule != nil {
				scheduled++
				if s.After["autocast"] != "bf16" || len(s.Schedule.Order) > 4 || world == 1 && s.LeaseMS == 0 {
					t.Fatalf("%+v", s)
				}
			}
		}
		for deadline := time.Now().Add(time.Minute); r.Ablation() == nil || r.Ablation().Running && r.Ablation().Done < 3; {
			if check(); time.Now().After(deadline) {
				t.Fatalf("%d ranks: %+v", world, r.Ablation())
			}
		}
		r.do(t, profiles.StopAblationCommand)
		for range 30 {
			check()
		}
		if compared["off"] < 20 || compared["bf16"] < 20 || scheduled == 0 {
			t.Errorf("%d ranks: compared %v, %d scheduled: %q", world, compared, scheduled, r.Ablation().Ended)
		}
		if got := r.a.Tick(time.Now()).Settings.Get("autocast"); got != "bf16" {
			t.Errorf("autocast = %s at the end", got)
		}
	}
}

// A launcher that starts its workers again, here with one more, is followed: the settings in force are those of before, and the
// pane of ranks shows the new ones.
func TestWorkersThatAreStartedAgainAreFollowed(t *testing.T) {
	r, writers, stops := train(t, 2, time.Millisecond, 0, 0)
	folder, asked := t.TempDir(), 0
	next := &outside.Loop{Over: r.over, Failure: func() error { return nil }}
	var again []*looptest.Writer
	for rank := range 3 {
		again = append(again, looptest.CreateRank(t, folder, 0, rank, 3))
	}
	for _, stop := range looptest.Ranks(again, time.Millisecond, 0, 0) {
		t.Cleanup(stop)
	}
	for rank, w := range again {
		ring, g := greeted(t, w)
		if rank == 0 {
			next.Ring, next.Greeting = ring, g
		} else {
			next.Peers = append(next.Peers, outside.Peer{Ring: ring, Greeting: g})
		}
	}
	r.loop.Again = func(_ context.Context, after *loop.Ring) *outside.Loop {
		if after.Path != writers[0].Path {
			t.Errorf("after %s", after.Path)
		}
		if asked++; asked < 4 { // it takes its time
			return nil
		}
		return next
	}
	r.next(t)
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	it := r.next(t)
	for it.Index < 20 {
		it = r.next(t)
	}
	for rank, w := range writers { // a worker fails, and its launcher ends the other
		stops[rank]()
		w.State(loop.Failed)
	}
	s := r.a.Tick(time.Now())
	for deadline := time.Now().Add(time.Minute); (s.Ranks == nil || s.Ranks.World != 3) && time.Now().Before(deadline); s = r.a.Tick(time.Now()) {
		r.next(t)
	}
	for range 20 {
		r.next(t)
	}
	s = r.a.Tick(time.Now())
	var said []string
	for _, l := range s.Log {
		said = append(said, l.Text)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "3 ranks (2 before)") || strings.Contains(text, "not in force") {
		t.Error(text)
	}
	if s.State == profiles.Failed || s.Ranks == nil || s.Ranks.World != 3 || s.Settings.Get("autocast") != "bf16" {
		t.Errorf("%s, %+v, autocast = %s", s.State, s.Ranks, s.Settings.Get("autocast"))
	}
	if s := r.loop.Ring.Asked(); s == nil || s.Set["autocast"] != "bf16" {
		t.Errorf("asked of the new workers: %+v", s)
	}
	if _, err := os.Stat(writers[0].Path); err == nil {
		t.Error("the ring of the worker that ended is left")
	}
}
