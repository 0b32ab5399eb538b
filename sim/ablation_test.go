package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/ablation"
	"prismtop/sim/experiment"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// brief is an ablation of two settings that takes a second or two.
var brief = ablation.Options{Rounds: 6, Least: 4, Time: time.Millisecond, Only: []string{"checkpointing", "amp", "fft_cache"}}

// ablating is a run with an ablation that has switched something, and may be over already.
func ablating(t *testing.T, o ablation.Options, sets ...string) (*Run, *aggregate.Aggregator, settings.Values) {
	t.Helper()
	s := configured(t, append(append(small, "samples=60", "threshold=0", "iterations=1000000", "init_iterations=0", "amp=bf16x3"), sets...)...)
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	if err := r.Ablate(o); err != nil {
		t.Fatal(err)
	}
	until(t, a, "another value", func(s *profiles.Snapshot) bool {
		return s.Settings.Text("amp") != "bf16x3" || s.Ablation != nil && !s.Ablation.Running
	})
	return r, a, s
}

// However an ablation ends, the settings are restored, and the table says why it
// ended.
func TestAnAblationReturnsToTheSettings(t *testing.T) {
	long := ablation.Options{Rounds: 1000, Least: 4, Time: time.Millisecond, Only: brief.Only}
	for _, tt := range []struct {
		name, why string
		options   ablation.Options
		sets      []string
		end       func(*testing.T, *Run)
		changed   map[string]string
	}{
		{name: "complete", why: "complete", options: brief, end: func(*testing.T, *Run) {}},
		{name: "stopped by the user", why: "it was stopped", options: long, end: func(t *testing.T, r *Run) { do(t, r, profiles.StopAblationCommand) }},
		{name: "restarted", why: "the run was restarted", options: long, end: func(t *testing.T, r *Run) { restart(t, r) }},
		{name: "a setting was changed", why: "threads was changed", options: long, changed: map[string]string{"threads": otherThreads()},
			end: func(t *testing.T, r *Run) {
				if err := r.Set("threads", otherThreads()); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "stopped while paused", why: "it was stopped", options: long,
			end: func(t *testing.T, r *Run) { do(t, r, profiles.PauseCommand); do(t, r, profiles.StopAblationCommand) }},
		{name: "the run is over", why: "the run is over", options: long, sets: []string{"max_iterations=1000"}, end: func(*testing.T, *Run) {}},
		{name: "the run was stopped", why: "the run was stopped", options: long, end: func(_ *testing.T, r *Run) { r.Stop() }},
		{name: "a factorial, complete", why: "complete", options: factorial(t, 2), end: func(*testing.T, *Run) {}},
		{name: "a factorial, stopped by the user", why: "it was stopped", options: factorial(t, 1000), end: func(t *testing.T, r *Run) { do(t, r, profiles.StopAblationCommand) }},
		{name: "a factorial, restarted", why: "the run was restarted", options: factorial(t, 1000), end: func(t *testing.T, r *Run) { restart(t, r) }},
		{name: "a factorial, a setting was changed", why: "threads was changed", options: factorial(t, 1000), changed: map[string]string{"threads": otherThreads()},
			end: func(t *testing.T, r *Run) {
				if err := r.Set("threads", otherThreads()); err != nil {
					t.Fatal(err)
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, a, before := ablating(t, tt.options, tt.sets...)
			tt.end(t, r)
			until(t, a, "its end", func(s *profiles.Snapshot) bool { return s.Ablation != nil && !s.Ablation.Running })
			s := until(t, a, "the settings of before", func(s *profiles.Snapshot) bool {
				return !slices.ContainsFunc(prism.Table.Keys(), func(k settings.Key) bool {
					want, changed := tt.changed[k.Name]
					if !changed {
						want = before.Get(k.Name)
					}
					return s.Settings.Get(k.Name) != want
				})
			})
			if s.Ablation.Ended != tt.why {
				t.Errorf("ended: %q, want %q", s.Ablation.Ended, tt.why)
			}
			ended := s.Ablation.Name() + " ended: " + tt.why + "; the settings are as before"
			for key, value := range tt.changed {
				ended += ", but " + key + " = " + value
			}
			s = until(t, a, ended, func(s *profiles.Snapshot) bool {
				return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool { return l.Text == ended })
			})
			for _, c := range s.Changes {
				if _, ok := tt.changed[c.Key]; !ok {
					t.Errorf("a change of the ablation is listed as the user's: %+v", c)
				}
			}
		})
	}
}

// factorial is a factorial ablation of three settings in short blocks.
func factorial(t *testing.T, rounds int) ablation.Options {
	t.Helper()
	factors, err := prism.Table.ParseFactors([]string{"checkpointing", "amp", "fft_cache"})
	if err != nil {
		t.Fatal(err)
	}
	return ablation.Options{Factors: factors, Rounds: rounds, Least: 4, Time: time.Millisecond}
}

func TestACompleteFactorialFillsItsTable(t *testing.T) {
	_, a, _ := ablating(t, factorial(t, 10))
	s := until(t, a, "its end", func(s *profiles.Snapshot) bool { return s.Ablation != nil && !s.Ablation.Running })
	v := s.Ablation
	if v.Done != 80 || v.Groups != 80 || v.Work != "first sample" || v.Quality.Title != "PSNR" {
		t.Fatalf("%d of %d blocks, %q, quality %q", v.Done, v.Groups, v.Work, v.Quality.Title)
	}
	f := v.Factorial
	for _, r := range append(slices.Concat(f.Alone, f.Averaged), f.Product, f.Whole, f.Excess) {
		if !r.Known() || r.Low > r.Effect || r.High < r.Effect {
			t.Errorf("%+v", r)
		}
	}
	for on, ns := range f.CombinationNS {
		if !(ns > 0) {
			t.Errorf("%s takes %g ns", f.Combination(on), ns)
		}
	}
	for _, line := range []string{"factorial ablation of fft_cache, checkpointing, amp=bf16 began", "factorial ablation ended: complete"} {
		until(t, a, line, func(s *profiles.Snapshot) bool { return told(s, line) })
	}
}

// limited is a machine that cannot run a value of a setting.
type limited struct{ workload.Maker }

func (m limited) Check(v settings.Values, key string) error {
	if key == "amp" && v.Text(key) == "bf16" {
		return errors.New("amp = bf16: this machine has no such kernels")
	}
	return m.Maker.Check(v, key)
}

// A factorial with a setting that the machine or the table does not take is refused with the reason,
// and nothing is switched.
func TestAFactorialThatCannotBeServedIsRefused(t *testing.T) {
	r, a := start(t, Options{Maker: limited{workloads.PRISM(workloads.Devices{})}, Settings: configured(t, append(small, "threshold=0", "iterations=1000000", "init_iterations=0")...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	factors := factorial(t, 1).Factors
	wrong := slices.Clone(factors)
	wrong[2].On = []settings.Assignment{{Key: "amp", Value: "fp8"}}
	for want, factors := range map[string][]settings.Factor{
		"this machine has no such kernels": factors, `amp = "fp8"`: wrong, "1 setting: must be 2 to 5": factors[:1],
	} {
		if err := r.Do(profiles.Command{Kind: profiles.AblateCommand, Factors: factors}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := r.Do(profiles.Command{Kind: profiles.AblateCommand, Factors: factors[:2]}); err != nil {
		t.Fatal(err)
	}
	s := until(t, a, "a factorial", func(s *profiles.Snapshot) bool { return s.Ablation != nil })
	if n := len(s.Ablation.Factorial.Factors); n != 2 {
		t.Errorf("%d factors", n)
	}
}

func TestACompleteAblationFillsItsTable(t *testing.T) {
	_, a, _ := ablating(t, brief)
	s := until(t, a, "its end", func(s *profiles.Snapshot) bool { return s.Ablation != nil && !s.Ablation.Running })
	if v := s.Ablation; v.Done != v.Groups || len(v.Rows) != 5 || v.Work != "first sample" {
		t.Fatalf("%d of %d groups of %d rows, %q", v.Done, v.Groups, len(v.Rows), v.Work)
	}
	for _, r := range s.Ablation.Rows {
		if r.Groups != brief.Rounds || !(r.OffNS > 0 && r.OnNS > 0) || r.Low > r.Effect || r.High < r.Effect || !r.HasMemory || r.QualityGroups != r.Groups {
			t.Errorf("%+v", r)
		}
		if r.Key == "checkpointing" && r.OnBytes >= r.OffBytes {
			t.Errorf("checkpointing takes %d bytes, none %d", r.OnBytes, r.OffBytes)
		}
	}
	const line = "ablation ended: complete; the settings are as before"
	until(t, a, line, func(s *profiles.Snapshot) bool { return told(s, line) })
}

func TestAnAblationOfARunThatIsOverIsRefused(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "max_iterations=5")...), Linger: true})
	until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	if err := ask(r, profiles.AblateCommand); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("error %v", err)
	}
}

// switched is a run, not started, whose ablation has switched something.
func switched(t *testing.T) (*Run, *aggregate.Aggregator, settings.Values) {
	t.Helper()
	return switchedBy(t, func(l *loop, o ablation.Options) error { return l.comparing.ablate(t.Context(), o) })
}

// switchedBy is switched by an ablation that begin begins.
func switchedBy(t *testing.T, begin func(*loop, ablation.Options) error) (*Run, *aggregate.Aggregator, settings.Values) {
	t.Helper()
	o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "init_iterations=0", "iterations=1000000", "threshold=0")...), Stream: stream.New(1 << 10)}
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	l := &r.loop
	if err := begin(l, ablation.Options{Rounds: 1000, Least: 4, Time: time.Millisecond, Only: brief.Only}); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if err := l.iterate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(o.Settings.Differing(l.settings)) > 0 {
			return r, aggregate.New(o.Stream.Follow(), aggregate.Options{}), o.Settings
		}
	}
	t.Fatal("nothing was switched")
	return nil, nil, settings.Values{}
}

