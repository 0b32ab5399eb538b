package stats

import "math"

// This file is the only one that decides what an interval allows to say.

// Claim is that a number lies from From to To, which may be infinite. A number outside by Margin or less still does.
type Claim struct{ From, To, Margin float64 }

// Zero is the claim that a number is 0, within a margin.
func Zero(margin float64) Claim { return Claim{0, 0, margin} }

// AtLeast is the claim that a number is not below a limit.
func AtLeast(limit float64) Claim { return Claim{limit, math.Inf(1), 0} }

// AtMost is the claim that a number is not above a limit.
func AtMost(limit float64) Claim { return Claim{math.Inf(-1), limit, 0} }

// Finding is what an interval allows to say of a claim.
type Finding uint8

// The findings.
const (
	// the interval reaches beyond the claim's margin and does not exclude the claim, or is not known
	Undecided Finding = iota
	Below             // the claim is excluded: the whole interval is below it
	Above             // above it
	Within            // the claim is shown: the whole interval is within its margin
)

// Judge returns what an interval, from low to high, allows to say. An interval with an end that is infinite or NaN is
// not known. One that excludes the claim but lies within its margin is Within: so small a difference does not matter.
func (c Claim) Judge(low, high float64) Finding {
	switch {
	case math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || math.IsInf(high, 0):
		return Undecided
	case low >= c.From-c.Margin && high <= c.To+c.Margin:
		return Within
	case high < c.From:
		return Below
	case low > c.To:
		return Above
	}
	return Undecided
}

// Excluded reports whether the interval excludes the claim.
func (f Finding) Excluded() bool { return f == Below || f == Above }

// Reach is how far an interval reaches from 0: "undecided (± 82 %)".
func Reach(low, high float64) float64 { return max(-low, high) }
