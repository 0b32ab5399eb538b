package profiles

import (
	"math"

	"prismtop/profiles/stats"
)

// Saving is the time saved by a cache, in nanoseconds, negative if it cost time, with a
// 95 % interval.
//
// It has two sources of uncertainty. The value of a hit is the median of a few timed
// computations; its interval is that of the sign test, and all hits share its error.
// The costs of lookups were measured individually, and a lookup slowed by an interrupt
// or cold memory says nothing about the others: the sum of n lookups has √n times the
// standard deviation of one, of which 1.96 are taken. The errors are independent, so
// each half of the interval is the root of the sum of their squares.
type Saving struct {
	Value, Low, High float64
	// Bounded is false if too few computations were timed for an interval.
	Bounded bool
}

// SavingLeast is the share of an iteration below which the saving or cost of a cache
// is negligible: far below what an effect can show.
const SavingLeast = 0.001

// NewSaving returns the saving of hits worth gross, at least low and at most high, minus n
// lookups whose costs sum to spent and their squares to squares.
func NewSaving(gross, low, high, n, spent, squares float64, bounded bool) Saving {
	noise := 1.96 * scatter(n, spent, squares)
	value := gross - spent
	return Saving{value, value - math.Hypot(gross-low, noise), value + math.Hypot(high-gross, noise), bounded}
}

// scatter returns the standard deviation of the sum of n values, from their sum and
// the sum of their squares. For a single value it is such
// that the 95 % interval reaches from 0 to twice the value.
func scatter(n, sum, squares float64) float64 {
	switch {
	case n < 1:
		return 0
	case n < 2:
		return math.Abs(sum) / 1.96
	}
	variance := max(0, squares-sum*sum/n) / (n - 1)
	return math.Sqrt(n * variance)
}

// Nothing reports whether nothing can be said of a saving, or it is negligible: its interval holds 0, or it is below
// SavingLeast of a time in nanoseconds.
func (s Saving) Nothing(of float64) bool {
	return s.HoldsZero() || math.Abs(s.Value) < SavingLeast*of
}

// HoldsZero reports whether the saving has an interval that holds 0.
func (s Saving) HoldsZero() bool { return s.Bounded && !stats.Zero(0).Judge(s.Low, s.High).Excluded() }

// Plus returns the saving of two caches, whose errors are independent.
func (s Saving) Plus(t Saving) Saving {
	value := s.Value + t.Value
	return Saving{value, value - math.Hypot(s.Value-s.Low, t.Value-t.Low),
		value + math.Hypot(s.High-s.Value, t.High-t.Value), s.Bounded && t.Bounded}
}

// Total returns Saved with its interval.
func (c *CacheCounters) Total() Saving {
	other := float64(c.Saved - c.Gross + c.Spent) // value of hits of smaller entries
	return NewSaving(other+float64(c.Gross), other+float64(c.GrossLow), other+float64(c.GrossHigh),
		float64(c.Hits+c.Misses), float64(c.Spent), c.SpentSquares, !c.Uncertain())
}

// PerIteration returns RecentSaved, with its interval, per iteration of the recent
// window; ok is false before the first iteration.
func (v *CacheView) PerIteration() (s Saving, ok bool) {
	if v.RecentIterations == 0 {
		return Saving{}, false
	}
	each := func(total int64) float64 { return float64(total) / float64(v.RecentIterations) }
	return Saving{each(v.RecentSaved), each(v.RecentLow), each(v.RecentHigh), !v.Uncertain()}, true
}
