package chart

import (
	"math"
	"strconv"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

// Series is one curve of a Line chart.
type Series struct {
	Curve profiles.Curve
	Style theme.Style
	// Envelope draws the extremes behind the line, in EnvelopeStyle.
	Envelope      bool
	EnvelopeStyle theme.Style
	// Dashed leaves gaps in the line, to tell it from another without colour.
	Dashed bool
}

// Mark is a dashed vertical line at an iteration.
type Mark struct {
	At    int64
	Label rune
}

// Line is a braille line chart over iterations with labelled axes.
type Line struct {
	Series []Series
	// Ceiling is the top of the linear axis, which begins at 0; Log asks for a
	// logarithmic axis instead.
	Ceiling float64
	Log     bool
	// Threshold is drawn as a horizontal line where it is above 0.
	Threshold float64
	Marks     []Mark
	// Label formats a value of the vertical axis.
	Label func(float64) string
	// LabelWidth is the room for labels on the left, in cells.
	LabelWidth int
}

// Smallest size at which a Line draws anything, in cells.
const (
	minLineWidth  = 12
	minLineHeight = 3
)

// Draw draws the chart over the whole canvas. It reports whether there was
// anything to draw: a usable point, and room.
func (l *Line) Draw(c *Canvas) bool {
	first, last, ok := l.span()
	if !ok || c.w < minLineWidth+l.LabelWidth || c.h < minLineHeight {
		return false
	}
	y := scale{lo: 0, hi: finite(l.Ceiling, 1), log: l.Log}
	if l.Log {
		y = logarithmic(l.Series, l.Threshold)
	} else if y.hi <= 0 {
		y.hi = 1
	}
	left := l.LabelWidth + 1
	plot := c.Sub(left, 0, c.w-left, c.h-1)
	l.axes(c, y, first, last)
	g := grid{plot: &plot, y: y, first: first, last: max(last, first+1)}
	if l.Threshold > 0 {
		row := g.row(l.Threshold) / 4
		for x := 0; x < plot.w; x += 2 {
			plot.Set(x, row, '╌', theme.Threshold)
		}
	}
	for _, s := range l.Series {
		if s.Envelope {
			g.envelope(s)
		}
	}
	for _, s := range l.Series {
		g.line(s)
	}
	g.marks(l.Marks)
	return true
}

// span is the range of iterations that usable points cover.
func (l *Line) span() (first, last int64, ok bool) {
	first, last = math.MaxInt64, math.MinInt64
	for _, s := range l.Series {
		for _, p := range s.Curve {
			if usable(p, l.Log) {
				first, last = min(first, p.First), max(last, p.Last)
			}
		}
	}
	return first, last, first <= last
}

func (l *Line) axes(c *Canvas, y scale, first, last int64) {
	rows := c.h - 1
	for r := range rows {
		c.Set(l.LabelWidth, r, '│', theme.Axis)
	}
	for _, v := range y.ticks(max(2, min(6, (rows+2)/3))) {
		f, _ := y.at(v)
		r := int(math.Round((1 - f) * float64(rows-1)))
		c.TextRight(l.LabelWidth, r, l.Label(v), theme.Axis)
		c.Set(l.LabelWidth, r, '┤', theme.Axis)
	}
	c.Set(l.LabelWidth, rows, '╰', theme.Axis)
	c.Fill(l.LabelWidth+1, rows, c.w-l.LabelWidth-1, 1, '─', theme.Axis)
	from, to := " "+strconv.FormatInt(first, 10)+" ", " "+strconv.FormatInt(last, 10)+" "
	if Width(from)+Width(to)+1 < c.w-l.LabelWidth {
		c.Text(l.LabelWidth+1, rows, from, theme.Axis)
	}
	c.TextRight(c.w, rows, to, theme.Axis)
}

// grid maps iterations and values to the dots of a plot.
type grid struct {
	plot        *Canvas
	y           scale
	first, last int64
}

func (g *grid) column(i float64) int {
	f := (i - float64(g.first)) / float64(g.last-g.first)
	return int(math.Round(min(max(f, 0), 1) * float64(2*g.plot.w-1)))
}

func (g *grid) row(v float64) int {
	f, _ := g.y.at(v)
	return int(math.Round((1 - f) * float64(4*g.plot.h-1)))
}

func (g *grid) envelope(s Series) {
	for _, p := range s.Curve {
		if !usable(p, g.y.log) {
			continue
		}
		top, bottom := g.row(p.Max), g.row(p.Min)
		for x := g.column(float64(p.First)); x <= g.column(float64(p.Last)); x++ {
			for y := top; y <= bottom; y++ {
				g.plot.Dot(x, y, s.EnvelopeStyle)
			}
		}
		if _, clipped := g.y.at(p.Max); clipped {
			g.plot.Set(g.column(float64(p.First))/2, 0, '▴', theme.Warn)
		}
	}
}

func (g *grid) line(s Series) {
	var px, py int
	var before profiles.Point
	joined := false
	for _, p := range s.Curve {
		if !usable(p, g.y.log) {
			joined = false
			continue
		}
		x, y := g.column((float64(p.First)+float64(p.Last))/2), g.row(p.Mean)
		// A hole wider than its neighbours is a gap in the data.
		if p.First-before.Last > 1+(before.Last-before.First)+(p.Last-p.First) {
			joined = false
		}
		if joined {
			g.plot.DotLine(px, py, x, y, s.Dashed, s.Style)
		} else {
			g.plot.Dot(x, y, s.Style)
		}
		px, py, before, joined = x, y, p, true
	}
}

// marks draws the dashed lines on what the curves left empty, and the labels in
// the top row.
func (g *grid) marks(marks []Mark) {
	for _, m := range marks {
		if m.At < g.first || m.At > g.last {
			continue
		}
		x := g.column(float64(m.At)) / 2
		for y := range g.plot.h {
			if g.plot.At(x, y).Rune == ' ' {
				g.plot.Set(x, y, '┊', theme.Mark)
			}
		}
		g.plot.Set(x, 0, m.Label, theme.Mark)
	}
}
