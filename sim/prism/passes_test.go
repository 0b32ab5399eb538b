package prism_test

import (
	"fmt"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// Further passes train the pattern's samples again, in its order, with the whole
// accumulated mask beside each. The first pass is what it is without others.
func TestPassesTrainThePatternAgain(t *testing.T) {
	const samples, iterations = 3, 2 // of steadySettings
	first := losses(t, steadySettings, nil)
	all := losses(t, append(append([]string(nil), steadySettings...), "passes=3", "threshold=0"), nil)
	if len(first) != samples*iterations || len(all) != 3*len(first) {
		t.Fatalf("%d iterations in one pass, %d in three", len(first), len(all))
	}
	for i, want := range first[1:] {
		if fmt.Sprint(all[1+i]) != fmt.Sprint(want) { // NaN where there is no old loss
			t.Errorf("iteration %d: losses %v, want %v", 1+i, all[1+i], want)
		}
	}
	s, object := resolved(t, "", append(append([]string(nil), steadySettings...), "passes=3", "threshold=0")...)
	r := prepared(t, s, object, 1)
	info := r.Info()
	if info.Units != samples || info.AllUnits() != 3*samples || len(info.Sampling.Centres) != samples {
		t.Errorf("%d samples, %d in all, %d centres", info.Units, info.AllUnits(), len(info.Sampling.Centres))
	}
	rec := new(profiles.Iteration)
	var coverage []float64
	var ended []int32
	for range len(all) {
		*rec = profiles.Iteration{}
		out, err := r.Iterate(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		if out.UnitEnded {
			coverage, ended = append(coverage, out.Measured[prism.SeriesCoverage]), append(ended, out.Result.Unit)
		}
	}
	for i := range ended {
		if int(ended[i]) != i {
			t.Errorf("samples %v ended, want them counted over all passes", ended)
		}
		if i >= samples && coverage[i] != coverage[samples-1] {
			t.Errorf("coverage %v grows after the first pass", coverage)
		}
	}
	// The truth is measured again: the cache answers what the first pass asked.
	if c := rec.Caches[prism.CacheMeasurement]; c.Misses != samples || c.Hits != 2*samples {
		t.Errorf("%d hits and %d misses of the measurement cache, want %d and %d", c.Hits, c.Misses, 2*samples, samples)
	}
}

// The measurement cache is cleared after every n samples, as PRISM's guide advises: with three samples
// and three passes, every two of nine samples, what was held by then is measured again. The results are the same.
func TestTheCacheIsClearedEveryFewSamples(t *testing.T) {
	sets := append(append([]string(nil), steadySettings...), "passes=3", "threshold=0")
	want := losses(t, sets, nil)
	for _, c := range []struct {
		every        string
		hits, misses int64
	}{{"0", 6, 3}, {"1", 0, 9}, {"2", 0, 9}, {"3", 0, 9}, {"4", 2, 7}, {"100", 6, 3}} {
		s, object := resolved(t, "", append(sets, "clear_cache_every="+c.every)...)
		r := prepared(t, s, object, 1)
		rec := new(profiles.Iteration)
		for i := range want {
			*rec = profiles.Iteration{}
			if _, err := r.Iterate(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			if i > 0 && rec.Series[prism.SeriesLossNew] != want[i][1] {
				t.Fatalf("every %s: iteration %d: loss %v, want %v", c.every, i, rec.Series[prism.SeriesLossNew], want[i])
			}
		}
		if got := rec.Caches[prism.CacheMeasurement]; got.Hits != c.hits || got.Misses != c.misses {
			t.Errorf("every %s: %d hits and %d misses, want %d and %d", c.every, got.Hits, got.Misses, c.hits, c.misses)
		}
	}
}
