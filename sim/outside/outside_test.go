package outside_test

import (
	"context"
	"errors"
	"math"
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
	"prismtop/sim/workload"
)

// rig is a run of a loop that looptest trains.
type rig struct {
	*sim.Run
	w    *looptest.Writer
	stop func()
	over chan struct{}
	a    *aggregate.Aggregator
	loop *outside.Loop

	events *stream.Stream
}

// follow begins a run of a loop whose steps take each.
func follow(t *testing.T, each time.Duration, sets ...string) *rig {
	t.Helper()
	return followAs(t, looptest.Greeting, each, sets...)
}

// followAs is follow for a loop with a greeting.
func followAs(t *testing.T, greeting string, each time.Duration, sets ...string) *rig {
	t.Helper()
	return followAfter(t, 0, greeting, each, sets...)
}

// followAfter is followAs for a loop that has written some records when it is found.
func followAfter(t *testing.T, records uint64, greeting string, each time.Duration, sets ...string) *rig {
	t.Helper()
	r := &rig{w: looptest.Create(t, t.TempDir(), 0), over: make(chan struct{})}
	r.stop = looptest.TrainAs(r.w, greeting, each)
	t.Cleanup(r.stop)
	ring, err := loop.Open(r.w.Path)
	if err != nil {
		t.Fatal(err)
	}
	var g *loop.Greeting
	if err := loop.Wait(nil, func() (bool, error) { g, err = ring.Greeting(); return g != nil, err }); err != nil {
		t.Fatal(err)
	}
	_ = loop.Wait(nil, func() (bool, error) { return ring.Written() >= records, nil })
	r.loop = &outside.Loop{Ring: ring, Greeting: g, Over: r.over, Failure: func() error { return nil }}
	shelf, err := outside.Table(g)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	events := stream.New(1 << 14)
	if r.Run, err = sim.New(t.Context(), sim.Options{Maker: outside.Maker{Loop: r.loop}, Settings: v, Stream: events}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.events = events
	r.a = aggregate.New(events.Follow(), aggregate.Options{})
	return r
}

// do asks for a command.
func (r *rig) do(t *testing.T, kind profiles.CommandKind) {
	t.Helper()
	if err := r.Do(profiles.Command{Kind: kind}); err != nil {
		t.Fatal(err)
	}
}

// next returns the next iteration.
func (r *rig) next(t *testing.T) *profiles.Iteration {
	t.Helper()
	it, done, err := r.Next(t.Context())
	if err != nil || done {
		t.Fatalf("done %t, %v", done, err)
	}
	return it
}

// A loop that is watched no more has not finished: its run was stopped, whose program goes on.
func TestALoopThatIsWatchedNoMoreIsNotFinished(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	r.stop()
	r.w.State(loop.Unpatched)
	r.Start(t.Context())
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if s := r.a.Tick(time.Now()); s.State != profiles.Stopped || !r.loop.Unwatched {
		t.Errorf("the run is %s; unwatched %t", s.State, r.loop.Unwatched)
	}
}

// Steps that were over before the run was there have their times: none begins with another.
func TestStepsBeforeTheRunHaveTheirTimes(t *testing.T) {
	r := followAfter(t, 5, looptest.Greeting, 2*time.Millisecond, "autocast=bf16")
	before := int64(-1)
	for i := range 20 {
		it := r.next(t)
		if it.Start < 0 || i > 0 && it.Start < before+1e6 {
			t.Errorf("step %d began at %d, the one before it at %d", i, it.Start, before)
		}
		before = it.Start
	}
}

// A limit of time ends a run within a step that takes longer, such as one that hangs.
func TestALimitOfTimeEndsARunWithinAStep(t *testing.T) {
	r := follow(t, time.Millisecond, "max_seconds=0.2")
	r.next(t)
	r.stop() // no other step ends
	r.Start(t.Context())
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if s := r.a.Tick(time.Now()); s.State != profiles.Finished || s.EndedBy != "max_seconds = 0.2" {
		t.Errorf("the run is %s by %q", s.State, s.EndedBy)
	}
}

// The steps of a loop are the iterations of a run: their times are the loop's, and settings are in force from the step on
// that the loop says.
func TestALoopIsARun(t *testing.T) {
	r := follow(t, 3*time.Millisecond)
	for i := range int64(25) {
		it := r.next(t)
		sum := int64(0)
		for _, ns := range it.Phases {
			sum += ns
		}
		if it.Index != i || it.Total < 3e6 || sum != it.Total || it.Unit != int32(i/10) || it.InUnit != int32(i%10) || it.Series[0] != 1/float64(i+1) || it.Start < 0 {
			t.Fatalf("%+v", it)
		}
		if evaluated := i%10 == 0 && i > 0; (it.Kind == 1) != evaluated {
			t.Errorf("step %d is of kind %d", i, it.Kind)
		}
	}
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		r.next(t)
	}
	s := r.a.Tick(time.Now())
	if s.Settings.Get("autocast") != "bf16" || len(s.Changes) != 1 || len(s.Results) != 3 || s.Results[0].Iterations != 10 {
		t.Errorf("autocast = %s, %d changes, %+v", s.Settings.Get("autocast"), len(s.Changes), s.Results)
	}
	if s.Run.Device != "cpu" || s.Run.Parameters != 1234 || !s.Run.Prints || s.Run.Object != "train.py" {
		t.Errorf("%+v", s.Run)
	}
	r.stop()
	close(r.over)
	for {
		_, done, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
	}
	if s := r.a.Tick(time.Now()); s.EndedBy != "" {
		t.Errorf("ended by %q", s.EndedBy)
	}
}

