package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

// Series is a curve of a Line chart.
type Series struct {
	Curve profiles.Curve
	Style theme.Style
	// Envelope draws the range from minimum to maximum behind the line, in EnvelopeStyle, with
	// the points in one column of dots merged. If points have bins, the range is from the 10th
	// to the 90th percentile, and the extremes are dots.
	Envelope      bool
	EnvelopeStyle theme.Style
	// Sampled marks points that are occasional readings: a line joins them across any gap.
	Sampled bool
	// Dash is the line's pattern, which distinguishes it without colour.
	Dash Dash
}

// SeveralMark labels several nearby marks with different labels.
const SeveralMark = '*'

// Mark is a dashed vertical line at an iteration.
type Mark struct {
	At    int64
	Label rune
}

// Line is a braille line chart over iterations with labelled axes.
type Line struct {
	Series []Series
	// From and To are the ends of the iteration axis; if To is not above From, the axis covers
	// the curves. Points outside are not drawn.
	From, To int64
	// XLabel formats an end of that axis; nil writes the number as it is.
	XLabel func(int64) string
	// Cursor is the iteration of a vertical cursor line, if HasCursor.
	Cursor    int64
	HasCursor bool
	// Floor and Ceiling are the ends of the vertical axis. Log selects a logarithmic axis, which is
	// fitted to the curves if Floor is 0.
	Ceiling, Floor float64
	Log            bool
	// Threshold is drawn as a horizontal line if it is above 0.
	Threshold float64
	Marks     []Mark
	// Label formats a value of the vertical axis.
	Label func(float64) string
	// LabelWidth is the width of the labels on the left, in cells.
	LabelWidth int
	// Shared leaves out the iteration axis, for a chart above another with the same one.
	Shared bool
}

// Minimum size of a Line, in cells.
const (
	minLineWidth  = 12
	minLineHeight = 3
)

// Draw draws the chart over the whole canvas. It reports whether it drew anything, which takes a
// usable point and enough room.
func (l *Line) Draw(c *Canvas) bool {
	first, last, ok := l.span()
	if !ok || c.w < minLineWidth+l.LabelWidth || l.rows(c) < minLineHeight-1 {
		return false
	}
	y := scale{lo: finite(l.Floor, 0), hi: finite(l.Ceiling, 1), log: l.Log}
	switch {
	case l.Log && (l.Floor <= 0 || l.Ceiling <= l.Floor):
		y = logarithmic(l.Series, l.Threshold)
	case !l.Log && y.hi <= y.lo:
		y.hi = y.lo + 1
	}
	left := l.LabelWidth + 1
	plot := c.Sub(left, 0, c.w-left, l.rows(c))
	l.axes(c, y, first, last)
	g := grid{plot: &plot, y: y.prepared(), first: first, last: max(last, first+1)}
	if l.Threshold > 0 {
		row := g.row(l.Threshold) / 4
		for x := 0; x < plot.w; x += 2 {
			plot.Set(x, row, '╌', theme.Threshold)
		}
	}
	series := make([]Series, len(l.Series))
	copy(series, l.Series)
	for i, s := range series {
		if s.Envelope {
			series[i].Curve = g.columns(s.Curve)
			g.envelope(series[i])
		}
	}
	for _, s := range series {
		g.line(s)
	}
	g.marks(l.Marks)
	for _, s := range series {
		if s.Envelope {
			g.spikes(s)
		}
	}
	if l.HasCursor {
		g.cursor(c, left, l.Cursor, !l.Shared)
	}
	return true
}

// span returns the range of iterations on the axis; ok reports whether there is a usable point.
func (l *Line) span() (first, last int64, ok bool) {
	first, last = math.MaxInt64, math.MinInt64
	for _, s := range l.Series {
		for _, p := range s.Curve {
			if usable(p, l.Log) {
				first, last = min(first, p.First), max(last, p.Last)
			}
		}
	}
	ok = first <= last
	if l.To > l.From {
		return l.From, l.To, ok
	}
	return first, last, ok
}

// rows returns the height of the plot.
func (l *Line) rows(c *Canvas) int {
	if l.Shared {
		return c.h
	}
	return c.h - 1
}

