package stats

import (
	"math"
	"slices"
)

// The windows that a drift is judged by.
const (
	DriftWindows = 20 // enough for an interval of 95 %
	DriftLeast   = 6  // below which nothing can be said
)

// Drift is how far the median of a series moved by itself between neighbouring windows of one
// length, with nothing changed.
type Drift struct {
	Move    float64 // the largest |ln(median after/median before)|, scaled where windows are few
	Windows int     // that it rests on, at most DriftWindows
}

// Known reports whether there were windows enough.
func (d Drift) Known() bool { return d.Windows >= DriftLeast }

// MedianDrift is the drift of the medians of windows of n values. Stretches are parts of the
// series in which nothing was changed, the newest first, each in the order of measurement;
// windows lie within one stretch, half a window apart, and are compared with the next that they
// share no value with. The newest DriftWindows windows count.
//
// A further move of the same run is larger than all of m earlier ones in at most one case of
// m + 1, whatever their distribution, if their order does not matter (the argument of conformal
// prediction: Vovk, Gammerman and Shafer 2005). The moves of 20 windows give an interval of 95 %.
// With k windows, fewer than 20, the largest move is multiplied by (20/k)^0.45, which makes up for
// it on the recorded series of the tests.
func MedianDrift(stretches [][]int64, n int) Drift {
	if n < 2 {
		return Drift{}
	}
	step := (n + 1) / 2
	var d Drift
	moves := 0
	scratch := make([]int64, n)
	for _, s := range stretches {
		var later [2]float64 // logarithms of the medians of the two windows after the present one
		for i, end := 0, len(s); end >= n && moves < DriftMovesOf(DriftWindows); i, end = i+1, end-step {
			m := math.Log(median(s[end-n:end], scratch))
			if i >= 2 {
				d.Move = max(d.Move, math.Abs(later[i%2]-m))
				moves++
			}
			later[i%2] = m
		}
	}
	if moves > 0 {
		d.Windows = min((moves+1)/2+1, DriftWindows)
	}
	if d.Windows < DriftWindows {
		d.Move *= math.Pow(DriftWindows/float64(max(d.Windows, 1)), 0.45)
	}
	return d
}

// DriftMovesOf is how many moves that many windows make, which lie half a window apart and are
// each compared with the next but one.
func DriftMovesOf(windows int) int { return 2*(windows-1) - 1 }

// DriftMoves is how many moves of windows of n values stretches of these lengths hold.
func DriftMoves(lengths []int, n int) (moves int) {
	for _, length := range lengths {
		if length >= n {
			moves += max(0, (length-n)/((n+1)/2)+1-2)
		}
	}
	return moves
}

// median is that of the values; scratch has room for them.
func median(values, scratch []int64) float64 {
	s := scratch[:copy(scratch, values)]
	slices.Sort(s)
	return Quantile(s, 0.5)
}

// Shift compares the medians of two windows.
type Shift struct {
	Before, After float64 // medians, in the windows' unit
	Relative      float64 // After/Before − 1
	Low, High     float64 // 95 % interval of Relative
}

// MovedShift compares the medians of two neighbouring windows of one length, all values greater
// than 0. The interval is that of what the run's own drift leaves open: the medians' ratio times
// and over the largest move that it made by itself. The interval is NaN where the
// drift is not known, and everything where a window is empty.
func MovedShift(before, after []int64, d Drift) Shift {
	nan := math.NaN()
	s := Shift{nan, nan, nan, nan, nan}
	if len(before) == 0 || len(after) == 0 {
		return s
	}
	scratch := make([]int64, max(len(before), len(after)))
	s.Before, s.After = median(before, scratch), median(after, scratch)
	s.Relative = s.After/s.Before - 1
	if d.Known() {
		s.Low, s.High = s.After/s.Before*math.Exp(-d.Move)-1, s.After/s.Before*math.Exp(d.Move)-1
	}
	return s
}
