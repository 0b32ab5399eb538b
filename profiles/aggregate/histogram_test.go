package aggregate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

func TestHistogramBucketsHoldTheirTimes(t *testing.T) {
	for _, ns := range []int64{0, 1, 127, 128, 129, 255, 256, 1000, 4_999_999, 1 << 30, maxTime} {
		low, width := bucketRange(bucketOf(ns))
		if v := float64(ns); v < low || v >= low+width || width > max(1, low/subBuckets) {
			t.Errorf("%d ns lies in [%v, +%v)", ns, low, width)
		}
	}
	if b := bucketOf(math.MaxInt64); b != len(histogram{}.buckets)-1 {
		t.Errorf("the longest time lies in bucket %d", b)
	}
	if b := bucketOf(-5); b != 0 {
		t.Errorf("a negative time lies in bucket %d", b)
	}
}

func TestHistogramQuantilesAreExactToTheirResolution(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, n := range []int{1, 2, 10, 5000} {
		h, values := new(histogram), make([]int64, n)
		for i := range values {
			values[i] = int64(5e6 * math.Exp(0.3*r.NormFloat64()))
			h.add(values[i])
		}
		last := values[n-1]
		slices.Sort(values)
		s := h.spread()
		for _, c := range []struct{ q, got float64 }{{0.1, s.P10}, {0.5, s.Median}, {0.9, s.P90}, {0.95, s.P95}} {
			if want := stats.Quantile(values, c.q); math.Abs(c.got-want) > want/128 {
				t.Errorf("n %d: quantile %v is %v, want %v", n, c.q, c.got, want)
			}
		}
		if mean := stats.Mean(values); math.Abs(s.Mean-mean) > 1e-9*mean || s.N != n || s.Last != float64(last) {
			t.Errorf("n %d: %+v, mean %v", n, s, mean)
		}
	}
	if s := new(histogram).spread(); s != (profiles.Spread{}) {
		t.Errorf("nothing has %+v", s)
	}
}
