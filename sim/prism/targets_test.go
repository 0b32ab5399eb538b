package prism_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// noisySettings make every measurement of a sample another one.
var noisySettings = []string{"size=64", "object_size=32", "radius=5", "roi_diameter=40", "samples=3", "passes=1", "iterations=6", "cycles=1",
	"init_iterations=0", "threshold=0", "channels=", "noise=composite", "snr=20"}

// losses are those of a whole run under settings, which change as the map says
// before an iteration.
func losses(t *testing.T, sets []string, changes map[int]string) (all [][2]float64) {
	t.Helper()
	s, object := resolved(t, "", sets...)
	r := prepared(t, s, object, 2)
	for {
		if change := changes[len(all)]; change != "" {
			s, _ := resolved(t, "", slices.Concat(sets, strings.Fields(change))...)
			if err := r.Apply(t.Context(), s.Values()); err != nil {
				t.Fatal(err)
			}
		}
		rec := new(profiles.Iteration)
		out, err := r.Iterate(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, [2]float64{rec.Series[prism.SeriesLossOld], rec.Series[prism.SeriesLossNew]})
		if out.Finished {
			return all
		}
	}
}

// Checkpointing gives the same bits, so a run that changes plans in the middle of
// its samples, twice in a row and between two samples differs only if it loses the
// targets of the sample.
func TestTargetsOutliveAChangeOfPlan(t *testing.T) {
	for _, pattern := range []string{"trainer", "remeasure"} {
		for _, fused := range []string{"true", "false"} {
			sets := append([]string{"pattern=" + pattern, "fused_telescope=" + fused}, noisySettings...)
			want := losses(t, sets, nil)
			got := losses(t, sets, map[int]string{2: "checkpointing=true", 6: "checkpointing=false", 9: "checkpointing=true", 10: "checkpointing=false"})
			if len(want) != 18 || len(got) != len(want) {
				t.Fatalf("%s: %d and %d iterations", pattern, len(want), len(got))
			}
			for i := range want {
				if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) { // a first iteration has no old loss: NaN
					t.Errorf("%s, fused %s: losses of iteration %d: %v, want %v", pattern, fused, i, got[i], want[i])
				}
			}
			if want[2] == want[3] {
				t.Errorf("%s: the loss stands still", pattern)
			}
		}
	}
}

// The measurements beside the plan follow the plan's settings, live, and agree to
// rounding, which Adam makes up to 1e-3 of in 12 iterations; a wrong measurement makes
// more than a tenth. Squares, because where the reconstruction is
// compared with its own measurement the sign of a difference is a matter of rounding.
func TestRemeasuringGivesTheSameNumbersHoweverItGoesAboutItsTransforms(t *testing.T) {
	sets := append([]string{"pattern=remeasure", "measurement_cache=false", "loss=l2"}, noisySettings[:11]...)
	sets = append(sets, "iterations=4")
	want := losses(t, append([]string{"fused_telescope=false", "pruned_fft=false", "shared_spectrum=false"}, sets...), nil)
	for _, changes := range []map[int]string{
		{0: "fused_telescope=true pruned_fft=true"},
		{0: "fused_telescope=true pruned_fft=false"},
		{0: "fused_telescope=false pruned_fft=true"},
		{3: "fused_telescope=true pruned_fft=true", 6: "fused_telescope=false pruned_fft=false", 9: "fused_telescope=true pruned_fft=true"},
	} {
		got := losses(t, sets, changes)
		for i := range want {
			for k, w := range want[i] {
				if d := math.Abs(got[i][k] - w); d > 1e-3*w+1e-6 || math.IsNaN(w) != math.IsNaN(got[i][k]) {
					t.Fatalf("%v: losses of iteration %d: %v, want %v", changes, i, got[i], want[i])
				}
			}
		}
	}
}

// The first iteration of a later sample compares the picture with itself: its old loss is absent, while the stop rule takes
// it for what it is, 0.
func TestTheFirstIterationOfASampleHasNoOldLoss(t *testing.T) {
	all := losses(t, noisySettings, nil) // of 3 samples with 6 iterations
	for i, l := range all {
		if absent := i == 6 || i == 12; math.IsNaN(l[0]) != absent || math.IsNaN(l[1]) {
			t.Errorf("iteration %d: losses %v", i, l)
		}
	}
	s, object := resolved(t, "", append(noisySettings[:len(noisySettings):len(noisySettings)], "threshold=1e9")...)
	r := prepared(t, s, object, 2)
	for i := range 3 {
		rec := new(profiles.Iteration)
		out, err := r.Iterate(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		if v := out.Result.Values[prism.SeriesLossOld]; !out.Result.Converged || out.Result.Reached != rec.Series[prism.SeriesLossNew] || math.IsNaN(v) != (i > 0) {
			t.Errorf("sample %d: %+v", i, out.Result)
		}
	}
}
