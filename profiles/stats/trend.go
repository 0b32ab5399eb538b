package stats

import (
	"math"
	"slices"
)

// The slope of a series and whether it is more than noise.

// Trend is the slope of a series of measurements.
type Trend struct {
	Slope     float64 // the unit of y per unit of x
	Low, High float64 // 95 % interval of Slope
	N         int     // measurements
}

// normal95 is the two-sided 95 % quantile of the normal distribution.
const normal95 = 1.959964

// TheilSen fits a line through y over x, which ascends: the median slope of all
// pairs of points (Theil 1950, Sen 1968), which is robust against a step or some
// outliers. The interval is Sen's, from the variance of Kendall's statistic
// corrected for ties of y and widened for residuals with first-order
// autocorrelation (Yue and Wang 2004). With fewer than 3 points the result is
// NaN. It takes time n² log n.
func TheilSen(x, y []float64) Trend {
	n := min(len(x), len(y))
	slopes := pairSlopes(x[:n], y[:n])
	if n < 3 || len(slopes) == 0 {
		return Trend{math.NaN(), math.NaN(), math.NaN(), n}
	}
	slices.Sort(slopes)
	t := Trend{Slope: Quantile(slopes, 0.5), N: n}
	spread := normal95 * math.Sqrt(kendallVariance(y[:n])*inflation(x[:n], y[:n], t.Slope))
	middle := float64(len(slopes)) / 2
	last := len(slopes) - 1
	t.Low = slopes[min(max(int(math.Floor(middle-spread/2))-1, 0), last)]
	t.High = slopes[min(max(int(math.Ceil(middle+spread/2)), 0), last)]
	return t
}

// pairSlopes returns the slopes between all pairs of points that differ in x.
func pairSlopes(x, y []float64) []float64 {
	slopes := make([]float64, 0, len(x)*(len(x)-1)/2)
	for i := range x {
		for j := range i {
			if x[i] > x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	return slopes
}

// kendallVariance returns the variance of Kendall's S for n values without a
// trend.
func kendallVariance(y []float64) float64 {
	term := func(n int) float64 { return float64(n) * float64(n-1) * float64(2*n+5) }
	sorted := slices.Sorted(slices.Values(y))
	v := term(len(y))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		v -= term(j - i)
		i = j
	}
	return v / 18
}

// inflation returns the factor by which correlated residuals widen a variance:
// (1+ρ)/(1−ρ) for the correlation ρ of neighbours, which is estimated from ranks,
// because memory changes in steps, and corrected for the bias caused by the
// fitted line.
func inflation(x, y []float64, slope float64) float64 {
	n := len(y)
	order := make([]int, n)
	residual := make([]float64, n)
	for i := range y {
		order[i], residual[i] = i, y[i]-slope*x[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case residual[a] < residual[b]:
			return -1
		case residual[a] > residual[b]:
			return 1
		}
		return 0
	})
	rank := make([]float64, n)
	for i := 0; i < n; {
		j := i
		for j < n && residual[order[j]] == residual[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			rank[order[k]] = float64(i+j-1)/2 - float64(n-1)/2
		}
		i = j
	}
	var square, product float64
	for i, r := range rank {
		square += r * r
		if i > 0 {
			product += r * rank[i-1]
		}
	}
	if square == 0 || n < 8 {
		return 1
	}
	rho := (product/square + 2/float64(n)) / (1 - 4/float64(n))
	rho = min(max(rho, 0), 0.98)
	return (1 + rho) / (1 - rho)
}

// Line fits y = fixed + slope·x by least squares with weights, 1 each if they are nil. The
// slope is NaN for fewer than two different x.
func Line(x, y, weights []float64) (fixed, slope, r2 float64) {
	var n, sx, sy, sxx, sxy, syy float64
	for i := range x {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		n, sx, sy = n+w, sx+w*x[i], sy+w*y[i]
	}
	mx, my := sx/n, sy/n
	for i := range x {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		dx, dy := x[i]-mx, y[i]-my
		sxx, sxy, syy = sxx+w*dx*dx, sxy+w*dx*dy, syy+w*dy*dy
	}
	if len(x) < 2 || sxx == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slope = sxy / sxx
	r2 = 1
	if syy > 0 {
		r2 = sxy * sxy / (sxx * syy)
	}
	return my - slope*mx, slope, r2
}

// Power fits y = factor·x^exponent by least squares of the logarithms. The exponent has the 95 % interval of Student's
// t for the residuals: infinite for two different x, and NaN with the exponent for fewer. All numbers are positive.
func Power(x, y []float64) (exponent, low, high float64) {
	lx, ly := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		lx[i], ly[i] = math.Log(x[i]), math.Log(y[i])
	}
	fixed, slope, _ := Line(lx, ly, nil)
	if math.IsNaN(slope) {
		return slope, slope, slope
	}
	mean, spread, rest := Mean(lx), 0.0, 0.0
	for i := range lx {
		spread += (lx[i] - mean) * (lx[i] - mean)
		r := ly[i] - fixed - slope*lx[i]
		rest += r * r
	}
	free := float64(len(x) - 2)
	if free == 0 {
		return slope, math.Inf(-1), math.Inf(1)
	}
	reach := StudentT(free, 0.05) * math.Sqrt(rest/free/spread)
	return slope, slope - reach, slope + reach
}
