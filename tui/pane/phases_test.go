package pane

import (
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
)

func TestTheSlowestLayerIsNamedWithItsNearerRoof(t *testing.T) {
	tests := []struct {
		name   string
		layers []profiles.Layer
		want   string
	}{
		{"memory", []profiles.Layer{
			{Name: "layer 3 convT", Nanos: 1e5, Compute: 0.9, Judged: true},
			{Name: "layer 2 convT dW", Nanos: 1.7e6, Compute: 0.12, Memory: 0.8, Judged: true},
		}, "layer 2 convT dW 1.70 ms, 80 % of bandwidth"},
		{"compute", []profiles.Layer{{Name: "layer 6 convT", Nanos: 2e5, Compute: 0.31, Memory: 0.03, Judged: true}},
			"layer 6 convT 0.20 ms, 31 % of FMA roof"},
		{"no roofs", []profiles.Layer{{Name: "layer 6 convT", Nanos: 2e5, FLOPs: 16_800_000}}, "layer 6 convT 0.20 ms, 84 GFLOP/s"},
		{"not profiled", nil, "bottleneck: backward, 60 %"},
	}
	for _, test := range tests {
		s := &profiles.Snapshot{Run: tuitest.Running().Run, Layers: test.layers}
		s.Phases[prism.PhaseBackward] = profiles.PhaseView{Spread: profiles.Spread{N: 1}, Share: 0.6}
		if got, _ := bottleneck(s, 60); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Shares add up: what belongs to no phase is named.
func TestTheTimeBetweenPhasesIsNamed(t *testing.T) {
	s := &profiles.Snapshot{Run: tuitest.Running().Run, Total: profiles.Spread{N: 1}}
	s.Phases[prism.PhaseBackward] = profiles.PhaseView{Spread: profiles.Spread{N: 1, Median: 0.05, P95: 0.06}, Share: 0.5}
	s.Phases[prism.PhaseForward] = profiles.PhaseView{Spread: profiles.Spread{N: 1, Median: 0.02, P95: 5}, Share: 0.31}
	for room, want := range map[int]string{
		70: "bottleneck: backward, 50 %, 1.6× forward · between phases 19 %", 50: "bottleneck: backward, 50 % · between phases 19 %", 30: "bottleneck: backward, 50 %",
	} {
		if got, _ := bottleneck(s, room); got != want {
			t.Errorf("in %d cells %q, want %q", room, got, want)
		}
	}
	if top := scaleOf(s); top > 0.2 {
		t.Errorf("one slow iteration stretches the scale to %g", top)
	}
	s.Phases[prism.PhaseForward].Share = 0.496
	if got, _ := bottleneck(s, 60); got != "bottleneck: backward, 50 %, 1.0× forward" {
		t.Errorf("%q", got)
	}
}
