package compare

import (
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Where a side's values lie, with their variance and the margin of a difference, and which blocks of a recording count.

const (
	// leastBlocks is the least number of blocks of a recording from which its noise is known.
	leastBlocks = 8
	// batches is the number of batches of neighbouring blocks whose medians give the noise: neighbours
	// resemble each other, long batches hardly do.
	batches = 10
	// quarters is the number of parts that a run is compared with itself in.
	quarters = 4
)

// level is where a side's values lie.
type level struct {
	value    float64
	variance float64 // of the value
	df       float64 // degrees of freedom of the variance
	floor    float64 // the most that the side differs from itself
	blocks   int
}

// levelOf returns the level of a side's recordings, each with its values in the order of measurement.
// With LeastReplicas recordings the variance is that between them; with fewer, it is that of batches
// within them (Law and Kelton's batch means), to which two recordings add their distance.
func levelOf(runs [][]float64) level {
	var l level
	values := make([]float64, 0, len(runs))
	for _, all := range runs {
		own := slices.DeleteFunc(slices.Clone(all), math.IsNaN)
		l.blocks += len(own)
		if len(own) == 0 {
			continue
		}
		value, variance, df, floor := alone(own)
		values = append(values, value)
		l.variance += variance
		l.df += df
		l.floor = max(l.floor, floor)
	}
	n := float64(len(values))
	if n == 0 {
		return level{value: math.NaN(), variance: math.NaN(), floor: math.NaN()}
	}
	l.value = stats.Mean(values)
	l.variance /= n * n
	apart := slices.Max(values) - slices.Min(values)
	switch {
	case len(values) >= LeastReplicas:
		l.variance, l.df, l.floor = stats.Variance(values)/n, n-1, apart
	case len(values) > 1:
		l.variance = max(l.variance, stats.Variance(values)/n)
		l.floor = max(l.floor, apart)
	}
	return l
}

// alone returns the median of a recording's values, its variance and how far it moves by itself: the
// range of the medians of its quarters. It is not known from fewer than leastBlocks values.
func alone(values []float64) (value, ofValue, df, floor float64) {
	value = stats.Median(values)
	n := len(values)
	if n < leastBlocks {
		return value, math.Inf(1), 0, math.NaN()
	}
	parts := func(k int) []float64 {
		medians := make([]float64, k)
		for i := range medians {
			medians[i] = stats.Median(values[i*n/k : (i+1)*n/k])
		}
		return medians
	}
	k := min(batches, n)
	of := parts(quarters)
	return value, stats.Variance(parts(k)) / float64(k), float64(k - 1), slices.Max(of) - slices.Min(of)
}

// margin is half the length of the interval of the difference of two levels, which misses the truth
// with a chance of miss: Welch's interval, but never narrower than what either side differs from itself.
// Replicated sides need no such floor: their variance has it.
func margin(a, b level, replicated bool, miss float64) float64 {
	m := stats.WelchHalf(a.variance, a.df, b.variance, b.df, miss)
	if !replicated {
		m = max(m, a.floor, b.floor)
	}
	return m
}

// kept are the blocks of a recording that are compared.
type kept struct {
	blocks    []*block
	disturbed int
	// Why its times are not comparable; empty if they are.
	reason, brief string
}

// keep chooses the blocks of a kind under a set of settings: the undisturbed ones where they are
// enough. If they are not, all give values, but no verdict.
func (s *Sample) keep(kind profiles.Kind, under int, maxForeign float64) (k kept) {
	var all []*block
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.kind != kind || b.under != under {
			continue
		}
		all = append(all, b)
		if b.foreign > maxForeign {
			k.disturbed++
			continue
		}
		k.blocks = append(k.blocks, b)
	}
	if len(k.blocks) >= leastBlocks {
		return k
	}
	k.reason, k.brief = tooShort(len(all)), "too short"
	if len(all) >= leastBlocks {
		k.reason, k.brief = othersTook(all)
	}
	k.blocks, k.disturbed = all, 0
	return k
}
