package profiles

import "sort"

// Point is a bucket of a curve: the extremes and the mean of its iterations, so
// that no spike is lost by downsampling.
type Point struct {
	First, Last    int64 // Iteration.Index range, inclusive
	Min, Max, Mean float64
	Bins           Bins // of the values; empty for a curve without quantiles
}

// Curve is a downsampled series, oldest first. Gaps (NaN) are not stored.
type Curve []Point

// Between returns the part of the curve whose buckets overlap the iterations from
// first to last. It shares the points.
func (c Curve) Between(first, last int64) Curve {
	from := sort.Search(len(c), func(i int) bool { return c[i].Last >= first })
	to := sort.Search(len(c), func(i int) bool { return c[i].First > last })
	return c[from:max(from, to)]
}

// Nearest returns the index of the bucket that contains an iteration, or of the
// nearest one; −1 for an empty curve.
func (c Curve) Nearest(iteration int64) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].Last >= iteration })
	if i == len(c) || i > 0 && iteration < c[i].First && iteration-c[i-1].Last < c[i].First-iteration {
		i--
	}
	return i
}
