package pane

import (
	"math"

	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file draws a forest plot: effects with their intervals, one per row, around a line at no
// effect.

// whisker is a row of a forest plot. Unknown values are not drawn.
type whisker struct {
	name          string
	at, low, high float64 // relative change of the iteration time
	bounded       bool    // low and high are known
	style         theme.Style
}

// forestSteps are the possible ends of the axis, as fractions, so that the axis stays fixed
// while intervals narrow.
var forestSteps = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}

// forestReach returns the smallest step that covers an effect on one side of 0.
func forestReach(v float64) float64 {
	for _, step := range forestSteps {
		if v <= step {
			return step
		}
	}
	return forestSteps[len(forestSteps)-1]
}

// forestRange returns the ends of the axis.
func forestRange(rows []whisker) (low, high float64) {
	for _, r := range rows {
		for _, v := range []float64{r.at, r.low, r.high} {
			if (v == r.at || r.bounded) && !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	// Each side is long enough to label both its end and 0.
	left, right := forestReach(-low), forestReach(high)
	// A time cannot become shorter by more than 100 %.
	return -min(max(left, forestReach(right/4)), 1), max(right, forestReach(left/4))
}

// Minimum width of the plot, and rows apart from those of the effects.
const (
	forestWidth = 36
	forestAxis  = 1
)

// forest draws the rows from the top, with names cells for the names on the left and the axis
// below.
func forest(c *chart.Canvas, rows []whisker, names int) {
	w, _ := c.Size()
	low, high := forestRange(rows)
	left, right := names, w-1
	if right-left < 3 {
		return
	}
	column := func(v float64) int {
		v = min(max(v, low), high)
		return left + int(math.Round((v-low)/(high-low)*float64(right-left)))
	}
	zero := column(0)
	for y, r := range rows {
		c.Text(0, y, chart.Cut(r.name, names-1), theme.Plain)
		c.Set(zero, y, '┊', theme.Axis)
		if math.IsNaN(r.at) {
			continue
		}
		if r.bounded {
			from, to := column(r.low), column(r.high)
			c.Fill(from, y, to-from+1, 1, '─', r.style)
			c.Set(from, y, '├', r.style)
			c.Set(to, y, '┤', r.style)
		}
		c.Set(column(r.at), y, '●', r.style)
	}
	y := len(rows)
	c.Fill(left, y, right-left+1, 1, '─', theme.Axis)
	c.Text(left, y, unit.Signed(100*low, 0)+" % ", theme.Axis)
	c.Text(zero-1, y, " 0 ", theme.Axis)
	c.TextRight(right+1, y, " "+unit.Signed(100*high, 0)+" %", theme.Axis)
}
