package profiles

import "math"

// Saving is time that a cache saved, in nanoseconds, negative where it cost time, with a
// 95 % interval.
//
// Two things are uncertain about it. What a hit is worth is the median of a few timed
// computations; its interval is that of the sign test, and all hits share its error.
// What lookups cost was measured one by one, and a lookup that an interrupt or cold
// memory met says nothing of the others: the sum of n lookups scatters by √n times the
// standard deviation of one, of which 1.96 are taken. The errors are independent, so
// the interval's halves are the root of the sum of their squares.
type Saving struct {
	Value, Low, High float64
	// Bounded is false where too few computations were timed for an interval.
	Bounded bool
}

// SavingLeast is the share of an iteration below which what a cache saves or costs is
// about nothing: far below what an effect can show.
const SavingLeast = 0.001

// NewSaving is that of hits that are worth gross, or as little as low or as much as high, less
// n lookups that cost spent together and their squares squares.
func NewSaving(gross, low, high, n, spent, squares float64, bounded bool) Saving {
	noise := 1.96 * scatter(n, spent, squares)
	value := gross - spent
	return Saving{value, value - math.Hypot(gross-low, noise), value + math.Hypot(high-gross, noise), bounded}
}

// scatter is the standard deviation of the sum of n values, from the sum and that of
// their squares. A single value may be anything up to twice itself.
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

// Nothing tells whether a saving is about nothing: its interval holds 0, or it is below
// SavingLeast of a time in nanoseconds.
func (s Saving) Nothing(of float64) bool {
	return s.Bounded && s.Low <= 0 && s.High >= 0 || math.Abs(s.Value) < SavingLeast*of
}

// Plus is the saving of two caches, whose errors are independent.
func (s Saving) Plus(t Saving) Saving {
	value := s.Value + t.Value
	return Saving{value, value - math.Hypot(s.Value-s.Low, t.Value-t.Low), value + math.Hypot(s.High-s.Value, t.High-t.Value), s.Bounded && t.Bounded}
}

// Total is Saved with its interval.
func (c *CacheCounters) Total() Saving {
	other := float64(c.Saved - c.Gross + c.Spent) // worth of hits of smaller entries
	return NewSaving(other+float64(c.Gross), other+float64(c.GrossLow), other+float64(c.GrossHigh),
		float64(c.Hits+c.Misses), float64(c.Spent), c.SpentSquares, !c.Uncertain())
}

// PerIteration is RecentSaved with its interval for one iteration of the recent window;
// ok is false before the first.
func (v *CacheView) PerIteration() (s Saving, ok bool) {
	if v.RecentIterations == 0 {
		return Saving{}, false
	}
	each := func(total int64) float64 { return float64(total) / float64(v.RecentIterations) }
	return Saving{each(v.RecentSaved), each(v.RecentLow), each(v.RecentHigh), !v.Uncertain()}, true
}
