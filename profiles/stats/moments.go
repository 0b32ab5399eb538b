package stats

import (
	"math"
	"slices"
)

// Medians, means and variances, and the intervals of Student and Welch.

// Median returns the median of values in any order, NaN if there are none.
func Median[T Number](values []T) float64 {
	return Quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// Variance returns the sample variance, NaN for fewer than two values.
func Variance(values []float64) float64 {
	mean, sum := Mean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(values)-1)
}

// Student returns the mean of values with Student's interval, which misses the truth with the given chance; it is
// infinite for fewer than two values.
func Student(values []float64, miss float64) Centre {
	c := Centre{Value: Mean(values), Low: math.Inf(-1), High: math.Inf(1)}
	if n := float64(len(values)); n > 1 {
		half := StudentT(n-1, miss) * math.Sqrt(Variance(values)/n)
		c.Low, c.High = c.Value-half, c.Value+half
	}
	return c
}

// Welch returns the difference of two means, a − b, with Welch's interval (Welch 1947, The generalization of
// "Student's" problem when several different population variances are involved). It is infinite for fewer than two
// values on a side.
func Welch(a, b []float64, miss float64) Centre {
	c := Centre{Value: Mean(a) - Mean(b), Low: math.Inf(-1), High: math.Inf(1)}
	na, nb := float64(len(a)), float64(len(b))
	if na < 2 || nb < 2 {
		return c
	}
	half := WelchHalf(Variance(a)/na, na-1, Variance(b)/nb, nb-1, miss)
	c.Low, c.High = c.Value-half, c.Value+half
	return c
}

// WelchHalf returns half the length of Welch's interval of the difference of two means, whose variances are known with
// degrees of freedom; 0 if neither varies.
func WelchHalf(a, dfA, b, dfB, miss float64) float64 {
	v := a + b
	if !(v > 0) {
		return 0
	}
	df := v * v / (a*a/dfA + b*b/dfB)
	if math.IsNaN(df) { // one of them does not vary, and is of a single value
		df = min(dfA, dfB)
	}
	return StudentT(df, miss) * math.Sqrt(v)
}