// What a cache of a loop saved has an interval by the rule of the engine's caches: none before five computations.
func TestTheSavingOfALoopsCacheHasAnInterval(t *testing.T) {
	for _, costs := range [][]int64{{100}, {100, 140, 90, 110, 95}} {
		r := followAs(t, strings.Replace(looptest.Greeting, `"memory": [`, `"caches": [{"name": "masks", "title": "masks", "setting": "gc"}], "memory": [`, 1), time.Millisecond)
		last := r.next(t)
		r.stop()
		saved := int64(20*100 - 60)
		r.w.Cache(loop.CacheCounters{Hits: 20, Misses: int64(len(costs)), Saved: saved, Lookups: 60}, 200, costs...)
		r.w.Step(looptest.Step{Step: 1 << 20, Start: loop.Now(), Host: []int64{1000}})
		for it := last; it.Caches[0].Hits == 0; it = r.next(t) {
			last = it
		}
		got := r.a.Tick(time.Now()).Caches[0].Total()
		enough := len(costs) >= profiles.PriceLeast
		if got.Value != float64(saved) || got.Bounded != enough || enough && !(got.Low < got.Value && got.Value < got.High) {
			t.Errorf("%d computations: %+v", len(costs), got)
		}
	}
}

// What is logged after the last step, such as an accuracy, is the run's newest value: no other step brings it.
func TestWhatIsLoggedAfterTheLastStepIsKept(t *testing.T) {
	for _, epochs := range []bool{true, false} {
		r := followAs(t, strings.Replace(looptest.Greeting, `"each": true}]`, `"each": true}, {"name": "val_acc", "title": "val_acc", "better": "more", "group": "metrics"}]`, 1), time.Second)
		last := r.next(t)
		r.stop()
		if epochs {
			r.w.EndEpoch(last.Index, last.Unit, last.InUnit+1, math.NaN(), 0.75)
		} else {
			r.w.EndEpoch(last.Index, -1, 0, math.NaN(), 0.75)
		}
		close(r.over)
		for done := false; !done; {
			it, over, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if done = over; it != nil {
				last = it
			}
		}
		s := r.a.Tick(time.Now())
		if v := s.Series[1]; !v.Has || v.Latest != 0.75 {
			t.Errorf("epochs %t, after iteration %d: %+v", epochs, last.Index, v)
		}
		if n := len(s.Results); epochs != (n > 0 && s.Results[n-1].Values[1] == 0.75) {
			t.Errorf("epochs %t: %+v", epochs, s.Results)
		}
	}
}