func (l *Line) axes(c *Canvas, y scale, first, last int64) {
	rows := l.rows(c)
	for r := range rows {
		c.Set(l.LabelWidth, r, '│', theme.Axis)
	}
	for _, v := range y.ticks(max(2, min(6, (rows+2)/3))) {
		f, _ := y.at(v)
		r := int(math.Round((1 - f) * float64(rows-1)))
		c.TextRight(l.LabelWidth, r, l.Label(v), theme.Axis)
		c.Set(l.LabelWidth, r, '┤', theme.Axis)
	}
	if l.Shared {
		return
	}
	c.Set(l.LabelWidth, rows, '╰', theme.Axis)
	c.Fill(l.LabelWidth+1, rows, c.w-l.LabelWidth-1, 1, '─', theme.Axis)
	from, to := l.xLabel(first), l.xLabel(last)
	if Width(from)+Width(to)+1 < c.w-l.LabelWidth {
		c.Text(l.LabelWidth+1, rows, from, theme.Axis)
	}
	right := c.TextRight(c.w, rows, to, theme.Axis)
	l.quarters(c, rows, l.LabelWidth+1+Width(from), right, first, last)
}

// quarters labels the quarters of the axis between two columns, or its middle, if there is room;
// it prefers round numbers nearby.
func (l *Line) quarters(c *Canvas, row, left, right int, first, last int64) {
	parts := int64(4)
	if c.w-l.LabelWidth < 72 {
		parts = 2
	}
	if last-first < parts {
		return
	}
	for _, v := range l.between(first, last, parts) {
		label := l.xLabel(v)
		x := l.LabelWidth + 1 + int(
			math.Round(float64(c.w-l.LabelWidth-2)*float64(v-first)/float64(last-first))) - Width(label)/2
		if x > left && x+Width(label) < right {
			left = c.Text(x, row, label, theme.Axis)
		}
	}
}

// between returns the labelled values between two ends.
func (l *Line) between(first, last, parts int64) (values []int64) {
	step := (last - first) / parts
	if l.XLabel == nil && (first%step != 0 || (last-first)%parts != 0 || !round(step)) {
		step = int64(math.Ceil(RoundUp(float64(step))))
		for v := (first/step + 1) * step; v < last; v += step {
			values = append(values, v)
		}
		return values
	}
	for i := int64(1); i < parts; i++ {
		values = append(values, first+step*i+(last-first)%parts*i/parts)
	}
	return values
}

// round reports whether a number has at most three significant digits.
func round(v int64) bool {
	for ; v >= 1000; v /= 10 {
		if v%10 != 0 {
			return false
		}
	}
	return true
}

