package pane

import (
	"math"

	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file draws effects with their intervals one below the other about a line at
// no effect: a forest plot.

// whisker is a row of a forest. What is not known is not drawn.
type whisker struct {
	name          string
	at, low, high float64 // of the time of an iteration, as fractions
	bounded       bool    // low and high are known
	style         theme.Style
}

// forestSteps are where an axis may end, as fractions: it stands still while
// intervals become narrower.
var forestSteps = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}

// forestReach is the step that holds an effect to one side of 0.
func forestReach(v float64) float64 {
	for _, step := range forestSteps {
		if v <= step {
			return step
		}
	}
	return forestSteps[len(forestSteps)-1]
}

// forestRange is the ends of the axis.
func forestRange(rows []whisker) (low, high float64) {
	for _, r := range rows {
		for _, v := range []float64{r.at, r.low, r.high} {
			if (v == r.at || r.bounded) && !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	// Neither side is so short that its end and 0 have no room for labels.
	left, right := forestReach(-low), forestReach(high)
	// No time becomes shorter by more than all of it.
	return -min(max(left, forestReach(right/4)), 1), max(right, forestReach(left/4))
}

// Room that a forest wants: the width of its plot at least, and rows besides those of
// the effects.
const (
	forestWidth = 36
	forestAxis  = 1
)

// forest draws the rows from the top on, names so many cells wide at the left and
// the axis below.
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
