package stats

import (
	"math"
	"slices"
)

// The drift of a series between windows, and the shift between two with its interval.

// Numbers of windows used to estimate a drift.
const (
	DriftWindows = 20 // enough for a 95 % interval
	DriftLeast   = 6  // minimum for an estimate
)

// Drift is the movement of a series' median between neighbouring windows of equal length without
// a change.
type Drift struct {
	Move    float64 // largest |ln(median after/median before)|, scaled up for few windows
	Windows int     // number of windows used, at most DriftWindows
}

// Known reports whether there were enough windows.
func (d Drift) Known() bool { return d.Windows >= DriftLeast }

// MedianDrift returns the drift of the medians of windows of n values. Stretches are parts of the
// series without a change, newest first, each in order of measurement. Windows lie within one
// stretch, half a window apart, and each is compared with the next one that does not overlap it.
// Only the newest DriftWindows windows are used.
//
// If the order of the moves does not matter, another move of the same run exceeds all of m
// earlier ones with a probability of at most 1/(m+1), whatever their distribution (the argument
// of conformal prediction: Vovk, Gammerman and Shafer 2005). The moves of 20 windows give a 95 %
// interval. With k < 20 windows, the largest move is multiplied by (20/k)^0.45, which compensates
// for their number on the recorded series of the tests.
func MedianDrift(stretches [][]int64, n int) Drift {
	if n < 2 {
		return Drift{}
	}
	step := (n + 1) / 2
	var d Drift
	moves := 0
	scratch := make([]int64, n)
	for _, s := range stretches {
		var later [2]float64 // logarithms of the medians of the next two windows
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

// DriftMovesOf returns the number of moves between the given number of windows, which lie half a
// window apart and are each compared with the next but one.
func DriftMovesOf(windows int) int { return 2*(windows-1) - 1 }

// DriftMoves returns the number of moves between windows of n values in stretches of the given
// lengths.
func DriftMoves(lengths []int, n int) (moves int) {
	for _, length := range lengths {
		if length >= n {
			moves += max(0, (length-n)/((n+1)/2)+1-2)
		}
	}
	return moves
}

// median returns the median of values; scratch must be at least as long.
func median(values, scratch []int64) float64 {
	s := scratch[:copy(scratch, values)]
	slices.Sort(s)
	return Quantile(s, 0.5)
}

// Shift compares the medians of two windows.
type Shift struct {
	Before, After float64 // medians, in the unit of the values
	Relative      float64 // After/Before − 1
	Low, High     float64 // 95 % interval of Relative
}

// MovedShift compares the medians of two neighbouring windows of equal length with positive
// values. The interval allows for the run's own drift: it is the ratio of the medians divided and
// multiplied by the largest move without a change, NaN if the drift is unknown. If a window is
// empty, all fields are NaN.
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