// What the greeting says that a loop refuses is refused at once; a knob that cannot be switched says why.
func TestWhatALoopRefuses(t *testing.T) {
	r := follow(t, time.Millisecond)
	for key, want := range map[[2]string]string{
		{"autocast", "fp16"}:   "no enabled GradScaler",
		{"autocast", "fp8"}:    "must be one of off, bf16, fp16",
		{"accumulate", "65"}:   "from 1 to 64",
		{"learning_rate", "1"}: `unknown setting "learning_rate": must be autocast, `,
	} {
		if err := r.Set(key[0], key[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %s: %v", key[0], key[1], err)
		}
	}
	if compile, has := r.a.Tick(time.Now()).Settings.Table().Lookup("compile"); !has || compile.Live || compile.Fixed != "no C++ compiler" {
		t.Errorf("%+v", compile)
	}
}

// A loop that pauses waits at its boundary, and goes on.
func TestALoopPauses(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r.Start(ctx)
	r.do(t, profiles.PauseCommand)
	eventually(t, "the loop to wait", r.w.Waits)
	paused := r.loop.Ring.Written()
	time.Sleep(50 * time.Millisecond)
	if now := r.loop.Ring.Written(); now != paused {
		t.Errorf("%d records while it pauses", now-paused)
	}
	r.do(t, profiles.ResumeCommand)
	eventually(t, "the loop to go on", func() bool { return r.loop.Ring.Written() > paused })
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// How a program ended is how its run ended.
func TestAFailedProgramFailsTheRun(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	r.loop.Failure = func() error { return errors.New("train.py ended with exit status 3") }
	r.stop()
	r.w.State(loop.Failed)
	close(r.over)
	for {
		_, done, err := r.Next(t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), "exit status 3") {
				t.Errorf("%v", err)
			}
			return
		}
		if done {
			t.Fatal("it ended well")
		}
	}
}

// A loop that waits takes single steps.
func TestALoopTakesSingleSteps(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r.Start(ctx)
	r.do(t, profiles.PauseCommand)
	var s *profiles.Snapshot
	eventually(t, "a pause", func() bool { s = r.a.Tick(time.Now()); return s.State == profiles.Paused && r.w.Waits() })
	before := s.Index
	for i := range int64(3) {
		written := r.loop.Ring.Written()
		r.do(t, profiles.StepCommand)
		eventually(t, "a step", func() bool { s = r.a.Tick(time.Now()); return s.Index > before+i })
		if r.loop.Ring.Written() == written {
			t.Errorf("step %d was taken before the pause", i+1)
		}
		if s.Index != before+i+1 || s.State != profiles.Paused {
			t.Fatalf("after %d steps, %d became %d, %s", i+1, before, s.Index, s.State)
		}
	}
	eventually(t, "the loop to wait again", r.w.Waits)
	r.do(t, profiles.ResumeCommand)
	eventually(t, "the loop to go on", func() bool { return r.a.Tick(time.Now()).Index >= before+20 })
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
}

// A fork compares the loss after the same batches under both values, and the loop goes on from where it was. Where the
// loop cannot go back, its reason is the answer.
func TestALoopForks(t *testing.T) {
	r := followAs(t, strings.Replace(looptest.Greeting, `"fork": "no DataLoader"`, `"fork": ""`, 1), time.Millisecond)
	r.next(t)
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	var it *profiles.Iteration
	for range 20 {
		it = r.next(t)
	}
	change := r.a.Tick(time.Now()).Changes[0]
	if err := r.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "autocast", Value: "off"}}, At: change.Iteration}); err != nil {
		t.Fatal(err)
	}
	ended := ""
	for ended == "" {
		before := it.Series[0]
		if it = r.next(t); it.Series[0] > before || 1/it.Series[0] > 1/before+1.01 {
			t.Fatalf("after a loss of 1/%g comes one of 1/%g", 1/before, 1/it.Series[0])
		}
		for _, e := range r.a.Tick(time.Now()).Effects {
			if f := e.Fork; f != nil && !f.Running {
				ended = f.Ended
				if row := f.Rows[0]; f.Done != profiles.ForkCount || row.Difference <= 0 || row.Low <= 0 {
					t.Errorf("%+v", f)
				}
			}
		}
	}
	if ended != "complete" || it.Index > 20+profiles.ForkArm*(profiles.ForkCount+1) {
		t.Errorf("%s after iteration %d", ended, it.Index)
	}

	other := follow(t, time.Millisecond)
	other.next(t)
	if err := other.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	other.next(t)
	_ = other.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "autocast", Value: "off"}}})
	other.next(t)
	log := other.a.Tick(time.Now()).Log
	if !slices.ContainsFunc(log, func(l profiles.LogLine) bool { return l.Text == "not forked: no DataLoader" }) {
		t.Errorf("%+v", log)
	}
}

