package aggregate

import (
	"math"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

func TestTrendsAreMeansOfTwoSecondsThatFillAndJump(t *testing.T) {
	var tr trends
	most, at := 0, int64(0)
	for second := range int64(200) {
		if second == 20 {
			at += 100_000_000_000 // a pause leaves no bins
		}
		for range 4 {
			it := profiles.Iteration{Start: at, Total: 10 * (second + 1)}
			it.Phases[prism.PhaseBackward] = 6 * (second + 1)
			tr.add(&it)
			at += 250_000_000
		}
		v := tr.publish()
		if n := len(v[profiles.MaxPhases].Bins); n > trendBins || n < min(int(second)/2, trendBins*3/4) {
			t.Fatalf("second %d: %d bins", second, n)
		}
		most = max(most, len(v[prism.PhaseBackward].Bins))
	}
	if most != trendBins {
		t.Errorf("at most %d bins, want %d", most, trendBins)
	}
	v := tr.publish()
	bins := v[profiles.MaxPhases].Bins
	if last := bins[len(bins)-1]; last != 1975 { // seconds 196 and 197
		t.Errorf("the newest bin is %v", last)
	}
	if c := v[prism.PhaseBackward]; !c.HasChange || math.Abs(c.Change-(1945./1865-1)) > 1e-9 {
		t.Errorf("the change is %v", c.Change)
	}
	if v[prism.PhaseMetrics].HasChange {
		t.Error("a phase that never ran has a trend")
	}
}

func TestPublishedTimingsAreNotWrittenAgain(t *testing.T) {
	var all timings
	var kept [][]profiles.Timing
	for i := range int64(10 * recentTimings) {
		it := profiles.Iteration{Index: i, Total: 10}
		it.Phases[prism.PhaseForward], it.Phases[prism.PhaseLoss] = 3, 4
		all.add(&it)
		if i%97 == 0 {
			kept = append(kept, all.newest())
		}
	}
	for n, k := range kept {
		last := int64(n * 97)
		if len(k) != int(min(last+1, recentTimings)) {
			t.Fatalf("%d timings after iteration %d", len(k), last)
		}
		for i := range k {
			if k[i].Index != last-int64(len(k)-1-i) || k[i].Rest() != 3 {
				t.Fatalf("after iteration %d the %dth of %d is %+v", last, i, len(k), k[i])
			}
		}
	}
}
