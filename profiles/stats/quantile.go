// Package stats summarises measurements and says what an interval allows to claim; nothing else in the program judges
// one.
//
//	quantile.go    quantiles, the median's interval
//	student.go     Student's t, of means and of differences
//	signedrank.go  Wilcoxon's signed ranks, of pairs (Hodges and Lehmann's estimate)
//	trend.go       slopes
//	drift.go       the shift between two windows of iteration times beside what the machine drifts by
//	claim.go       the claim: faster, slower, alike, undecided
package stats

import "math"

// Number is the constraint of values that can be summarised.
type Number interface{ ~int32 | ~int64 | ~float64 }

// Quantile returns the q-quantile (0 to 1) of sorted, ascending values,
// interpolated linearly between the neighbours of rank q(n−1): Hyndman and Fan's
// definition 7, which NumPy and R use. It is NaN if there are no values.
func Quantile[T Number](sorted []T, q float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	rank := min(max(q, 0), 1) * float64(n-1)
	i := int(rank)
	if i+1 >= n {
		return float64(sorted[n-1])
	}
	low, high := float64(sorted[i]), float64(sorted[i+1])
	return low + (rank-float64(i))*(high-low)
}

// Mean returns the arithmetic mean, NaN if there are no values.
func Mean[T Number](values []T) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}