// A loop that is paused stays so after a pair of arms, and after an attempt at one.
func TestAForkOfAPausedLoopLeavesItPaused(t *testing.T) {
	for _, way := range []bool{false, true} {
		r := followAs(t, strings.Replace(looptest.Greeting, `"fork": "no DataLoader"`, `"fork": ""`, 1), time.Millisecond)
		r.w.OneWay.Store(way)
		r.next(t)
		if err := r.Set("autocast", "bf16"); err != nil {
			t.Fatal(err)
		}
		r.next(t)
		ctx, end := context.WithCancel(t.Context())
		r.Start(ctx)
		r.do(t, profiles.PauseCommand)
		var s *profiles.Snapshot
		eventually(t, "a pause", func() bool { s = r.a.Tick(time.Now()); return s.State == profiles.Paused && r.w.Waits() })
		if err := r.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "autocast", Value: "off"}}, At: s.Changes[0].Iteration}); err != nil {
			t.Fatal(err)
		}
		before := s.Index
		for i := range int64(3) {
			r.do(t, profiles.StepCommand)
			eventually(t, "a step", func() bool { s = r.a.Tick(time.Now()); return s.Index > before+i })
			eventually(t, "the loop to wait again", r.w.Waits)
			if s.Index != before+i+1 || s.State != profiles.Paused {
				t.Fatalf("after %d steps, %d became %d, %s", i+1, before, s.Index, s.State)
			}
		}
		end()
		_ = r.Wait()
	}
}

// A loop that cannot go back to the state that it kept ends the fork, and is watched on.
func TestALoopThatCannotGoBackIsWatchedOn(t *testing.T) {
	r := followAs(t, strings.Replace(looptest.Greeting, `"fork": "no DataLoader"`, `"fork": ""`, 1), time.Millisecond)
	r.next(t)
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	r.next(t)
	r.w.OneWay.Store(true)
	if err := r.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "autocast", Value: "off"}}, At: r.a.Tick(time.Now()).Changes[0].Iteration}); err != nil {
		t.Fatal(err)
	}
	const why = "the loop cannot go back: its epoch is over, and the batches with it"
	for ended := ""; ended != why; {
		r.next(t)
		for _, e := range r.a.Tick(time.Now()).Effects {
			if f := e.Fork; f != nil && !f.Running {
				ended = f.Ended
			}
		}
		if ended != "" && ended != why {
			t.Fatal(ended)
		}
	}
	for range 50 {
		r.next(t)
	}
	if s := r.a.Tick(time.Now()); s.Settings.Get("autocast") != "bf16" {
		t.Errorf("autocast is %s", s.Settings.Get("autocast"))
	}
}

