package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/theme"
)

// This file is how a cache's saving is told: as a time with its interval, or as about
// nothing.

// nothingSaved tells whether a saving of an iteration is about nothing.
func nothingSaved(s *profiles.Snapshot, each profiles.Saving) bool {
	return each.Nothing(s.Total.Mean + each.Value)
}

// savingStyle is good where a cache saves time for certain, and warns where it costs
// some or that is uncertain.
func savingStyle(s *profiles.Snapshot, v profiles.CacheView) theme.Style {
	each, _, _ := savedEach(s, v)
	switch {
	case nothingSaved(s, each):
		return theme.Faint
	case each.Value < 0 || !each.Bounded:
		return theme.Warn
	}
	return theme.Good
}

// timeUnit is a unit in which the ends of an interval are written.
type timeUnit struct {
	name     string
	ns       float64
	decimals int
}

var timeUnits = [...]timeUnit{{"ms", 1e6, 2}, {"µs", 1e3, 1}, {"ns", 1, 0}}

// unitOf is the largest unit of which a time has at least one.
func unitOf(ns float64) timeUnit {
	for _, u := range timeUnits {
		if ns >= u.ns {
			return u
		}
	}
	return timeUnits[len(timeUnits)-1]
}

// perIterationUnit is the unit in which perIteration writes a time.
func perIterationUnit(ns float64) timeUnit {
	if ns >= 10e3 {
		return timeUnits[0]
	}
	return unitOf(ns)
}

// bounds is the interval of a saving.
func bounds(each profiles.Saving, unit timeUnit) string {
	text := func(v float64) string {
		digits := strconv.FormatFloat(math.Abs(v)/unit.ns, 'f', unit.decimals, 64)
		if v < 0 {
			return "−" + digits
		}
		return digits
	}
	return "[" + text(each.Low) + ", " + text(each.High) + "]"
}

// perIteration is a time per iteration, 10 wide: "   0.48 ms". Below 10 µs, where
// two decimals of a millisecond say nothing, it is in smaller units.
func perIteration(ns float64) string {
	text := unit.Seconds(ns)
	if a := max(ns, -ns); a >= 10e3 {
		text = strings.TrimSpace(unit.Fixed(a/1e6, 5)) + " ms"
		if ns < 0 {
			text = "−" + text
		}
	}
	return fmt.Sprintf("%10s", strings.TrimSpace(text))
}

// savedEach is what a cache saves of an iteration: in nanoseconds and as a share
// of the iteration without it.
func savedEach(s *profiles.Snapshot, v profiles.CacheView) (each profiles.Saving, share float64, ok bool) {
	each, ok = v.PerIteration()
	if !ok || s.Total.N == 0 || s.Total.Mean+each.Value <= 0 {
		return each, 0, ok && s.Total.N > 0
	}
	return each, each.Value / (s.Total.Mean + each.Value), true
}
