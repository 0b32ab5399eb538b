package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The cuts are those of the tables of Wilcoxon's test, two-sided at 5 %, whose
// critical value T is the largest sum that rejects.
func TestSignedRankCutsAreTheTables(t *testing.T) {
	for n, want := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89} {
		if k, ok := signedRankCut(n, 0.025); !ok || k != want {
			t.Errorf("n = %d: cut %d, %v; want %d", n, k, ok, want)
		}
	}
	for n := range SignedRankLeast {
		if k, ok := signedRankCut(n, 0.025); ok {
			t.Errorf("n = %d has a cut, %d", n, k)
		}
	}
}

func TestSignedRankOfKnownValues(t *testing.T) {
	// Pair means by hand: 1 1.5 2 2 2.5 3 for 1 2 3; the median is 2.
	if c := SignedRank([]float64{3, 1, 2}); c.Value != 2 || !math.IsInf(c.Low, -1) || !math.IsInf(c.High, 1) {
		t.Errorf("three values: %+v", c)
	}
	if c := SignedRank([]float64{1, 2, 3, 4, 5, 600}); c.Value > 5 || c.Low != 1 || c.High != 600 {
		t.Errorf("six values with a wild one: %+v", c)
	}
	if c := SignedRank(nil); !math.IsNaN(c.Value) {
		t.Errorf("no values: %+v", c)
	}
}

func TestSettledValuesAreThoseOfASort(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	for n := range 200 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(r.IntN(1 + n/2)) // some are equal
		}
		sorted := slices.Sorted(slices.Values(values))
		ranks := []int{n / 2, n/2 + 1, 0, n - 1, n / 10, n * 95 / 100}
		for _, k := range ranks {
			Settle(values, k)
		}
		for _, k := range ranks {
			if k >= 0 && k < n && values[k] != sorted[k] {
				t.Errorf("%d of %d values: %g, want %g", k, n, values[k], sorted[k])
			}
		}
	}
}

// A 95 % interval contains the truth in at least that share of repetitions; 2000
// of them have a standard error of 0.5 %.
func TestSignedRankHoldsTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{6, 8, 12} {
		held := 0
		const repetitions = 2000
		for range repetitions {
			values := make([]float64, n)
			for i := range values {
				values[i] = 0.3 + 0.1*r.NormFloat64()
				if r.Float64() < 0.1 { // a disturbed block, either way
					values[i] += 5 * r.NormFloat64()
				}
			}
			if c := SignedRank(values); c.Low <= 0.3 && 0.3 <= c.High {
				held++
			}
		}
		if share := float64(held) / repetitions; share < 0.94 {
			t.Errorf("n = %d: %.3f of the intervals hold the truth", n, share)
		}
	}
}

// The number of values that an interval needs is the first with a cut.
func TestSignedRankNeedsEnoughForACut(t *testing.T) {
	for _, miss := range []float64{0.05, 0.05 / 8, 0.05 / 22, 0.05 / 39} {
		n := SignedRankNeeds(miss)
		_, enough := signedRankCut(n, miss/2)
		_, few := signedRankCut(n-1, miss/2)
		if !enough || few {
			t.Errorf("a miss of %g needs %d values: %v, with one less %v", miss, n, enough, few)
		}
	}
	if n := SignedRankNeeds(0.05); n != SignedRankLeast {
		t.Errorf("5 %% needs %d", n)
	}
}