// Where a knob works by the patches, so that these cannot be left out for a moment, others are switched all the same.
func TestSettingsAreInForceAlthoughThePatchesStay(t *testing.T) {
	w := looptest.Create(t, t.TempDir(), 0)
	t.Cleanup(looptest.Train(w, time.Millisecond))
	ring, err := loop.Open(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	l := &outside.Loop{Ring: ring}
	err = loop.Wait(t.Context().Done(), func() (bool, error) {
		l.Greeting, err = ring.Greeting()
		return l.Greeting != nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	shelf, err := outside.Table(l.Greeting)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}, Sets: []string{"autocast=bf16"}})
	if err != nil {
		t.Fatal(err)
	}
	maker := outside.Maker{Loop: l}
	in, _ := maker.Load(t.Context(), v)
	task, err := maker.New(t.Context(), v, in)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	for i := range 20 {
		it := profiles.Iteration{Flags: profiles.Unwatched}
		if _, err := task.Iterate(t.Context(), &it); err != nil || it.Flags&profiles.Unphased != 0 {
			t.Fatalf("%v, flags %b", err, it.Flags)
		}
		off, err := v.Set("autocast", "off")
		if err != nil {
			t.Fatal(err)
		}
		if err := task.(workload.Scheduler).Plan(t.Context(), []profiles.Block{{Settings: off, Warm: 1, Length: 2}, {Settings: v, Warm: 1, Length: 2}}, v); err != nil {
			t.Fatal("blocks: ", err)
		}
		if err := task.(workload.Scheduler).Plan(t.Context(), nil, v); err != nil {
			t.Fatal(err)
		}
		if v, err = v.Set("gc", map[bool]string{true: "true", false: "false"}[i%2 == 1]); err != nil {
			t.Fatal(err)
		}
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
}

// Toggles that come faster than steps do not hold the steps back.
func TestStepsGoOnBesideManyToggles(t *testing.T) {
	r := follow(t, 10*time.Millisecond)
	r.next(t)
	const toggles = 100
	for i := range toggles {
		if err := r.Set("gc", map[bool]string{true: "true", false: "false"}[i%2 == 1]); err != nil {
			t.Fatal(err)
		}
	}
	it := r.next(t)
	if it.Changes == 0 || it.Changes > toggles/2 {
		t.Errorf("the step after %d toggles is under %d of them", toggles, it.Changes)
	}
	for it.Changes < toggles {
		it = r.next(t)
	}
}

// The end of an epoch that is read while an answer is awaited comes after the epoch's last step.
func TestAnEpochEndsAfterItsLastStep(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	r.stop()
	r.w.State(loop.Training)
	_, _ = r.w.Settings()
	if err := r.Set("autocast", "bf16"); err != nil {
		t.Fatal(err)
	}
	go func() {
		var generation uint32
		for s := (*loop.Settings)(nil); s == nil || s.Set["autocast"] != "bf16"; generation, s = r.w.Settings() {
			time.Sleep(time.Millisecond)
		}
		for i := range int64(5) {
			r.w.Step(looptest.Step{Step: 1000 + i, Unit: 100, InUnit: int32(5 + i), Start: loop.Now(), Host: []int64{1000}, Series: []float64{float64(i)}})
		}
		r.w.EndEpoch(1004, 100, 10)
		r.w.Step(looptest.Step{Step: 1005, Unit: 101, Start: loop.Now(), Host: []int64{1000}, Series: []float64{5}})
		r.w.Answer(1006, generation, loop.Done, "")
		r.w.Step(looptest.Step{Step: 1006, Unit: 101, InUnit: 1, Start: loop.Now(), Host: []int64{1000}, Series: []float64{6}})
	}()
	for r.next(t).Series[0] != 6 {
	}
	results := r.a.Tick(time.Now()).Results
	if last := results[len(results)-1]; last.Unit != 100 || last.Values[0] != 4 {
		t.Errorf("the epoch ended with %+v", last)
	}
}

// What was measured of an earlier step only once the loop was over, such as its last picture, is of that step; also where
// the program failed.
func TestWhatIsMeasuredAtTheEndIsOfItsStep(t *testing.T) {
	for _, failure := range []error{nil, errors.New("train.py ended with exit status 3")} {
		r := followAs(t, strings.Replace(looptest.Greeting, `"each": true}]`, `"each": true}, {"name": "psnr_db", "better": "more", "group": "metrics"}, `+
			`{"name": "val_acc", "better": "more", "group": "metrics"}]`, 1), time.Millisecond)
		r.next(t)
		r.loop.Failure = func() error { return failure }
		r.stop()
		last := int64(5000)
		r.w.Step(looptest.Step{Step: last, Start: loop.Now(), Host: []int64{1000}, Series: []float64{0.5}})
		r.w.EndEpoch(last-1, -1, 0, math.NaN(), 58)
		r.w.EndEpoch(last, -1, 0, math.NaN(), math.NaN(), 0.75)
		if failure != nil {
			r.w.State(loop.Failed)
		}
		close(r.over)
		var err error
		for done := false; !done && err == nil; {
			_, done, err = r.Next(t.Context())
		}
		if (err != nil) != (failure != nil) {
			t.Fatal(err)
		}
		s := r.a.Tick(time.Now())
		if p, a := s.Series[1], s.Series[2]; p.Latest != 58 || p.Iteration != s.Index-2 || a.Latest != 0.75 || a.Iteration != s.Index-1 {
			t.Errorf("failed: %v, after %d iterations: %+v, %+v", failure, s.Index, p, a)
		}
	}
}

// What was logged after a step is of that step, and what was logged after an epoch of its last one, though both come with the next
// step.
func TestWhatIsLoggedAfterAStepIsOfThatStep(t *testing.T) {
	r := followAs(t, strings.Replace(looptest.Greeting, `"each": true}]`, `"each": true}, {"name": "psnr_db", "better": "more", "group": "metrics"}, `+
		`{"name": "val_acc", "better": "more", "group": "metrics"}]`, 1), time.Millisecond)
	r.next(t)
	r.stop()
	step := func(n int64, unit int32) {
		r.w.Step(looptest.Step{Step: n, Unit: unit, Start: loop.Now(), Host: []int64{1000}, Series: []float64{float64(n)}})
	}
	step(5000, 7)
	r.w.EndEpoch(5000, -1, 0, math.NaN(), 58)
	step(5001, 7)
	r.w.EndEpoch(5001, 7, 10, math.NaN(), math.NaN(), 0.75)
	step(5002, 8)
	index := map[float64]int64{}
	for index[5002] == 0 {
		it := r.next(t)
		index[it.Series[0]] = it.Index
	}
	s := r.a.Tick(time.Now())
	if p, a := s.Series[1], s.Series[2]; p.Latest != 58 || p.Iteration != index[5000] || a.Latest != 0.75 || a.Iteration != index[5001] {
		t.Errorf("logged after the iterations %d and %d: %+v, %+v", index[5000], index[5001], p, a)
	}
}

// What a loop declares late, in a greeting right after the first step that has it, is measured from that step on: also by
// those who begin to watch afterwards.
func TestALoopMeasuresMoreLater(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	r.stop()
	r.w.State(loop.Training)
	grown := strings.Replace(looptest.Greeting, `"each": true}]`, `"each": true}, {"name": "val_acc", "title": "val_acc", "better": "more", "group": "metrics"}]`, 1)
	grown = strings.Replace(grown, `"everything else"}]`, `"everything else"}, {"name": "evaluating", "tier": "declared"}]`, 1)
	grown = strings.Replace(grown, `"able"`, `"quality": "val_acc", "able"`, 1)
	r.w.Step(looptest.Step{Step: 1000, Start: loop.Now(), Host: []int64{1e6, 1e6, 1e6, 1e6, 1e6, 5e6}, Series: []float64{0.5, 0.25}})
	time.AfterFunc(10*time.Millisecond, func() { r.w.Greet(grown) })
	for r.next(t).Phases[5] == 0 {
	}
	s := r.a.Tick(time.Now())
	if i := s.Run.Schema.SeriesNamed("val_acc"); i != 1 || !s.Series[i].Has || s.Series[i].Latest != 0.25 || s.Run.Schema.Quality != "val_acc" {
		t.Errorf("%+v, %+v", s.Run.Schema.Series, s.Series[1])
	}
	if n := len(s.Run.Schema.Phases); n != 6 || s.Run.Schema.Phases[5].Name != "evaluating" {
		t.Errorf("%+v", s.Run.Schema.Phases)
	}
	later := aggregate.New(r.events.Follow(), aggregate.Options{})
	if s := later.Tick(time.Now()); len(s.Run.Schema.Series) != 2 {
		t.Errorf("who follows later sees %+v", s.Run.Schema.Series)
	}
}

// Steps that only have their boundaries are no part of the phases' times, and what an experiment switched comes back
// where its prismtop dies.
func TestALoopTakesBackWhatAnExperimentSwitched(t *testing.T) {
	r := follow(t, time.Millisecond)
	r.next(t)
	r.do(t, profiles.AblateCommand)
	leased := false
	for range 400 {
		r.next(t)
		if s := r.loop.Ring.Asked(); s != nil && s.LeaseMS > 0 {
			leased = true
			if s.After["autocast"] == "" && s.After["gc"] == "" {
				t.Fatalf("%+v", s)
			}
			break
		}
	}
	if !leased {
		t.Error("no lease in 400 steps of an ablation")
	}
}

// A press switches a choice on as an ablation would, and off as the loop was written.
func TestAPressSwitchesWhatAnAblationCompares(t *testing.T) {
	k := settings.Key{Allowed: []string{"as written", "off", "bf16", "fp16"}}
	if got := k.Usual(); got != "off" {
		t.Errorf("nothing is compared: %q", got)
	}
	for _, tt := range []struct {
		pair settings.Pair
		want string
	}{{settings.Pair{Off: "off", On: "bf16"}, "bf16"}, {settings.Pair{Off: "off", On: "as written"}, "off"}} {
		k.Compared.Pairs = []settings.Pair{tt.pair}
		if got := k.Usual(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.pair, got, tt.want)
		}
	}
}

// A trace is asked of the loop's profiler, and what it leaves behind is said, with an interval.
func TestATraceOnDemand(t *testing.T) {
	r := follow(t, 500*time.Microsecond)
	for range 100 {
		r.next(t)
	}
	r.do(t, profiles.TraceCommand)
	for deadline := time.Now().Add(time.Minute); ; {
		r.next(t)
		if asked := r.loop.Ring.Asked(); asked != nil && asked.Trace != "" && !strings.HasSuffix(asked.Trace, ".pt.trace.json") {
			t.Fatalf("%q", asked.Trace)
		}
		if slices.ContainsFunc(r.a.Tick(time.Now()).Log, func(l profiles.LogLine) bool { return strings.HasPrefix(l.Text, "a step after the trace takes ") }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", r.a.Tick(time.Now()).Log)
		}
	}
}
