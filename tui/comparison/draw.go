package comparison

import (
	"math"
	"strings"

	"prismtop/profiles/compare"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the table of rows.

func width(text string) int { return chart.Width(text) }

func plural(n int, one, many string) string { return unit.Plural(n, one, many) }

func capital(text string) string { return words.Capital(text) }

// Sizes from which the curves stand beside or below the rows.
const (
	roomyWidth  = 120
	roomyHeight = 36
)

// roomy reports whether the rows and the curves are on screen together.
func (s *Screen) roomy() bool { return s.w >= roomyWidth && s.h >= roomyHeight-2 }

// Rows of the table's frame above its list, and below it about the selected row.
const (
	headingRows = 2
	detailRows  = 3
	detailsFrom = 20
)

// firstRow is the row of the first item on the page.
func (s *Screen) firstRow() int { return 1 + len(s.sides()) + headingRows - 1 }

// Draw draws the comparison.
func (s *Screen) Draw(c *chart.Canvas) {
	s.w, s.h = c.Size()
	switch {
	case s.err != nil:
		message(c, oneLine(s.err), theme.Bad)
		return
	case s.c == nil:
		message(c, "reading the recordings …", theme.Faint)
		return
	}
	if !s.roomy() {
		if s.view == curvesView {
			s.drawCurve(c)
		} else {
			s.drawRows(c)
		}
		return
	}
	curves := min(20, s.h*2/5)
	rows, below := c.Sub(0, 0, s.w, s.h-curves), c.Sub(0, s.h-curves, s.w, curves)
	s.drawRows(&rows)
	s.drawCurve(&below)
}

// message writes a text in the middle.
func message(c *chart.Canvas, text string, style theme.Style) {
	w, h := c.Size()
	lines := words.Wrap(visible.Text(text), w-4)
	for i, l := range lines {
		c.Text(max(0, (w-width(l))/2), max(0, (h-len(lines))/2)+i, l, style)
	}
}

// sides describe the base and the side beside it.
func (s *Screen) sides() []string {
	var lines []string
	for _, k := range []int{0, s.side} {
		var parts []string
		side := &s.c.Sides[k]
		iterations, seconds, blocks, disturbed := int64(0), 0.0, 0, 0
		for _, r := range side.Runs {
			iterations, seconds, blocks, disturbed = iterations+r.Iterations, seconds+r.Seconds, blocks+r.Blocks,
				disturbed+r.LeftOut.Disturbed
		}
		if n := len(side.Runs); n > 1 {
			parts = append(parts, plural(n, "recording", "recordings"))
		}
		parts = append(parts, plural(int(iterations), "iteration", "iterations")+" in "+unit.Duration(seconds*1e9))
		if blocks > 0 {
			parts = append(parts, plural(blocks, "block", "blocks"))
		}
		if disturbed > 0 {
			parts = append(parts, plural(disturbed, "disturbed", "disturbed"))
		}
		lines = append(lines, compare.Letter(k)+"  "+visible.Text(side.Name)+": "+strings.Join(parts, ", "))
	}
	return lines
}

// columns are the places of the parts of a row; a width of 0 is no column.
type columns struct {
	title, a, b, change, bar, interval, floor, verdict [2]int // x and width
}

// columnsOf fits the columns into w cells.
func columnsOf(w int) columns {
	var p columns
	gap := 1
	widths := [8]int{14, 8, 8, 8, 0, 0, 0, 14}
	left := w - (14 + 8 + 8 + 8 + 14) - 4*gap
	grow := func(i, by, more int) { // more is what it takes beside its width
		if left >= by+more {
			widths[i] += by
			left -= by + more
		}
	}
	grow(4, 17, gap) // bars before all else
	grow(1, 1, 0)
	grow(2, 1, 0)
	grow(5, 21, gap)
	grow(0, 5, 0)
	grow(4, min(max(left, 0), 14), 0)
	grow(6, 10, gap)
	grow(0, 7, 0)
	grow(7, min(max(left/3, 0), 30), 0)
	if widths[4] > 0 {
		grow(4, min(max(left, 0), 60), 0)
	}
	x := 0
	for i, to := range []*[2]int{&p.title, &p.a, &p.b, &p.change, &p.bar, &p.interval, &p.floor, &p.verdict} {
		if widths[i] > 0 {
			*to = [2]int{x, widths[i]}
			x += widths[i] + gap
		}
	}
	return p
}

// drawRows draws the frame of the rows.
func (s *Screen) drawRows(c *chart.Canvas) {
	w, h := c.Size()
	c.Frame(theme.Border)
	c.Text(2, 0, chart.Cut(" "+compare.Letter(s.side)+" against "+compare.Letter(0)+" ", w-4), theme.Title)
	if n := len(s.c.Sides); n > 2 {
		c.TextRight(w-2, 0, " "+plural(n, "side", "sides")+": ← → ", theme.Faint)
	}
	inner := c.Sub(2, 1, w-4, h-2)
	iw, ih := w-4, h-2
	y := 0
	for _, line := range s.sides() {
		inner.Text(0, y, chart.Cut(line, iw), theme.Faint)
		y++
	}
	p := columnsOf(iw)
	span := s.span()
	s.headings(&inner, y, p, span)
	y++
	s.room = ih - y
	if h >= detailsFrom {
		s.room -= detailRows
		details := inner.Sub(0, ih-detailRows, iw, detailRows)
		s.details(&details)
	}
	list := inner.Sub(0, y, iw, s.room)
	first, last := s.list.Fit(len(s.items), s.room)
	for i := first; i < last; i++ {
		s.item(&list, i-first, i, p, span)
	}
	if note := s.list.Note("above", "below"); note != "" {
		c.TextRight(w-2, h-1, " "+note+" ", theme.Faint)
	}
}

// whisker returns the bar of a row; ok is false for a difference that is not relative.
func (s *Screen) whisker(r *compare.Row) (bar chart.Whisker, ok bool) {
	d := &r.Against[s.side-1]
	known := !math.IsNaN(d.Low) && !math.IsNaN(d.High)
	return chart.Whisker{At: d.Value, Low: d.Low, High: d.High, Bounded: known, Style: style(r, s.side-1)},
		!r.Absolute && !math.IsNaN(d.Value)
}

// span returns the common axis of the relative differences.
func (s *Screen) span() chart.Span {
	var bars []chart.Whisker
	for i := range s.c.Rows {
		if bar, ok := s.whisker(&s.c.Rows[i]); ok {
			bars = append(bars, bar)
		}
	}
	return chart.SpanOf(bars)
}

// headings draws the names of the columns and the axis.
func (s *Screen) headings(c *chart.Canvas, y int, p columns, span chart.Span) {
	right := func(at [2]int, text string) {
		if at[1] > 0 {
			c.TextRight(at[0]+at[1], y, text, theme.Faint)
		}
	}
	right(p.a, compare.Letter(0))
	right(p.b, compare.Letter(s.side))
	right(p.change, "change")
	if p.bar[1] > 0 {
		span.Axis(c, p.bar[0], y, p.bar[1])
	}
	right(p.interval, "interval")
	right(p.floor, "floor")
	c.Text(p.verdict[0], y, "verdict", theme.Faint)
}

// item draws line i of the list.
func (s *Screen) item(c *chart.Canvas, y, i int, p columns, span chart.Span) {
	w, _ := c.Size()
	it := &s.items[i]
	if it.row == nil {
		c.Text(0, y, chart.Cut(it.text, w), it.style)
	} else {
		s.row(c, y, it.row, p, span)
	}
	if i == s.list.At {
		n := p.title[1]
		if it.row == nil {
			n = min(max(width(it.text), 1), w)
		}
		c.Restyle(0, y, n, theme.Selected)
	}
}

// row draws a row of the comparison.
func (s *Screen) row(c *chart.Canvas, y int, r *compare.Row, p columns, span chart.Span) {
	k := s.side - 1
	looks := style(r, k)
	right := func(at [2]int, text string, style theme.Style) {
		if at[1] > 0 {
			c.TextRight(at[0]+at[1], y, chart.Cut(text, at[1]), style)
		}
	}
	c.Text(p.title[0], y, chart.Cut(" "+visible.Text(r.Title), p.title[1]), theme.Plain)
	right(p.a, r.Shown(0), theme.Plain)
	right(p.b, r.Shown(s.side), theme.Plain)
	right(p.change, r.Change(k), looks)
	if bar, ok := s.whisker(r); ok && p.bar[1] > 0 {
		s.floorBand(c, y, r, p, span)
		span.Draw(c, p.bar[0], y, p.bar[1], bar)
	} else if p.bar[1] > 0 && p.interval[1] == 0 {
		right(p.bar, r.Interval(k), theme.Faint)
	}
	right(p.interval, r.Interval(k), theme.Plain)
	right(p.floor, r.ShownFloor(s.side), theme.Faint)
	c.Text(p.verdict[0], y, chart.Cut(brief(r, k, p.verdict[1]), p.verdict[1]), looks)
}

// floorBand draws the A/A floor as dots around no effect.
func (s *Screen) floorBand(c *chart.Canvas, y int, r *compare.Row, p columns, span chart.Span) {
	floor := math.Max(r.Values[0].Floor, r.Values[s.side].Floor)
	if math.IsNaN(floor) || floor <= 0 {
		return
	}
	from, to := span.Column(-floor, p.bar[1]), span.Column(floor, p.bar[1])
	c.Fill(p.bar[0]+from, y, to-from+1, 1, '·', theme.Axis)
}

// details draws all of the selected line.
func (s *Screen) details(c *chart.Canvas) {
	w, _ := c.Size()
	c.Fill(0, 0, w, 1, '╌', theme.Border)
	if s.list.At >= len(s.items) {
		return
	}
	it := &s.items[s.list.At]
	if it.row == nil {
		lines := words.Wrap(it.full, w)
		for i, l := range lines[:min(len(lines), 2)] {
			c.Text(0, 1+i, chart.Cut(l, w), it.style)
		}
		return
	}
	r, k := it.row, s.side-1
	d := &r.Against[k]
	facts := []string{visible.Text(r.Title), r.Shown(0) + " → " + r.Shown(s.side), r.Change(k)}
	if interval := r.Interval(k); interval != "" {
		if d.Beside {
			interval += " beside the other times"
		}
		facts = append(facts, interval)
	}
	if floor := r.ShownFloor(s.side); floor != "" {
		facts = append(facts, "A/A floor "+floor)
	}
	if r.About != "" {
		facts = append(facts, visible.Text(r.About))
	}
	c.Text(0, 1, chart.Cut(strings.Join(facts, " · "), w), theme.Plain)
	verdict := r.Words(k)
	if d.Reason != "" {
		verdict += ": " + visible.Text(d.Reason)
	}
	for _, v := range []int{0, s.side} {
		if reason := r.Values[v].Reason; reason != "" {
			verdict += " · " + compare.Letter(v) + ": " + visible.Text(reason)
		}
	}
	c.Text(0, 2, chart.Cut(verdict, w), style(r, k))
}
