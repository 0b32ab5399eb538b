package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is how often MedianShift draws both windows anew. The ends of a 95 %
// interval then rest on the 12 outermost draws on each side.
const Resamples = 500

// Shift compares the medians of two windows.
type Shift struct {
	Before, After float64 // medians, in the windows' unit
	Relative      float64 // After/Before − 1
	Low, High     float64 // 95 % bootstrap interval of Relative
}

// MedianShift compares two windows of times, each in the order of measurement,
// all greater than 0. The interval is the percentile interval of a circular
// block bootstrap (Politis and Romano 1992): iterations that follow each other
// share the machine's mood, so blocks of about ∛n of them are drawn, not single
// ones. Medians make it robust against stalls. The same windows and seed give
// the same interval. All fields are NaN when a window is empty.
func MedianShift(before, after []int64, seed uint64) Shift {
	if len(before) == 0 || len(after) == 0 {
		nan := math.NaN()
		return Shift{nan, nan, nan, nan, nan}
	}
	b, a := newResampler(before), newResampler(after)
	s := Shift{Before: Quantile(b.sorted, 0.5), After: Quantile(a.sorted, 0.5)}
	s.Relative = s.After/s.Before - 1

	random := rand.NewPCG(seed, uint64(len(before))<<32|uint64(len(after)))
	var shifts [Resamples]float64
	for i := range shifts {
		shifts[i] = a.median(random)/b.median(random) - 1
	}
	slices.Sort(shifts[:])
	s.Low, s.High = Quantile(shifts[:], 0.025), Quantile(shifts[:], 0.975)
	return s
}

// resampler draws windows anew and takes their medians in time linear in n: it
// counts how often each rank was drawn and walks to the middle.
type resampler struct {
	sorted []int64
	ranks  []int32 // rank of each value, in the order of measurement
	drawn  []int32 // per rank; scratch
	block  int
}

func newResampler(window []int64) *resampler {
	n := len(window)
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		switch {
		case window[i] < window[j]:
			return -1
		case window[i] > window[j]:
			return 1
		}
		return 0
	})
	r := &resampler{
		sorted: make([]int64, n),
		ranks:  make([]int32, n),
		drawn:  make([]int32, n),
		block:  max(1, int(math.Round(math.Cbrt(float64(n))))),
	}
	for rank, i := range order {
		r.sorted[rank], r.ranks[i] = window[i], int32(rank)
	}
	return r
}

// median is the median of one resampled window.
func (r *resampler) median(random *rand.PCG) float64 {
	n := len(r.ranks)
	clear(r.drawn)
	for left := n; left > 0; {
		// The high bits of a product are uniform below n but for 2⁻³² (Lemire).
		at := int((random.Uint64() >> 32) * uint64(n) >> 32)
		for range min(r.block, left) {
			r.drawn[r.ranks[at]]++
			if at++; at == n {
				at = 0
			}
		}
		left -= r.block
	}
	return r.middle()
}

// middle is the median of the drawn ranks: the mean of the middle two when even.
func (r *resampler) middle() float64 {
	n := int32(len(r.ranks))
	low, high := (n-1)/2, n/2
	sum := int32(0)
	for rank, times := range r.drawn {
		sum += times
		if sum <= low {
			continue
		}
		if sum > high {
			return float64(r.sorted[rank])
		}
		next := rank + 1
		for r.drawn[next] == 0 {
			next++
		}
		return (float64(r.sorted[rank]) + float64(r.sorted[next])) / 2
	}
	return math.NaN()
}