// returned fails where a snapshot's ablation has not ended, for a reason that begins
// so, with the settings as they were.
func returned(t *testing.T, s *profiles.Snapshot, before settings.Values, why string) {
	t.Helper()
	if s.Ablation == nil || s.Ablation.Running || !strings.HasPrefix(s.Ablation.Ended, why) || s.Ablation.Now >= 0 {
		t.Errorf("the ablation's table is %+v, want one that ended: %s", s.Ablation, why)
	}
	for _, k := range prism.Table.Keys() {
		if got, want := s.Settings.Get(k.Name), before.Get(k.Name); got != want {
			t.Errorf("%s is %s, was %s", k.Name, got, want)
		}
	}
}

// A fault in the ablation's own code ends the ablation, and the run continues with
// the restored settings and the comparisons so far.
func TestAPanicOfTheAblationCostsTheRunNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		meet func(*loop, context.Context) error // the fault
	}{
		{"before an iteration", (*loop).iterate},
		{"after one", func(l *loop, cut context.Context) error { return l.comparing.observe(cut) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var schedule struct{ experiment.Schedule }
			r, a, before := switchedBy(t, func(l *loop, o ablation.Options) error {
				return l.comparing.begin(t.Context(), experiment.Compare(l.settings, "", func() experiment.Schedule {
					schedule.Schedule = ablation.New(l.settings, o)
					return &schedule
				}))
			})
			l := &r.loop
			rows := len(a.Tick(time.Now()).Ablation.Rows)
			schedule.Schedule = nil // each call panics
			if err := tt.meet(l, t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := l.iterate(t.Context()); err != nil {
				t.Fatalf("the run does not go on: %v", err)
			}
			s := a.Tick(time.Now())
			returned(t, s, before, "it panicked: ")
			if len(before.Differing(l.settings)) > 0 {
				t.Error("the loop's settings are still switched")
			}
			if got := len(s.Ablation.Rows); got != rows {
				t.Errorf("the last table has %d rows, %d were published", got, rows)
			}
		})
	}
}

