package comparison

import (
	"fmt"
	"math"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file draws the curves of the sides over each other.

// sideStyles are the styles of the sides' curves.
var sideStyles = []theme.Style{theme.LossOld, theme.LossNew, theme.Phase2, theme.Phase5, theme.Phase3, theme.Phase7}

func sideStyle(k int) theme.Style { return sideStyles[k%len(sideStyles)] }

// sideDash returns the pattern of a side's curve, which differs from those of the sides
// beside it, and its mark in the legend.
func sideDash(k int) (d chart.Dash, mark string) {
	if k == 0 {
		return chart.Solid, " ── "
	}
	switch (k - 1) % 3 {
	case 0:
		return chart.Dashed, " ╌ ╌ "
	case 1:
		return chart.Dotted, " · · "
	}
	return chart.DashDotted, " ─ · "
}

// labelWidth is the width of the labels of the vertical axis.
const labelWidth = 8

// drawCurve draws the current curve of all sides.
func (s *Screen) drawCurve(c *chart.Canvas) {
	w, h := c.Size()
	c.Frame(theme.Border)
	if len(s.c.Curves) == 0 {
		inner := c.Sub(2, 1, w-4, h-2)
		message(&inner, "nothing was recorded to draw", theme.Faint)
		return
	}
	curve := &s.c.Curves[min(s.curve, len(s.c.Curves)-1)]
	title := visible.Text(curve.Title)
	if curve.Unit != "" {
		title += " (" + visible.Text(curve.Unit) + ")"
	}
	x := c.Text(2, 0, chart.Cut(" "+title+" ", w-4), theme.Title)
	over := "over iterations: x"
	if s.time {
		over = "over running time: x"
	}
	at := fmt.Sprintf(" %d of %d: tab · %s ", s.curve+1, len(s.c.Curves), over)
	if x+width(at) < w-2 {
		c.TextRight(w-2, 0, at, theme.Faint)
	}
	x = 2
	for k := range s.c.Sides {
		_, mark := sideDash(k)
		name := mark + compare.Letter(k) + " " + visible.Text(s.c.Sides[k].Name) + " "
		if x+width(name) > w-2 {
			name = mark + compare.Letter(k) + " "
		}
		if x+width(name) > w-2 {
			break
		}
		x = c.Text(x, h-1, name, sideStyle(k))
	}
	inner := c.Sub(2, 1, w-4, h-2)
	line := s.line(curve)
	if !line.Draw(&inner) {
		message(&inner, "no room for the curve, or nothing was recorded of it", theme.Faint)
	}
}

// line returns the chart of a curve.
func (s *Screen) line(curve *compare.Curve) *chart.Line {
	line := &chart.Line{LabelWidth: labelWidth, Log: curve.Scale == profiles.Logarithmic,
		Label: func(v float64) string { return strings.TrimSpace(unit.AxisLabel(v)) }}
	for k, points := range curve.Sides {
		var drawn profiles.Curve
		for _, p := range points {
			at := p.Iteration
			if s.time {
				at = p.Seconds * 1000
			}
			if math.IsNaN(at) || math.IsInf(at, 0) {
				continue
			}
			n := int64(math.Round(at))
			drawn = append(drawn, profiles.Point{First: n, Last: n, Min: p.Value, Mean: p.Value, Max: p.Value})
		}
		dash, _ := sideDash(k)
		line.Series = append(line.Series, chart.Series{Curve: drawn, Style: sideStyle(k), Sampled: true, Dash: dash})
		line.Ceiling = max(line.Ceiling, chart.Ceiling(drawn, 0))
	}
	if s.time {
		line.XLabel = func(ms int64) string { return unit.Clock(time.Duration(ms) * time.Millisecond) }
	}
	return line
}
