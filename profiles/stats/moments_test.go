package stats

import (
	"math"
	"testing"
)

// near is what rounding may do.
func near(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-9 }

// The numbers are those of R: t.test, with and without var.equal = FALSE, and lm.
func TestMeansWithIntervals(t *testing.T) {
	a, b := []float64{1, 2, 3, 4}, []float64{2, 4, 9}
	for name, c := range map[string]struct {
		got  Centre
		want Centre
	}{
		"Student":   {Student(a, 0.05), Centre{2.5, 0.445739743239121, 4.554260256760879}},
		"one value": {Student(a[:1], 0.05), Centre{1, math.Inf(-1), math.Inf(1)}},
		"Welch":     {Welch(a, a, 0.05), Centre{0, -2.2337146930, 2.2337146930}},
		"too few":   {Welch(a, b[:1], 0.05), Centre{0.5, math.Inf(-1), math.Inf(1)}},
		"constant":  {Welch([]float64{2, 2}, []float64{1, 1}, 0.05), Centre{1, 1, 1}},
	} {
		if far := math.Abs(c.got.Low - c.want.Low); !near(c.got.Value, c.want.Value) || c.got.Low != c.want.Low && !(far < 1e-6) || c.got.High != c.want.High && !(math.Abs(c.got.High-c.want.High) < 1e-6) {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
	if m, v := Median(b), Variance(b); m != 4 || v != 13 || !math.IsNaN(Variance(b[:1])) {
		t.Errorf("median %g, variance %g", m, v)
	}
	if at, slope, r2 := Line([]float64{0, 1, 2}, []float64{1, 3, 5}, nil); !near(at, 1) || !near(slope, 2) || !near(r2, 1) {
		t.Errorf("%g + %g x, R² %g", at, slope, r2)
	}
	if _, slope, _ := Line([]float64{1, 1}, []float64{1, 3}, nil); !math.IsNaN(slope) {
		t.Errorf("a slope of %g", slope)
	}
}

// Example of Welch's interval with a known solution: two samples of NIST/SEMATECH's kind, worked by hand.
func TestWelch(t *testing.T) {
	a, b := []float64{1, 2, 3, 4}, []float64{2, 4, 6}
	e := Welch(a, b, 0.05)
	// means 2.5 and 4, variances 5/3 and 4: s² = 5/12 + 4/3 = 1.75; df = 1.75² / ((5/12)²/3 + (4/3)²/2) = 3.235; t(0.975) = 3.056
	if math.Abs(e.Value+1.5) > 1e-12 || math.Abs(e.High-e.Value-3.056*math.Sqrt(1.75)) > 0.02 {
		t.Errorf("%+v", e)
	}
	if e := Welch(a, b[:1], 0.05); !math.IsInf(e.Low, -1) || e.Value != 0.5 {
		t.Errorf("one value has no interval: %+v", e)
	}
}
