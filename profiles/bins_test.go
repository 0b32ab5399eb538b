package profiles

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantilesOfJoinedBinsAreThoseOfTheValues(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	for range 200 {
		var values []float64
		parts := make([]Bins, 1+random.IntN(9))
		for i := range parts {
			for range random.IntN(60) {
				v := math.Exp(3 * random.NormFloat64())
				values = append(values, v)
				parts[i] = parts[i].Add(v)
			}
		}
		var all Bins
		for _, p := range parts {
			before := slices.Clone(p)
			all = all.Join(p)
			if !slices.Equal(p, before) {
				t.Fatal("joining wrote what it joined")
			}
		}
		if len(values) == 0 {
			if !math.IsNaN(all.Quantile(0.5)) {
				t.Fatal("nothing has a median")
			}
			continue
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 1} {
			want := values[int(q*float64(len(values)-1))]
			if got := all.Quantile(q); math.Abs(got/want-1) > 0.0101 {
				t.Fatalf("quantile %g of %d values: %g, want %g", q, len(values), got, want)
			}
		}
	}
}
