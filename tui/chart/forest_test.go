package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/theme"
)

// forestText returns a forest as text.
func forestText(w int, rows []Whisker, names int) []string {
	var c Canvas
	c.Resize(w, len(rows)+ForestAxis)
	Forest(&c, rows, names)
	lines := c.Lines(theme.New(colorprofile.ASCII, true, false))
	for i, l := range lines {
		lines[i] = strings.NewReplacer("\x1b[m", "", "\x1b[1m", "", "\x1b[2m", "").Replace(l)
	}
	return lines
}

func columnOf(line string, r rune) int {
	for i, c := range []rune(line) {
		if c == r {
			return i
		}
	}
	return -1
}

// Points and intervals match the axis, and 0 is in one column.
func TestAForestIsToScale(t *testing.T) {
	rows := []Whisker{
		{"faster", -0.25, -0.30, -0.20, true, theme.Good},
		{"slower", 0.50, 0.40, 0.48, true, theme.Bad},
		{"open", 0.10, 0, 0, false, theme.Plain},
		{"nothing yet", math.NaN(), math.NaN(), math.NaN(), false, theme.Plain},
	}
	lines := forestText(112, rows, 11) // from column 11, −50 to +50: one per cent per column
	for i, want := range []int{11 + 25, 11 + 100, 11 + 60, -1} {
		if got := columnOf(lines[i], '●'); got != want {
			t.Errorf("%q: the point is in column %d, want %d", lines[i], got, want)
		}
	}
	if from, to := columnOf(lines[0], '├'), columnOf(lines[0], '┤'); from != 11+20 || to != 11+30 {
		t.Errorf("%q: the interval is from %d to %d", lines[0], from, to)
	}
	if columnOf(lines[2], '├') >= 0 {
		t.Errorf("%q: an interval that nobody knows", lines[2])
	}
	for _, i := range []int{0, 1, 2, 3} {
		if got := columnOf(lines[i], '┊'); got != 11+50 {
			t.Errorf("%q: no effect is in column %d", lines[i], got)
		}
	}
	axis := lines[len(rows)]
	if columnOf(axis, '0') < 0 || !strings.Contains(axis, "−50 %") || !strings.Contains(axis, "+50 %") || []rune(axis)[11+50] != '0' {
		t.Errorf("the axis is %q", axis)
	}
}

// Effects beyond the axis, without room or without a number are drawn as far as possible.
func TestAForestOfAnything(t *testing.T) {
	rows := []Whisker{{"far", 40, -3, math.Inf(1), true, theme.Bad}, {"none", math.NaN(), 1, 2, true, theme.Plain}}
	for w := range 60 {
		for names := range 30 {
			forestText(w, rows, names)
		}
	}
	lines := forestText(60, rows, 8)
	if got := columnOf(lines[0], '●'); got != 59 {
		t.Errorf("%q: an effect beyond the axis is in column %d", lines[0], got)
	}
}

// The axis stays fixed while intervals shrink, and its ends leave room for labels.
func TestAForestsAxis(t *testing.T) {
	for _, tt := range []struct{ low, high, left, right float64 }{
		{-0.24, -0.21, -0.5, 0.2}, {-0.21, -0.20, -0.5, 0.2}, {0.01, 0.3, -0.2, 0.5}, {-0.004, 0.003, -0.01, 0.01}, {-0.8, 4, -1, 5},
	} {
		left, right := forestRange([]Whisker{{"", (tt.low + tt.high) / 2, tt.low, tt.high, true, theme.Plain}})
		if left != tt.left || right != tt.right {
			t.Errorf("%g to %g: the axis goes from %g to %g, want %g to %g", tt.low, tt.high, left, right, tt.left, tt.right)
		}
	}
}
