package aggregate

import (
	"math"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/effect"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/prism/prismtest"
)

func TestWhatOthersTakeIsTold(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	if v := r.run(1, 5, nil).Load; v.Known || v.Considerable {
		t.Errorf("after 1 s: %+v", v)
	}
	if v := r.run(4, 5, nil).Load; !v.Known || v.Foreign > 1e-9 || v.Considerable || v.Reason != "" {
		t.Errorf("quiet: %+v", v)
	}
	r.setOthers(0.62)
	if v := r.run(3, 5, nil).Load; math.Abs(v.Foreign-0.62) > 1e-9 || !v.Considerable {
		t.Errorf("others compute: %+v", v)
	}
	r.setOthers(0)
	if v := r.run(3, 5, nil).Load; v.Foreign > 1e-9 || !v.Considerable {
		t.Errorf("others have just ended: %+v", v)
	}
	if v := r.run(4, 5, nil).Load; v.Considerable {
		t.Errorf("others have ended: %+v", v)
	}
}

// A half second that others disturbed in part is shared by where its iterations lie.
func TestIterationsGetTheShareOfTheirHalfSeconds(t *testing.T) {
	at := time.Unix(1e9, 0)
	var sum machine.Load
	l := loads{}
	for i, foreign := range []float64{0, 0.1, 0.5, 0} {
		if i > 0 {
			sum.Add(machine.Load{Busy: 1, Own: 1 - foreign, Passed: 1})
		}
		l.marks = append(l.marks, loadMark{at.Add(time.Duration(i) * loadEvery), sum})
	}
	for _, c := range []struct{ from, to, want float64 }{
		{0.1, 0.2, 0.1}, {0.6, 0.7, 0.5}, {0.4, 0.6, 0.3}, {0.25, 1.25, 0.275}, {0, 1.5, 0.2}, {1.2, 1.3, 0},
		{-5, -4, 0.1}, {9, 10, 0}, {0.7, 0.7, 0.5},
	} {
		from, to := at.Add(time.Duration(c.from*1e9)), at.Add(time.Duration(c.to*1e9))
		// 1e-6: stretches without length weigh a nanosecond.
		if got, known := l.between(from, to); !known || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v s to %v s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func TestAnEffectUnderLoadIsConfoundedUntilOthersEnd(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(4, 5, nil)
	r.setOthers(0.62)
	r.run(1, 15, nil)
	r.Change(profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: r.it.Index}, settings.Values{})
	r.it.Changes++
	s := r.run(2, 15, nil)
	if e := s.Effects[0]; !e.Enough || e.Shift < 1.5 || !strings.Contains(e.Confounded, "others took 0 % before, 62 % after") {
		t.Errorf("under load: %+v", e)
	}
	r.setOthers(0)
	s = r.run(2, 5, nil)
	if e := s.Effects[0]; e.Confounded != "" || math.Abs(e.Shift) > 0.01 || e.LeftOut < 100 {
		t.Errorf("after it: %+v", e)
	}
}

// No iteration is forgotten because the run stopped before the next reading.
func TestARunThatStopsLetsItsLastIterationsCount(t *testing.T) {
	for _, state := range []profiles.State{profiles.Paused, profiles.Finished} {
		r := newRig()
		r.start()
		for range 4 {
			r.tick()
			r.iterate(600)
		}
		r.tick()
		r.Change(profiles.Change{Key: "amp", After: "on", Iteration: r.it.Index}, settings.Values{})
		r.it.Changes++
		r.iterate(80)
		if e := r.tick().Effects[0]; e.NAfter != 0 {
			t.Errorf("%v: %d iterations count before the machine was read", state, e.NAfter)
		}
		r.State(state, "")
		if e := r.tick().Effects[0]; e.NAfter != 80-effect.Warmup || e.NBefore != effect.Window {
			t.Errorf("%v: %d before, %d after", state, e.NBefore, e.NAfter)
		}
	}
}

func TestWhereOthersCannotBeReadItIsSaidAndEffectsGoOn(t *testing.T) {
	r := newRig()
	r.a = New(r.a.source, Options{Load: func() machine.Load { return machine.Load{Reason: "not read on plan9"} }})
	r.start()
	for range 4 {
		r.iterate(600)
		r.tick()
	}
	r.Change(profiles.Change{Key: "amp", After: "on", Iteration: r.it.Index}, settings.Values{})
	r.it.Changes++
	r.iterate(100)
	s := r.tick()
	if s.Load.Reason != "not read on plan9" || s.Load.Known || len(s.Log) != 1 || !strings.Contains(s.Log[0].Text, "not read on plan9") {
		t.Errorf("load %+v, log %v", s.Load, s.Log)
	}
	if e := s.Effects[0]; !e.Enough || e.NAfter != 100-effect.Warmup || e.Confounded != "" {
		t.Errorf("%+v", e)
	}
}

func TestAnAblationTellsWhatOthersTookMeanwhile(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(3, 5, nil)
	r.setOthers(0.4)
	r.Ablation(&profiles.Ablation{Running: true})
	if a := r.run(1, 5, nil).Ablation; a.ForeignKnown && a.Foreign > 0.4+1e-9 {
		t.Errorf("%+v", a)
	}
	r.setOthers(0)
	r.run(2, 5, nil)
	r.Ablation(&profiles.Ablation{Ended: "complete"})
	// 0.02: the ablation begins between two readings.
	if a := r.run(1, 5, nil).Ablation; !a.ForeignKnown || math.Abs(a.Foreign-0.4/3) > 0.02 {
		t.Errorf("foreign %v, want 0.4 for one of three seconds", a.Foreign)
	}
}

// The share over the whole run is of all of it, and of nothing besides: neither of its preparation nor of its pauses.
func TestTheShareOfTheWholeRun(t *testing.T) {
	r := newRig()
	r.Begin(prismtest.Info(100), settings.Values{})
	idle := func(seconds int) (s *profiles.Snapshot) {
		for range 10 * seconds {
			r.now = r.now.Add(100 * time.Millisecond)
			s = r.tick()
		}
		return s
	}
	r.setOthers(0.9)
	if v := idle(5).Load; v.WholeKnown {
		t.Errorf("in preparation: %+v", v)
	}
	r.State(profiles.Running, "")
	r.tick()
	w := &watchedRun{r, t}
	w.it = prismtest.Progressive()
	if v := w.run(0.1, 5, nil).Load; v.WholeKnown {
		t.Errorf("after 0.1 s: %+v", v)
	}
	r.setOthers(0.76)
	w.run(150, 5, nil) // longer than readings are kept
	r.State(profiles.Paused, "")
	r.tick()
	r.setOthers(0)
	idle(100)
	r.State(profiles.Running, "")
	r.tick()
	v := w.run(50, 5, nil).Load
	if !v.WholeKnown || math.Abs(v.Whole-0.57) > 0.01 || v.Foreign > 1e-9 || v.Considerable {
		t.Errorf("76 %% in 150 of 200 s: %+v", v)
	}
	if got, want := v.Disturbed(), "other programs took 57 % of the processors: times may be longer than without them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.State(profiles.Finished, "")
	idle(5)
	r.setOthers(1)
	if got := idle(20).Load.Whole; math.Abs(got-v.Whole) > 0.01 {
		t.Errorf("%v after the end, was %v", got, v.Whole)
	}
	r.Begin(prismtest.Info(100), settings.Values{})
	r.State(profiles.Running, "")
	r.setOthers(0)
	w.it = prismtest.Progressive()
	if v := w.run(4, 5, nil).Load; !v.WholeKnown || v.Whole > 1e-9 || v.Disturbed() != "" {
		t.Errorf("the next start: %+v", v)
	}
}
