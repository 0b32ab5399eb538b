package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// memory draws n values of a line of the given slope with noise of deviation 1,
// each resembling the one before by rho.
func memory(r *rand.Rand, n int, slope, rho float64) (x, y []float64) {
	e := r.NormFloat64()
	for i := range n {
		e = rho*e + math.Sqrt(1-rho*rho)*r.NormFloat64()
		x, y = append(x, float64(i)), append(y, 1000+slope*float64(i)+e)
	}
	return x, y
}

// Over 400 repetitions the standard error of a share of 95 % is 1.1 %. Noise that
// resembles itself is corrected by an estimate, which leaves some per cent.
func TestTrendsIntervalHoldsTheTruthAsOftenAsItSays(t *testing.T) {
	const repetitions = 400
	for _, c := range []struct {
		name       string
		n          int
		slope, rho float64
		lowest     float64
	}{
		{"no slope", 60, 0, 0, 0.92},
		{"a leak", 60, 0.05, 0, 0.92},
		{"few points", 15, 0.05, 0, 0.90},
		{"correlated noise without a slope", 120, 0, 0.6, 0.90},
		{"correlated noise and a leak", 120, 0.05, 0.6, 0.90},
		{"strongly correlated", 160, 0, 0.9, 0.85},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			held := 0
			for seed := range uint64(repetitions) {
				r := rand.New(rand.NewPCG(seed, 5))
				trend := TheilSen(memory(r, c.n, c.slope, c.rho))
				if trend.Low <= c.slope && c.slope <= trend.High {
					held++
				}
			}
			if share := float64(held) / repetitions; share < c.lowest {
				t.Errorf("the interval held the truth in %.1f %% of runs, want %.0f", 100*share, 100*c.lowest)
			}
		})
	}
}

func TestALeakInNoiseIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	trend := TheilSen(memory(r, 120, 0.1, 0))
	// The standard error of a line through 120 points of deviation 1 is 0.0026.
	if noise(trend) || math.Abs(trend.Slope-0.1) > 0.01 || trend.High-trend.Low > 0.03 || trend.N != 120 {
		t.Errorf("%+v, want about 0.1", trend)
	}
}

func TestOneStepIsNoTrend(t *testing.T) {
	var x, y []float64
	for i := range 100 {
		x, y = append(x, float64(i)), append(y, 200)
		if i >= 40 {
			y[i] = 260
		}
	}
	if trend := TheilSen(x, y); !noise(trend) {
		t.Errorf("%+v, want an interval with 0 in it", trend)
	}
}

func TestAFlatLineHasNoSlopeAndNoInterval(t *testing.T) {
	trend := TheilSen([]float64{1, 2, 3, 4}, []float64{7, 7, 7, 7})
	if trend != (Trend{N: 4}) || !noise(trend) {
		t.Errorf("%+v", trend)
	}
	// 1e-12: a division and a subtraction.
	exact := TheilSen([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{0, 3, 6, 9, 12, 15, 18, 21, 24, 27})
	if math.Abs(exact.Slope-3) > 1e-12 || math.Abs(exact.Low-3) > 1e-12 || math.Abs(exact.High-3) > 1e-12 || noise(exact) {
		t.Errorf("%+v, want 3", exact)
	}
}

func TestTooFewPointsHaveNoTrend(t *testing.T) {
	for _, x := range [][]float64{nil, {1}, {1, 2}, {5, 5, 5}} {
		if trend := TheilSen(x, x); !math.IsNaN(trend.Slope) || !noise(trend) {
			t.Errorf("%v: %+v, want NaN", x, trend)
		}
	}
}

func BenchmarkTheilSen(b *testing.B) {
	x, y := memory(rand.New(rand.NewPCG(1, 1)), 160, 0.1, 0.5)
	for b.Loop() {
		TheilSen(x, y)
	}
}

// The interval of a power's exponent holds the true one in 95 of 100 series that scatter, and is unbounded for two points.
func TestPowersHaveTheirInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	x, held := []float64{1, 2, 4, 8, 16}, 0
	const series = 4000
	for range series {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = 5 * math.Pow(x[i], 2.5) * math.Exp(0.1*random.NormFloat64())
		}
		if _, low, high := Power(x, y); low <= 2.5 && 2.5 <= high {
			held++
		}
	}
	if share := float64(held) / series; share < 0.935 || share > 0.965 { // 0.95 ± 4 standard errors
		t.Errorf("%.3f of the intervals hold the exponent", share)
	}
	if e, low, high := Power([]float64{2, 4}, []float64{3, 12}); math.Abs(e-2) > 1e-12 || !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("%g [%g, %g]", e, low, high)
	}
	if e, _, _ := Power([]float64{2, 2}, []float64{3, 4}); !math.IsNaN(e) {
		t.Errorf("one x has the exponent %g", e)
	}
}

// noise reports whether a trend's interval contains 0.
func noise(t Trend) bool { return !Zero(0).Judge(t.Low, t.High).Excluded() }
