package chart

import (
	"math"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// scale maps values to rows of dots, linearly or by their logarithm.
type scale struct {
	lo, hi float64
	log    bool
	ends   *[2]float64 // logarithms of lo and hi, if they were computed
}

// prepared returns the scale with what at needs for every value computed once.
func (s scale) prepared() scale {
	if s.log {
		s.ends = &[2]float64{math.Log10(s.lo), math.Log10(s.hi)}
	}
	return s
}

// at returns the position of v between lo (0) and hi (1), clamped; clipped reports whether v was
// above hi.
func (s scale) at(v float64) (f float64, clipped bool) {
	lo, hi := s.lo, s.hi
	if s.log {
		if v <= 0 {
			return 0, false
		}
		if s.ends == nil {
			s = s.prepared()
		}
		v, lo, hi = math.Log10(v), s.ends[0], s.ends[1]
	}
	if !(hi > lo) {
		return 0, false
	}
	f = (v - lo) / (hi - lo)
	return min(max(f, 0), 1), f > 1
}

// ticks returns at most n values to label (n ≥ 2).
func (s scale) ticks(n int) []float64 {
	var t []float64
	if s.log {
		lo, hi := int(math.Ceil(math.Log10(s.lo)-1e-9)), int(math.Floor(math.Log10(s.hi)+1e-9))
		if hi-lo < 1 { // not two powers of ten to label
			return []float64{s.lo, s.hi}
		}
		step := max(1, (hi-lo+n-2)/(n-1))
		for e := lo; e <= hi; e += step {
			t = append(t, math.Pow(10, float64(e)))
		}
		return t
	}
	for i := range n {
		t = append(t, s.lo+(s.hi-s.lo)*float64(i)/float64(n-1))
	}
	return t
}

// Ceiling returns the top of a linear axis from 0 for a curve: a round number above its usual
// values, so that one spike does not flatten the rest. The chart marks spikes above it. The
// previous ceiling is kept while the curve fills more than half of it, so that the axis does not
// flicker.
func Ceiling(c profiles.Curve, previous float64) float64 {
	means := make([]float64, 0, len(c))
	top := 0.0
	for _, p := range c {
		if usable(p, false) {
			means = append(means, p.Mean)
			top = max(top, p.Max)
		}
	}
	if len(means) == 0 || top <= 0 {
		return 1
	}
	most := len(means) * 95 / 100
	stats.Settle(means, most)
	top = min(top, 1.3*means[most])
	if top <= 0 {
		return 1
	}
	if top <= previous && top > previous/2 {
		return previous
	}
	return RoundUp(top)
}

// Range returns a linear axis between round numbers that contains the curve but for its first point and
// twentieth, which are often far from the rest. The previous axis is kept while the curve fills more than half of it,
// so that the axis does not flicker.
func Range(c profiles.Curve, previous [2]float64) [2]float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range c[min(max(len(c)-1, 0), (len(c)+19)/20):] {
		if usable(p, false) {
			lo, hi = min(lo, p.Min), max(hi, p.Max)
		}
	}
	if lo > hi {
		return [2]float64{0, 1}
	}
	if previous[0] <= lo && hi <= previous[1] && hi-lo > (previous[1]-previous[0])/2 {
		return previous
	}
	step := RoundUp(max((hi-lo)/4, math.Abs(hi)*1e-3, 1e-12))
	lo, hi = math.Floor(lo/step)*step, math.Ceil(hi/step)*step
	return [2]float64{lo, max(hi, lo+2*step)}
}

// RoundUp rounds v up to 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 or 10 times a power of ten.
func RoundUp(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= f*unit*(1+1e-9) {
			return f * unit
		}
	}
	return 10 * unit
}

// Decades returns a logarithmic axis that contains the curves and the extra values. The previous
// axis is kept while it contains them and is at most a decade longer at either end, so that the
// axis does not flicker.
func Decades(previous [2]float64, curves []profiles.Curve, extra ...float64) [2]float64 {
	series := make([]Series, len(curves))
	for i, c := range curves {
		series[i].Curve = c
	}
	s := logarithmic(series, extra...)
	lo, hi := previous[0], previous[1]
	if lo > 0 && lo <= s.lo && hi >= s.hi && lo*10 >= s.lo && hi <= s.hi*10 {
		return previous
	}
	return [2]float64{s.lo, s.hi}
}

// logarithmic returns an axis that contains the usable values of the series and the extra
// values. It runs between 1, 2 or 5 times powers of ten and is one to twelve decades long.
// Values a decade below nearly all others are clamped to its bottom: a sample's old loss starts
// at rounding error and would flatten everything else.
func logarithmic(series []Series, extra ...float64) scale {
	lo, hi := math.Inf(1), 0.0
	see := func(v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	floor := usualFloor(series)
	for _, s := range series {
		for _, p := range s.Curve {
			if usable(p, true) {
				see(max(p.Min, floor))
				see(max(p.Max, floor))
			}
		}
	}
	for _, v := range extra {
		see(v)
	}
	if hi == 0 {
		return scale{lo: 1e-3, hi: 1, log: true}
	}
	top := step125(hi, true)
	bottom := max(step125(max(lo, hi*1e-300), false), top*1e-12)
	if bottom > top/10 {
		bottom = top / 10
	}
	return scale{lo: bottom, hi: top, log: true}
}

// usualFloor returns a tenth of the 10th percentile of the series' means; 0 if there are none.
func usualFloor(series []Series) float64 {
	n := 0
	for _, s := range series {
		n += len(s.Curve)
	}
	means := make([]float64, 0, n)
	for _, s := range series {
		for _, p := range s.Curve {
			if usable(p, true) {
				means = append(means, p.Mean)
			}
		}
	}
	if len(means) == 0 {
		return 0
	}
	low := len(means) / 10
	stats.Settle(means, low)
	return means[low] / 10
}

// step125 rounds v to 1, 2 or 5 times a power of ten, up or down.
func step125(v float64, up bool) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	best := unit
	for _, f := range []float64{1, 2, 5, 10} {
		if up && f*unit >= v*(1-1e-9) {
			return f * unit
		}
		if f*unit <= v*(1+1e-9) {
			best = f * unit
		}
	}
	return best
}

// usable reports whether a point can be drawn: it is finite, and above 0 on a logarithmic axis.
func usable(p profiles.Point, log bool) bool {
	sum := p.Min + p.Max + p.Mean // NaN and infinities propagate through addition
	if math.IsNaN(sum) || math.IsInf(sum, 0) || p.Last < p.First {
		return false
	}
	return !log || p.Mean > 0
}
