package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// StudentT returns the quantile of Student's t distribution with df degrees of freedom, not
// necessarily a whole number, that its absolute value exceeds with the given chance; infinite without
// degrees of freedom. The tail is an incomplete beta function (Abramowitz and Stegun 1964, 26.7.1).
func StudentT(df, chance float64) float64 {
	if !(df > 0) || !(chance > 0) {
		return math.Inf(1)
	}
	if chance >= 1 {
		return 0
	}
	x := mathext.InvRegIncBeta(df/2, 0.5, chance)
	return math.Sqrt(df * (1 - x) / x)
}
