package figure

import (
	"math"
	"slices"
	"strconv"

	"prismtop/profiles/unit"
)

// Vertical and horizontal axes: their range, ticks and labels.

// axis maps values to pixels.
type axis struct {
	low, high float64 // values at its ends
	from, to  float64 // pixels
	log       bool
}

// at returns the pixel of a value. Values beyond the ends are moved to them.
func (a *axis) at(v float64) float64 {
	share := 0.5
	if a.high > a.low {
		if a.log {
			share = math.Log(v/a.low) / math.Log(a.high/a.low)
		} else {
			share = (v - a.low) / (a.high - a.low)
		}
	}
	return a.from + (a.to-a.from)*min(max(share, 0), 1)
}

// ticks returns round values on the axis, at most about n of them.
func (a *axis) ticks(n int) (all []float64) {
	if a.log {
		return a.decades(n)
	}
	if !(a.high > a.low) {
		return []float64{a.low}
	}
	step := roundStep((a.high - a.low) / float64(n))
	for i := math.Ceil(a.low/step - 1e-9); i*step <= a.high+step*1e-9; i++ {
		all = append(all, i*step+0) // not −0
	}
	return all
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// decades returns powers of ten; 2 and 5 times such where there are few of them.
func (a *axis) decades(n int) (all []float64) {
	low, high := int(math.Floor(math.Log10(a.low))), int(math.Ceil(math.Log10(a.high)))
	step := max(1, (high-low+n-1)/n)
	factors := []float64{1}
	if high-low <= 2 {
		factors = []float64{1, 2, 5}
	}
	for e := low; e <= high; e += step {
		for _, f := range factors {
			v, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 1, 64)+"e"+strconv.Itoa(e), 64)
			if v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

// cover chooses the ends of an axis for values. A linear one begins at 0 where that is asked for.
func (a *axis) cover(low, high float64, zero bool) {
	switch {
	case a.log:
		if low == high {
			low, high = low/2, high*2
		}
		a.low, a.high = low/math.Pow(high/low, 0.05), high*math.Pow(high/low, 0.05)
		return
	case zero && low >= 0:
		low = 0
		if high == 0 {
			high = 1
		}
	case low == high:
		low, high = low-max(1e-9, math.Abs(low)*0.05), high+max(1e-9, math.Abs(high)*0.05)
	}
	margin := (high - low) * 0.06
	a.low, a.high = low-margin, high+margin
	if low == 0 {
		a.low = 0
	}
}

// label formats a value on an axis.
func label(v float64) string {
	if a := math.Abs(v); a >= 1e4 && a < 1e9 && v == math.Trunc(v) {
		return unit.Count(int64(v))
	}
	return unit.AxisLabel(v)
}

// highest returns the value up to which a chart shows values in full: their largest, unless a few are
// far above all others.
func highest(values []float64) (top, largest float64) {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	largest = sorted[len(sorted)-1]
	if usual := sorted[len(sorted)*97/100]; len(sorted) >= 20 && largest > 2*usual {
		return 1.4 * usual, largest
	}
	return largest, largest
}
