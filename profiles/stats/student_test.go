package stats

import (
	"math"
	"testing"
)

// The quantiles are those of the usual tables, two-sided.
func TestStudentTIsTheTables(t *testing.T) {
	for _, c := range []struct{ df, chance, want float64 }{
		{1, 0.05, 12.706}, {4, 0.05, 2.776}, {10, 0.01, 3.169}, {18, 0.05, 2.101}, {30, 0.001, 3.646}, {1e6, 0.05, 1.960},
	} {
		if got := StudentT(c.df, c.chance); math.Abs(got-c.want) > 6e-4 { // the tables have three decimals
			t.Errorf("t of %g degrees of freedom at %g is %.4f, want %.3f", c.df, c.chance, got, c.want)
		}
	}
	if got := StudentT(0, 0.05); !math.IsInf(got, 1) {
		t.Errorf("without degrees of freedom it is %g", got)
	}
}
