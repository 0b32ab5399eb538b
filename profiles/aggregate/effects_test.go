package aggregate

import (
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/effect"
	"prismtop/profiles/settings"
)

// The window of an effect that a change would end too soon is known with the iterations
// that wait for a reading of the machine.
func TestAChangeThatCutsAnEffectShortIsKnown(t *testing.T) {
	r := newRig()
	r.start()
	r.tick()
	r.iterate(100)
	r.Change(profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: r.it.Index}, settings.Values{})
	r.it.Changes++
	for _, want := range []struct {
		n, had int
		cut    bool
	}{{effect.Warmup, 0, true}, {12, 12, true}, {7, 19, true}, {1, 20, false}} {
		r.iterate(want.n)
		e := r.tick().Effects[0]
		if had, cut := e.CutShort(); had != want.had || cut != want.cut {
			t.Errorf("%d of which %d wait: had %d, cut short %v; want %d, %v", e.NAfter, e.Waiting, had, cut, want.had, want.cut)
		}
	}
}

// A finished run has no more iterations: nothing waits for them.
func TestTheRunsEndEndsWaiting(t *testing.T) {
	for _, state := range []profiles.State{profiles.Finished, profiles.Stopped, profiles.Failed} {
		r := newRig()
		r.start()
		r.tick()
		r.iterate(100)
		r.Change(profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: r.it.Index}, settings.Values{})
		r.it.Changes++
		r.iterate(effect.Warmup + 9)
		r.Change(profiles.Change{Key: "threads", Before: "2", After: "1", Iteration: r.it.Index}, settings.Values{})
		r.it.Changes++
		if e := r.tick().Effects; len(e) != 2 || !e[1].Open() {
			t.Fatalf("%v: %+v before the end", state, e)
		}
		r.State(state, "")
		for i, e := range r.tick().Effects {
			if full, _ := e.Incomparable(); e.Open() || !e.Closed || !e.Ended || full != "the run ended first" {
				t.Errorf("%v: effect %d is %+v: %q", state, i, e, full)
			}
		}
	}
}
