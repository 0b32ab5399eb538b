package stats

import (
	"math"
	"testing"
)

func TestQuantileInterpolatesBetweenNeighbours(t *testing.T) {
	for _, c := range []struct {
		sorted []int64
		q      float64
		want   float64
	}{
		{[]int64{7}, 0.9, 7},
		{[]int64{1, 2}, 0.5, 1.5},
		{[]int64{1, 2, 3, 4, 10}, 0.5, 3},
		{[]int64{1, 2, 3, 4, 10}, 0.9, 7.6}, // rank 3.6: 4 + 0.6·6
		{[]int64{1, 2, 3, 4, 10}, 0, 1},
		{[]int64{1, 2, 3, 4, 10}, 1, 10},
		{[]int64{1, 2, 3, 4, 10}, 2, 10},
		{[]int64{1, 2, 3, 4, 10}, -1, 1},
	} {
		// 1e-12: the interpolation rounds once.
		if got := Quantile(c.sorted, c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.sorted, c.q, got, c.want)
		}
	}
}

func TestNothingHasNoQuantileAndNoMean(t *testing.T) {
	if q, m := Quantile([]float64(nil), 0.5), Mean([]float64(nil)); !math.IsNaN(q) || !math.IsNaN(m) {
		t.Errorf("quantile %v, mean %v of nothing; want NaN", q, m)
	}
}
