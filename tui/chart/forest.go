package chart

import (
	"math"

	"prismtop/profiles/unit"
	"prismtop/tui/theme"
)

// This file draws a forest plot: effects with their intervals, one per row, around a line at no
// effect.

// Whisker is a row of a forest plot. Unknown values are not drawn.
type Whisker struct {
	Name          string
	At, Low, High float64 // relative change of the iteration time
	Bounded       bool    // Low and High are known
	Style         theme.Style
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
func forestRange(rows []Whisker) (low, high float64) {
	for _, r := range rows {
		for _, v := range []float64{r.At, r.Low, r.High} {
			if (v == r.At || r.Bounded) && !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	// Each side is long enough to label both its end and 0.
	left, right := forestReach(-low), forestReach(high)
	// A time cannot become shorter by more than 100 %.
	return -min(max(left, forestReach(right/4)), 1), max(right, forestReach(left/4))
}

// ForestWidth is the minimum width of the plot, and ForestAxis the number of rows below those of the
// effects.
const (
	ForestWidth = 36
	ForestAxis  = 1
)

// Forest draws the rows from the top, with names cells for the names on the left and the axis
// below.
func Forest(c *Canvas, rows []Whisker, names int) {
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
		c.Text(0, y, Cut(r.Name, names-1), theme.Plain)
		c.Set(zero, y, '┊', theme.Axis)
		if math.IsNaN(r.At) {
			continue
		}
		if r.Bounded {
			from, to := column(r.Low), column(r.High)
			c.Fill(from, y, to-from+1, 1, '─', r.Style)
			c.Set(from, y, '├', r.Style)
			c.Set(to, y, '┤', r.Style)
		}
		c.Set(column(r.At), y, '●', r.Style)
	}
	y := len(rows)
	c.Fill(left, y, right-left+1, 1, '─', theme.Axis)
	c.Text(left, y, unit.Signed(100*low, 0)+" % ", theme.Axis)
	c.Text(zero-1, y, " 0 ", theme.Axis)
	c.TextRight(right+1, y, " "+unit.Signed(100*high, 0)+" %", theme.Axis)
}
