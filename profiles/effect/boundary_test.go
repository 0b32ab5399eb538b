package effect

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles"
)

// One key pressed again and again before an iteration is one change, from the first
// value to the last.
func TestAKeyPressedAgainIsOneChange(t *testing.T) {
	tr := newTrial(1)
	tr.iterate(long)
	for _, c := range [][2]string{{"off", "bf16"}, {"bf16", "bf16x3"}, {"bf16x3", "fp16"}} {
		tr.set("amp", c[0], c[1])
	}
	if all := tr.view(); len(all) != 1 || !all[0].Open() || all[0].After != "fp16" {
		t.Errorf("before any iteration: %+v", all)
	}
	tr.median *= 2
	tr.iterate(100)
	all := tr.view()
	if len(all) != 1 {
		t.Fatalf("%d effects, want 1: %+v", len(all), all)
	}
	e := all[0]
	if e.Key != "amp" || e.Before != "off" || e.After != "fp16" || len(e.With) != 0 || !e.Comparable() || math.Abs(e.Shift-1) > 0.1 || e.NBefore != Window {
		t.Errorf("%+v, want amp off → fp16 twice as slow", e)
	}
	if got := fmt.Sprint(tr.changes()); got != fmt.Sprint([]profiles.Change{e.Change}) {
		t.Errorf("changes %s", got)
	}
}

// Settings that take effect together have one joint effect.
func TestSettingsThatChangeTogetherHaveOneEffect(t *testing.T) {
	tr := newTrial(2)
	tr.iterate(long)
	tr.set("amp", "off", "bf16")
	tr.set("measurement_cache", "true", "false")
	tr.set("threads", "2", "1")
	tr.set("threads", "1", "2")
	tr.median *= 0.7
	tr.iterate(100)
	all := tr.view()
	if len(all) != 1 {
		t.Fatalf("%d effects, want 1: %+v", len(all), all)
	}
	e := all[0]
	if got := e.Changes(); len(got) != 2 || got[0].Key != "amp" || got[1].Key != "measurement_cache" || got[1].After != "false" {
		t.Errorf("changes %+v", got)
	}
	if !e.Comparable() || e.Confounded != "" || math.Abs(e.Shift+0.3) > 0.05 {
		t.Errorf("%+v, want 30 %% less and nothing else", e)
	}
	if got := tr.changes(); len(got) != 2 || got[0].Iteration != got[1].Iteration {
		t.Errorf("changes %+v", got)
	}
}

// What is back at its value before the next iteration did nothing: no effect, and what was
// being measured continues.
func TestAChangeThatIsTakenBackHasNoEffect(t *testing.T) {
	tr := newTrial(3)
	tr.iterate(long)
	tr.set("amp", "off", "bf16")
	tr.iterate(Warmup + 10)
	tr.set("mask_cache", "true", "false")
	if got := len(tr.view()); got != 2 {
		t.Errorf("%d effects while one waits, want 2", got)
	}
	tr.set("mask_cache", "false", "true")
	if got := len(tr.view()); got != 1 {
		t.Errorf("%d effects once it is taken back, want 1", got)
	}
	tr.iterate(20)
	all := tr.view()
	if len(all) != 1 || all[0].Closed || all[0].NAfter != 30 || len(tr.changes()) != 1 {
		t.Errorf("%+v, want amp's alone, open, with 30 iterations after it", all)
	}
	lines := tr.effects.Told()
	if len(lines) != 1 || lines[0].Text != "mask_cache is as before from iteration 2025 on, after 2 changes: no effect to measure" {
		t.Errorf("log %+v", lines)
	}
}

// No threads are one for each processor: a number that means the same is no change.
func TestThreadsThatMeanTheSameAreNoChange(t *testing.T) {
	tr := newTrial(6)
	tr.iterate(long)
	tr.set("threads", "0", "1")
	tr.set("threads", "1", strconv.Itoa(runtime.GOMAXPROCS(0)))
	tr.iterate(60)
	if all := tr.view(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	tr.set("threads", "0", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
	tr.iterate(60)
	if all := tr.view(); len(all) != 1 || !all[0].Comparable() {
		t.Errorf("%+v", all)
	}
}

// A limit changes nothing in an iteration: it is a change without an effect, and what is
// being measured continues.
func TestALimitHasNoEffect(t *testing.T) {
	tr := newTrial(7)
	tr.iterate(long)
	tr.set("amp", "off", "bf16")
	tr.iterate(Warmup + 10)
	for i, c := range [][3]string{{"max_iterations", "0", "900"}, {"max_seconds", "0", "60"}, {"max_samples", "0", "9"},
		{"iterations", "500", "250"}, {"cycles", "1", "2"}, {"threshold", "0.005", "0.001"}} {
		tr.set(c[0], c[1], c[2])
		if i == 0 {
			tr.set(c[0], c[2], "800") // as one
		}
		tr.iterate(2)
	}
	tr.set("max_samples", "9", "8")
	tr.set("max_samples", "8", "9") // taken back
	tr.iterate(8)
	all := tr.view()
	if len(all) != 1 || !all[0].Comparable() || all[0].NAfter != 30 || all[0].Key != "amp" {
		t.Errorf("%+v, want amp's alone, with 30 iterations after it", all)
	}
	changes := tr.changes()
	if len(changes) != 7 || changes[0].Key != "amp" || changes[1].Key != "max_iterations" || changes[1].After != "800" || changes[6].Key != "threshold" {
		t.Errorf("changes %+v", changes)
	}
	if lines := tr.effects.Told(); len(lines) != 6 || lines[0].Text != "max_iterations 0 → 800 from iteration 2025 on" {
		t.Errorf("log %+v", lines)
	}
}

// Boundaries between which no iteration was seen cannot be distinguished.
func TestBoundariesWithoutIterationsBetweenAreOne(t *testing.T) {
	tr := newTrial(4)
	tr.iterate(60)
	tr.set("amp", "off", "bf16")
	tr.it.Index += 3 // their records were lost
	tr.set("threads", "2", "1")
	tr.iterate(60)
	if all := tr.view(); len(all) != 1 || len(all[0].With) != 1 || all[0].Iteration != 63 || all[0].With[0].Iteration != 63 || !all[0].Enough {
		t.Errorf("%+v, want one effect from iteration 63 on", all)
	}
}

// A change that ends an ablation is not all that differs there.
func TestAChangeAmidAnAblationIsNotComparable(t *testing.T) {
	tr := newTrial(5)
	tr.effects.Cut(profiles.Change{Key: "amp", Iteration: 0, Ablation: true})
	tr.it.Changes++
	tr.iterate(60)
	tr.effects.Cut(profiles.Change{Key: "amp", Iteration: tr.it.Index, Ablation: true})
	tr.it.Changes++
	tr.change("mask_cache")
	tr.iterate(60)
	e := tr.last()
	if full, brief := e.Incomparable(); e.Enough || !strings.Contains(full, "an ablation switched settings") || brief != "ablation" {
		t.Errorf("%+v: %q, %q", e, full, brief)
	}
}
