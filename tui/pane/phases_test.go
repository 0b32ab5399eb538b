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
		if got, _ := bottleneck(s); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