// A run that fails during an ablation reports the user's settings.
func TestAFailedRunTellsTheSettingsBeforeItsAblation(t *testing.T) {
	r, a, before := switched(t)
	r.loop.close() // the next iteration meets nothing
	var crash *PanicError
	if err := r.guard(t.Context(), t.Context()); !errors.As(err, &crash) {
		t.Fatalf("the run ended with %v", err)
	}
	s := a.Tick(time.Now())
	returned(t, s, before, "the run failed")
	if s.State != profiles.Failed {
		t.Errorf("the run is %v", s.State)
	}
}

// A change is switched back and forth by one more command until it is decided; the settings end
// as they were, and the effect of the change has what came out.
func TestAChangeIsReplicated(t *testing.T) {
	sets := slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=1000000", "init_iterations=0", "checkpointing=false", "threads=1"})
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, sets...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 30 })
	set(t, r, "checkpointing", "true")
	s := until(t, a, "the effect", func(s *profiles.Snapshot) bool { return len(s.Effects) == 1 && s.Effects[0].NAfter > 0 })
	e := &s.Effects[0]
	if err := r.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: []settings.Assignment{{Key: e.Key, Value: e.Before}}, At: e.Iteration}); err != nil {
		t.Fatal(err)
	}
	s = until(t, a, "switching", func(s *profiles.Snapshot) bool { return s.Ablation != nil && !s.Settings.On("checkpointing") })
	if !s.Ablation.Base.On("checkpointing") || !s.Ablation.Replication || s.Ablation.Of != e.Iteration {
		t.Errorf("%+v", s.Ablation)
	}
	do(t, r, profiles.StopAblationCommand)
	s = until(t, a, "the end", func(s *profiles.Snapshot) bool { return !s.Ablation.Running && s.Settings.On("checkpointing") })
	if got := s.Effects[0].Replica; got == nil || got.Key != "checkpointing" || got.Off != "false" || got.On != "true" || len(s.Effects) != 1 {
		t.Errorf("%d effects, replica %+v", len(s.Effects), got)
	}
	const line = "replication of checkpointing ended: it was stopped"
	until(t, a, line, func(s *profiles.Snapshot) bool { return told(s, line) })
	if err := r.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: []settings.Assignment{{Key: "checkpointing", Value: "true"}}, At: 0}); err != nil {
		t.Fatal(err)
	}
	until(t, a, "the refusal", func(s *profiles.Snapshot) bool {
		return told(s, "not replicated: the settings are as they were before that change")
	})
}

