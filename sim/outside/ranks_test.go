package outside_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	r = &rig{over: make(chan struct{})}
	r.loop, writers, stops = ranksOf(t, r.over, world, each, more, slow)
	r.begin(t)
	return r, writers, stops
}

// ranksOf trains ranks in step.
func ranksOf(t *testing.T, over chan struct{}, world int, each, more time.Duration, slow int) (l *outside.Loop, writers []*looptest.Writer, stops []func()) {
	t.Helper()
	folder := t.TempDir()
	for rank := range world {
		writers = append(writers, looptest.CreateRank(t, folder, 0, rank, world))
	}
	stops = looptest.Ranks(writers, each, more, slow)
	for _, stop := range stops {
		t.Cleanup(stop)
	}
	l = &outside.Loop{Over: over, Failure: func() error { return nil }}
	for rank, w := range writers {
		ring, g := greeted(t, w)
		if rank == 0 {
			l.Ring, l.Greeting = ring, g
		} else {
			l.Peers = append(l.Peers, outside.Peer{Ring: ring, Greeting: g})
		}
	}
	return l, writers, stops
}

// begin begins a run of the loop.
func (r *rig) begin(t *testing.T, sets ...string) {
	t.Helper()
	shelf, err := outside.Table(r.loop.Greeting)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	r.events = stream.New(1 << 14)
	if r.Run, err = sim.New(t.Context(), sim.Options{Maker: outside.Maker{Loop: r.loop}, Settings: v, Stream: r.events}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.a = aggregate.New(r.events.Follow(), aggregate.Options{})
}

// log returns the lines of the log so far.
func (r *rig) log() string {
	var said []string
	for _, l := range r.a.Tick(time.Now()).Log {
		said = append(said, l.Text)
	}
	return strings.Join(said, "\n")
}

// until takes iterations until a snapshot fulfils a condition.
func (r *rig) until(t *testing.T, holds func(s *profiles.Snapshot) bool) *profiles.Snapshot {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		s := r.a.Tick(time.Now())
		if holds(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s, %+v\n%s", s.State, s.Ranks, r.log())
		}
		r.next(t)
	}
}

// A launcher may add a rank to a training and take it away again: each time the settings in force are those of before, and the
// pane of ranks, which a training of one rank has not, shows those that are there.
func TestARankJoinsAndLeaves(t *testing.T) {
	r := &rig{over: make(chan struct{})}
	var stops []func()
	var writers []*looptest.Writer
	r.loop, writers, stops = ranksOf(t, r.over, 1, time.Millisecond, 0, 0)
	worlds := []int{2, 1}
	again := func(context.Context, *loop.Ring) (l *outside.Loop) { return nil }
	again = func(_ context.Context, after *loop.Ring) (l *outside.Loop) {
		l, writers, stops = ranksOf(t, r.over, worlds[0], time.Millisecond, 0, 0)
		worlds, l.Again = worlds[1:], again
		return l
	}
	r.loop.Again = again
	r.begin(t)
	r.next(t)
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	r.until(t, func(s *profiles.Snapshot) bool { return s.Settings.Get("autocast") == "bf16" && s.Index > 20 })
	if s := r.a.Tick(time.Now()); s.Run.Ranks > 1 || s.Ranks != nil {
		t.Errorf("one rank: %d, %+v", s.Run.Ranks, s.Ranks)
	}
	for _, world := range slices.Clone(worlds) {
		for i := range stops {
			stops[i]()
			writers[i].State(loop.Failed)
		}
		s := r.until(t, func(s *profiles.Snapshot) bool {
			return s.Ranks != nil && s.Ranks.World == world && s.Ranks.List[0].Step > 20
		})
		asked := r.loop.Ring.Asked()
		if len(s.Ranks.List) != world || s.Run.Ranks != 2 || s.Ranks.Locked != "" || s.Settings.Get("autocast") != "bf16" || asked == nil || asked.Set["autocast"] != "bf16" {
			t.Errorf("%d ranks: %+v, autocast = %s, asked %+v", world, s.Ranks, s.Settings.Get("autocast"), asked)
		}
	}
	if text := r.log(); !strings.Contains(text, "2 ranks (1 before)") || !strings.Contains(text, "1 rank (2 before)") || strings.Contains(text, "not in force") {
		t.Error(text)
	}
}

// What the command line asks for waits where a rank is lost before all agree; the run says what is in force instead, and the
// workers that the launcher starts again have it.
func TestSettingsOfTheStartWaitForALostRank(t *testing.T) {
	r := &rig{over: make(chan struct{})}
	var writers []*looptest.Writer
	var stops []func()
	r.loop, writers, stops = ranksOf(t, r.over, 2, time.Millisecond, 0, 0)
	first := r.loop.Ring.Path
	r.loop.Again = func(_ context.Context, after *loop.Ring) *outside.Loop {
		if after.Path != first {
			return nil
		}
		l, _, _ := ranksOf(t, r.over, 2, time.Millisecond, 0, 0)
		return l
	}
	trained(t, writers[0], 5) // afterwards its rank waits for the other for good
	stops[1]()
	writers[1].State(loop.Failed)
	r.begin(t, "autocast=bf16")
	r.until(t, func(s *profiles.Snapshot) bool { return s.Index > 0 })
	if s := r.a.Tick(time.Now()); s.Settings.Get("autocast") != "off" || !strings.Contains(r.log(), "autocast = bf16: not in force before all ranks agree: rank 1 failed") {
		t.Errorf("%s, iteration %d, autocast = %s:\n%s", s.State, s.Index, s.Settings.Get("autocast"), r.log())
	}
	stops[0]()
	writers[0].State(loop.Failed)
	r.until(t, func(s *profiles.Snapshot) bool { return s.Settings.Get("autocast") == "bf16" })
	if s := r.loop.Ring.Asked(); r.loop.Ring.Path == first || s == nil || s.Set["autocast"] != "bf16" {
		t.Errorf("asked of the new workers: %+v", s)
	}
}

// trained waits until a loop has taken steps.
func trained(t *testing.T, w *looptest.Writer, steps int64) {
	t.Helper()
	ring, _ := greeted(t, w)
	defer ring.Close()
	var rec loop.Record
	err := loop.Wait(t.Context().Done(), func() (bool, error) {
		for rec.Kind != loop.Step || rec.Step < steps {
			if !ring.Next(&rec) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
	r.until(t, func(s *profiles.Snapshot) bool {
		v := s.Ranks
		return v != nil && v.Steps >= 128 && v.Slow == 1 && v.Excess >= 1e6 && v.Low > 0 && len(v.List) == 3 &&
			v.List[1].Wait <= v.List[0].Wait && v.List[0].Wait >= 1e6 && v.Phase != "" && v.Phase != "exchange"
	})
}

// A rank that ends while the others train is told, and settings are locked with that reason.
func TestALostRankLocksSettings(t *testing.T) {
	r, writers, stops := train(t, 2, time.Millisecond, 0, 0)
	for range 5 {
		r.next(t)
	}
	stops[1]()
	writers[1].State(loop.Failed)
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{})
	go func() { // the other rank fails once that was said
		defer close(told)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && !strings.Contains(r.log(), "autocast stays off"); {
			time.Sleep(time.Millisecond)
		}
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
	<-told
	text := r.log()
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
	asked := 0
	next, _, _ := ranksOf(t, r.over, 3, time.Millisecond, 0, 0)
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
