package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// times draws n iteration times about a median of 5 ms.
type times func(r *rand.Rand, n int, median float64) []int64

func lognormal(r *rand.Rand, n int, median float64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(median * math.Exp(0.05*r.NormFloat64()))
	}
	return out
}

// stalling is a loop that one iteration in ten is interrupted for as long as a
// Pareto distribution without a mean says.
func stalling(r *rand.Rand, n int, median float64) []int64 {
	out := lognormal(r, n, median)
	for i := range out {
		if r.Float64() < 0.1 {
			out[i] += int64(0.2 * median * (math.Pow(r.Float64(), -1.25) - 1))
		}
	}
	return out
}

// moody is a first-order autoregression with correlation 0.3 between neighbours.
func moody(r *rand.Rand, n int, median float64) []int64 {
	out := make([]int64, n)
	e := r.NormFloat64()
	for i := range out {
		e = 0.3*e + math.Sqrt(1-0.09)*r.NormFloat64()
		out[i] = int64(median * math.Exp(0.05*e))
	}
	return out
}

// An interval of 95 % holds the truth in 95 % of repetitions. Over 500 of them
// the standard error is 1 %, so 3 % either side is what chance allows; windows
// of 20 and correlated times may fall 2 % short besides, as the percentile
// bootstrap does for few independent values.
func TestIntervalHoldsTheTruthAsOftenAsItSays(t *testing.T) {
	const repetitions = 500
	for _, c := range []struct {
		name   string
		times  times
		n      int
		shift  float64
		lowest float64
	}{
		{"31 % faster", lognormal, 60, -0.31, 0.92},
		{"4 % slower", lognormal, 60, 0.04, 0.92},
		{"no effect", lognormal, 60, 0, 0.92},
		{"few iterations", lognormal, 20, -0.1, 0.90},
		{"stalls", stalling, 60, -0.2, 0.92},
		{"stalls without an effect", stalling, 60, 0, 0.92},
		{"correlated", moody, 60, -0.1, 0.90},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			held := 0
			for seed := range uint64(repetitions) {
				r := rand.New(rand.NewPCG(seed, 11))
				s := MedianShift(c.times(r, c.n, 5e6), c.times(r, c.n, 5e6*(1+c.shift)), seed)
				if s.Low <= c.shift && c.shift <= s.High {
					held++
				}
			}
			if share := float64(held) / repetitions; share < c.lowest || share > 0.98 {
				t.Errorf("the interval held the truth in %.1f %% of runs, want %.0f to 98 %%", 100*share, 100*c.lowest)
			}
		})
	}
}

// Half of the after-window's mean is stalls; the medians still tell the shift.
func TestShiftOfMediansIgnoresStalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	before, after := lognormal(r, 200, 5e6), lognormal(r, 200, 3.5e6)
	for i := 0; i < len(after); i += 8 {
		after[i] += 50e6
	}
	s := MedianShift(before, after, 1)
	// 3 %: the standard error of the medians' ratio is 0.6 %, and moving an eighth of
	// the values above the median moves it by a sixth of the spread of 5 %.
	if math.Abs(s.Relative+0.3) > 0.03 || s.Low > -0.3 || s.High < -0.3 || s.High-s.Low > 0.06 {
		t.Errorf("shift %.3f [%.3f, %.3f], want about −0.300", s.Relative, s.Low, s.High)
	}
}

func TestTheSameWindowsAndSeedGiveTheSameInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	before, after := lognormal(r, 50, 5e6), lognormal(r, 41, 4e6)
	one, two := MedianShift(before, after, 9), MedianShift(before, after, 9)
	if one != two {
		t.Errorf("%+v and %+v", one, two)
	}
	if other := MedianShift(before, after, 10); one.Low == other.Low && one.High == other.High {
		t.Error("another seed drew the same resamples")
	}
}

func TestMedianShiftLeavesItsWindowsAlone(t *testing.T) {
	before, after := []int64{5, 1, 4, 2, 3}, []int64{9, 7, 8}
	b, a := slices.Clone(before), slices.Clone(after)
	s := MedianShift(before, after, 1)
	if !slices.Equal(before, b) || !slices.Equal(after, a) {
		t.Errorf("windows became %v and %v", before, after)
	}
	// 1e-12: one division and one subtraction.
	if s.Before != 3 || s.After != 8 || math.Abs(s.Relative-5.0/3) > 1e-12 {
		t.Errorf("%+v, want medians 3 and 8", s)
	}
}

func TestMedianShiftOfAnEmptyWindowIsNaN(t *testing.T) {
	for _, s := range []Shift{MedianShift(nil, []int64{1}, 1), MedianShift([]int64{1}, nil, 1)} {
		if !math.IsNaN(s.Relative) || !math.IsNaN(s.Low) || !math.IsNaN(s.High) {
			t.Errorf("%+v, want NaN", s)
		}
	}
}

// The middle of what was drawn is the median of the resampled window itself.
func TestResampledMedianIsTheMedianOfTheDraw(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := 1; n <= 12; n++ {
		window := lognormal(r, n, 1000)
		rs := newResampler(window)
		draw := make([]int64, n)
		for range 50 {
			clear(rs.drawn)
			for i := range draw {
				at := r.IntN(n)
				draw[i] = window[at]
				rs.drawn[rs.ranks[at]]++
			}
			slices.Sort(draw)
			if got, want := rs.middle(), Quantile(draw, 0.5); got != want {
				t.Fatalf("n %d: middle %v, want %v of %v", n, got, want, draw)
			}
		}
	}
}

func BenchmarkMedianShift(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name string
		n    int
	}{{"20 a side", 20}, {"200 a side", 200}} {
		before, after := lognormal(r, c.n, 5e6), lognormal(r, c.n, 4e6)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				MedianShift(before, after, 1)
			}
		})
	}
}