// deciding is a run whose press of checkpointing is being decided.
func deciding(t *testing.T, more ...string) (*Run, *aggregate.Aggregator) {
	t.Helper()
	sets := slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=1000000", "init_iterations=0", "checkpointing=false", "threads=1"}, more)
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, sets...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 5 })
	if err := ask(r, profiles.DecideCommand, settings.Assignment{Key: "checkpointing", Value: "true"}); err != nil {
		t.Fatal(err)
	}
	return r, a
}

// A press is followed by blocks back and forth, whatever ends them, and the run goes on with what was asked for: the
// effect of the press has the verdict.
func TestAPressIsDecided(t *testing.T) {
	_, a := deciding(t)
	s := until(t, a, "switching", func(s *profiles.Snapshot) bool {
		return s.Ablation != nil && s.Ablation.Running && !s.Settings.On("checkpointing")
	})
	if b := s.Ablation; !b.Decides() || !b.Base.On("checkpointing") || b.Within < profiles.DecisionTime || b.Groups != 9 {
		t.Errorf("%+v", b)
	}
	s = until(t, a, "the end", func(s *profiles.Snapshot) bool { return !s.Ablation.Running && s.Settings.On("checkpointing") })
	if e := &s.Effects[0]; !s.Ablation.Concluded() || s.Ablation.Spent > s.Ablation.Within+time.Second ||
		e.Key != "checkpointing" || e.Replica == nil || !e.Replica.Final || len(s.Effects) != 1 {
		t.Errorf("%d effects, %+v; ablation %+v", len(s.Effects), e.Replica, s.Ablation)
	}
	until(t, a, "the decision in the log", func(s *profiles.Snapshot) bool {
		return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool {
			return strings.HasPrefix(l.Text, "decision on checkpointing, false to true: ")
		})
	})
}

