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
	if w-1-names < 3 {
		return
	}
	span := SpanOf(rows)
	for y, r := range rows {
		c.Text(0, y, Cut(r.Name, names-1), theme.Plain)
		span.Draw(c, names, y, w-names, r)
	}
	span.Axis(c, names, len(rows), w-names)
}

// Span is the axis of a forest plot, of relative changes.
type Span struct{ Low, High float64 }

// SpanOf returns an axis for rows.
func SpanOf(rows []Whisker) Span {
	low, high := forestRange(rows)
	return Span{low, high}
}

// Column returns the cell of a value on an axis of w cells.
func (s Span) Column(v float64, w int) int {
	v = min(max(v, s.Low), s.High)
	return int(math.Round((v - s.Low) / (s.High - s.Low) * float64(w-1)))
}

// Draw draws a row in w cells from (x,y): its point and its interval around the line at no effect.
func (s Span) Draw(c *Canvas, x, y, w int, r Whisker) {
	c.Set(x+s.Column(0, w), y, '┊', theme.Axis)
	if math.IsNaN(r.At) {
		return
	}
	if r.Bounded {
		from, to := x+s.Column(r.Low, w), x+s.Column(r.High, w)
		c.Fill(from, y, to-from+1, 1, '─', r.Style)
		c.Set(from, y, '├', r.Style)
		c.Set(to, y, '┤', r.Style)
	}
	c.Set(x+s.Column(r.At, w), y, '●', r.Style)
}

// Axis draws the axis with its ends and 0 in w cells from (x,y).
func (s Span) Axis(c *Canvas, x, y, w int) {
	c.Fill(x, y, w, 1, '─', theme.Axis)
	c.Text(x, y, unit.Signed(100*s.Low, 0)+" % ", theme.Axis)
	c.Text(x+s.Column(0, w)-1, y, " 0 ", theme.Axis)
	c.TextRight(x+w, y, " "+unit.Signed(100*s.High, 0)+" %", theme.Axis)
}