func (l *Line) xLabel(v int64) string {
	if l.XLabel != nil {
		return " " + l.XLabel(v) + " "
	}
	return " " + strconv.FormatInt(v, 10) + " "
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

// outside reports whether a point is outside of the axis.
func (g *grid) outside(p profiles.Point) bool { return p.Last < g.first || p.First > g.last }

// cursor draws a line at an iteration from the axis upwards, behind the curves.
func (g *grid) cursor(c *Canvas, left int, at int64, onAxis bool) {
	if at < g.first || at > g.last {
		return
	}
	x := g.column(float64(at)) / 2
	for y := range g.plot.h {
		if r := g.plot.At(x, y).Rune; r == ' ' || r == '┊' || r == '╌' {
			g.plot.Set(x, y, '│', theme.Strong)
		}
	}
	if onAxis {
		c.Set(left+x, c.h-1, '▴', theme.Strong)
	}
}

// columns merges the points that start in one column of dots, so that a band shows their
// extremes and a line their mean. It drops unusable points, and does not merge across them.
func (g *grid) columns(c profiles.Curve) profiles.Curve {
	out := make(profiles.Curve, 0, min(len(c), 4*g.plot.w))
	weight, column := 0.0, -1
	var joined, room, all profiles.Bins // of the open column, scratch, those of finished columns
	finish := func() {
		if len(joined) > 0 {
			from := len(all)
			all = append(all, joined...)
			out[len(out)-1].Bins = all[from:len(all):len(all)]
			joined = joined[:0]
		}
	}
	for _, p := range c {
		if !usable(p, g.y.log) || g.outside(p) {
			column = -1
			continue
		}
		at, n := g.column(float64(p.First)), float64(p.Last-p.First)+1
		if at != column {
			finish()
			out, weight, column = append(out, p), n, at
			continue
		}
		q := &out[len(out)-1]
		weight += n
		q.Last, q.Min, q.Max = p.Last, min(q.Min, p.Min), max(q.Max, p.Max)
		if len(joined) == 0 {
			joined = append(joined, q.Bins...)
		}
		joined, room = joined.JoinInto(room, p.Bins), joined
		q.Mean += (p.Mean - q.Mean) * n / weight
	}
	finish()
	return out
}

// The quantiles that bound the band of a curve with bins.
const bandLow, bandHigh = 0.1, 0.9

func (g *grid) envelope(s Series) {
	for _, p := range s.Curve {
		if !usable(p, g.y.log) || g.outside(p) {
			continue
		}
		top, bottom := g.row(p.Max), g.row(p.Min)
		if len(p.Bins) > 0 { // the band shows quantiles, dots the extremes
			x := g.column(float64(p.First))
			if _, clipped := g.y.at(p.Max); !clipped { // clipped extremes have a mark instead
				g.plot.Dot(x, top, s.EnvelopeStyle)
			}
			g.plot.Dot(x, bottom, s.EnvelopeStyle)
			top, bottom = g.row(min(p.Bins.Quantile(bandHigh), p.Max)), g.row(max(p.Bins.Quantile(bandLow), p.Min))
		}
		for x := g.column(float64(p.First)); x <= g.column(float64(p.Last)); x++ {
			for y := top; y <= bottom; y++ {
				g.plot.Dot(x, y, s.EnvelopeStyle)
			}
		}
	}
}

// spikeGap is the minimum distance between marks of spikes, in columns: in a row full of them
// they could not be told from the labels of changes.
const spikeGap = 4

// spikes marks values above the axis if the top row has room next to the labels of changes.
func (g *grid) spikes(s Series) {
	next := 0
	for _, p := range s.Curve {
		if !usable(p, g.y.log) || g.outside(p) {
			continue
		}
		x := g.column(float64(p.First)) / 2
		if _, clipped := g.y.at(p.Max); !clipped || x < next || g.labelled(x-1) || g.labelled(x) || g.labelled(x+1) {
			continue
		}
		g.plot.Set(x, 0, '▴', theme.Warn)
		next = x + spikeGap
	}
}

// labelled reports whether a column of the top row has the label of a change.
func (g *grid) labelled(x int) bool { return g.plot.At(x, 0).Style == theme.Mark }

func (g *grid) line(s Series) {
	var px, py int
	low, high := 0, -1 // rows of column px still to be drawn
	stroke := func() {
		if low < high {
			g.plot.DotLine(px, low, px, high, s.Dash, s.Style)
		}
	}
	var before profiles.Point
	joined := false
	for _, p := range s.Curve {
		if !usable(p, g.y.log) || g.outside(p) {
			joined = false
			continue
		}
		x, y := g.column((float64(p.First)+float64(p.Last))/2), g.row(p.Mean)
		// A hole wider than the adjacent points is a gap in the data.
		if !s.Sampled && p.First-before.Last > 1+(before.Last-before.First)+(p.Last-p.First) {
			joined = false
		}
		if joined && x == px {
			low, high = min(low, y), max(high, y)
		} else {
			stroke()
			if joined {
				g.plot.DotLine(px, py, x, y, s.Dash, s.Style)
			} else {
				g.plot.Dot(x, y, s.Style)
			}
			low, high = y, y
		}
		px, py, before, joined = x, y, p, true
	}
	stroke()
}

// marks draws the dashed lines where the curves left cells empty, and the labels in the top row,
// separated by an empty cell; closer labels are merged.
func (g *grid) marks(marks []Mark) {
	type group struct {
		x     int
		label rune
	}
	var groups []group
	for _, m := range sortedMarks(marks) {
		if m.At < g.first || m.At > g.last {
			continue
		}
		x := g.column(float64(m.At)) / 2
		if last := len(groups) - 1; last >= 0 && x < groups[last].x+labelGap {
			if groups[last].label != m.Label {
				groups[last].label = SeveralMark
			}
			continue
		}
		groups = append(groups, group{x, m.Label})
	}
	for _, of := range groups {
		for y := range g.plot.h {
			if g.plot.At(of.x, y).Rune == ' ' {
				g.plot.Set(of.x, y, '┊', theme.Mark)
			}
		}
		g.plot.Set(of.x, 0, of.label, theme.Mark)
	}
}

// labelGap is the minimum distance between labels of changes, in columns.
const labelGap = 2

// sortedMarks returns the marks sorted by iteration.
func sortedMarks(marks []Mark) []Mark {
	if slices.IsSortedFunc(marks, byIteration) {
		return marks
	}
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, byIteration)
	return marks
}

func byIteration(a, b Mark) int { return cmp.Compare(a.At, b.At) }