// Another press, a pause and another comparison end a decision at what was asked for.
func TestADecisionMakesWay(t *testing.T) {
	for _, tt := range []struct {
		name  string
		does  func(*Run) error
		ended string
	}{
		{"another press", func(r *Run) error {
			return ask(r, profiles.DecideCommand, settings.Assignment{Key: "fused_optimizer", Value: "true"})
		}, "fused_optimizer was changed"},
		{"a setting that is dear", func(r *Run) error {
			return ask(r, profiles.DecideCommand, settings.Assignment{Key: "threads", Value: "2"})
		}, "threads was changed"},
		{"a pause", func(r *Run) error { return ask(r, profiles.PauseCommand) }, "the run was paused"},
		{"a replication", func(r *Run) error {
			return r.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: []settings.Assignment{{Key: "checkpointing", Value: "false"}}, At: 1})
		}, "another comparison was asked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, a := deciding(t)
			until(t, a, "switching", func(s *profiles.Snapshot) bool {
				return s.Ablation != nil && s.Ablation.Running && !s.Settings.On("checkpointing")
			})
			if err := tt.does(r); err != nil {
				t.Fatal(err)
			}
			want := "decision on checkpointing, false to true: "
			s := until(t, a, "the end", func(s *profiles.Snapshot) bool {
				return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool {
					return strings.HasPrefix(l.Text, want) && strings.HasSuffix(l.Text, tt.ended)
				})
			})
			if !s.Ablation.Base.On("checkpointing") {
				t.Error("checkpointing is not what was asked for")
			}
		})
	}
}

// No decision follows where none was asked for or the setting is dear to take back, nor a request that is no press.
func TestNotEveryChangeIsDecided(t *testing.T) {
	for name, how := range map[string]func(*Run) error{
		"ask":           func(r *Run) error { return r.Set(settings.Decide, settings.DecideAsk) },
		"off":           func(r *Run) error { return r.Set(settings.Decide, settings.DecideOff) },
		"dear together": func(r *Run) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			sets := slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=1000000", "init_iterations=0", "checkpointing=false", "threads=1"})
			r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, sets...), Linger: true})
			until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 5 })
			if err := how(r); err != nil {
				t.Fatal(err)
			}
			press := []settings.Assignment{{Key: "checkpointing", Value: "true"}}
			if name == "dear together" {
				press = append(press, settings.Assignment{Key: "threads", Value: "2"})
			}
			if err := ask(r, profiles.DecideCommand, press...); err != nil {
				t.Fatal(err)
			}
			until(t, a, "the press", func(s *profiles.Snapshot) bool { return s.Settings.On("checkpointing") })
			if err := r.Set("fused_optimizer", "true"); err != nil {
				t.Fatal(err)
			}
			s := until(t, a, "the change", func(s *profiles.Snapshot) bool { return s.Settings.On("fused_optimizer") })
			at := s.Index
			if s = until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > at+20 }); s.Ablation != nil {
				t.Errorf("%+v", s.Ablation)
			}
		})
	}
}

// Everything off against everything on leaves the settings as they were, whatever was off before; mixed precision in force is
// part of everything.
func TestEverythingLeavesWhatWasThere(t *testing.T) {
	sets := slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=1000000", "init_iterations=0", "mask_cache=false", "fused_optimizer=false", "amp=bf16", "threads=1"})
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, sets...), Linger: true})
	before := until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 5 }).Settings
	off, _ := before.Table().Everything()
	if err := r.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: off, At: -1}); err != nil {
		t.Fatal(err)
	}
	until(t, a, "everything on", func(s *profiles.Snapshot) bool {
		return s.Ablation != nil && s.Settings.On("mask_cache") && s.Settings.On("fused_optimizer") && s.Settings.Text("amp") == "bf16" && s.Ablation.Rows[0].Name() == "everything on"
	})
	until(t, a, "everything off", func(s *profiles.Snapshot) bool { return !s.Settings.On("fft_cache") && s.Settings.Text("amp") == "off" })
	do(t, r, profiles.StopAblationCommand)
	until(t, a, "the end", func(s *profiles.Snapshot) bool { return !s.Ablation.Running })
	s := until(t, a, "its settings", func(s *profiles.Snapshot) bool { return len(s.Settings.Differing(before)) == 0 })
	if len(s.Effects) != 0 {
		t.Errorf("%d effects", len(s.Effects))
	}
}
