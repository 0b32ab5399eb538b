package pane

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The time axis of a chart over the run: its window, its cursor and keys, the visible part of curves, and what the
// cursor reads.

// Timeline is the time axis of a chart over the run, with a cursor. It shows the whole run, or a
// window that follows the run or was scrolled back and is held. A pane embeds a Timeline next to
// its Box and passes it the keys (ChartKey). To draw, it asks for the visible part of its curves
// (See) and for the chart to put them into (Line):
//
//	curves := p.See(c, s, s.IterationTime)
//	line := p.Line(s)
//	line.Series = []chart.Series{{Curve: curves[0], Style: theme.Line}}
//	…
//	line.Draw(c)
//	return p.Footnote(s, readout, "ms")
//
// The axis fills up and then jumps by a quarter of its length, so that most frames change only
// one column; scrolling at every sample would send the whole chart. The unit is the iteration,
// or the microsecond since the start of the run if wall is set.
type Timeline struct {
	Log  bool  // the vertical axis is logarithmic
	wall bool  // the axis is wall time
	span int64 // length of the window in units; 0 is the whole run
	Held bool  // scrolled back: the axis is fixed
	to   int64 // last unit of the axis, if held

	Keys func() *keys.Table // for the letters of changes; nil for their own

	cursor  int64 // an iteration
	Reading bool  // the cursor is shown

	// As last drawn.
	axis  window // visible range
	data  window // range of the curves
	cells int    // columns of the plot
	clock profiles.Curve
	times profiles.Curve
	wallS [][]profiles.Point // buffers for curves in wall time

	clockAt, timesAt int // positions of the last lookups in clock and times
}

// window is a range of units from first to last, both included; it is empty if last < first.
type window struct{ first, last int64 }

func (w window) length() int64 { return w.last - w.first }

func (w window) empty() bool { return w.last < w.first }

const (
	leastIterations = 8       // the shortest window
	leastTime       = 100_000 // µs
	mostUnits       = 1 << 52 // longer than any run
)

// AxisLabelWidth is the width of the labels of a vertical axis.
const AxisLabelWidth = 5

// press handles a key of a chart over time; false for other keys.
func (t *Timeline) press(key string) bool {
	switch key {
	case "left":
		t.moveCursor(-1)
	case "right":
		t.moveCursor(1)
	case "up":
		t.zoom(0.5)
	case "down":
		t.zoom(2)
	case "pgup":
		t.scroll(-1)
	case "pgdown":
		t.scroll(1)
	case "home":
		t.span, t.Held = 0, false
	case "end":
		t.Held, t.Reading = false, false
	case "x":
		t.Log = !t.Log
	default:
		return false
	}
	return true
}

// ChartKey passes a key to the timeline, and marks the embedding pane for redrawing.
func (t *Timeline) ChartKey(b *Box, key string) bool {
	if !t.press(key) {
		return false
	}
	b.Stale = true
	return true
}

// wallKey is ChartKey, with v switching between iterations and wall time.
func (t *Timeline) wallKey(b *Box, key string) bool {
	if key != "v" {
		return t.ChartKey(b, key)
	}
	t.toggleWall()
	b.Stale = true
	return true
}

// toggleWall switches between iterations and wall time. The axis returns to the whole run, as
// the window is in the other unit.
func (t *Timeline) toggleWall() {
	t.wall = !t.wall
	t.span, t.Held = 0, false
}

// moveCursor moves the cursor by columns, and the window with it. The first press places it at
// the latest visible iteration.
func (t *Timeline) moveCursor(columns int64) {
	if t.data.empty() {
		return
	}
	if !t.Reading {
		t.Reading = true
		t.cursor = t.iteration(min(t.axis.last, t.data.last))
		return
	}
	step := max(1, t.axis.length()/int64(max(t.cells, 1)))
	at := min(max(t.unit(t.cursor)+columns*step, t.data.first), t.data.last)
	next := t.iteration(at)
	if next == t.cursor && t.wall { // a step shorter than an iteration
		next = min(max(t.cursor+columns, t.iteration(t.data.first)), t.iteration(t.data.last))
	}
	t.cursor = next
	if at := t.unit(t.cursor); at < t.axis.first || at > t.axis.last {
		t.scroll(columns)
	}
}

// zoom scales the length of the window, with its end fixed, or the cursor if there is one.
func (t *Timeline) zoom(factor float64) {
	if t.data.empty() {
		return
	}
	length := t.axis.length()
	if t.span > 0 {
		length = t.span
	}
	least := int64(leastIterations)
	if t.wall {
		least = leastTime
	}
	span := max(least, int64(float64(length)*factor))
	if span >= t.data.length() && factor > 1 {
		t.span, t.Held = 0, false
		return
	}
	end := min(t.axis.last, t.data.last)
	if t.Reading {
		at := t.unit(t.cursor)
		end = at + int64(float64(t.axis.last-at)*factor)
		t.Held = t.Held || end < t.data.last
	}
	t.span = span
	t.hold(end)
}

// scroll moves the window by half its length.
func (t *Timeline) scroll(direction int64) {
	if t.data.empty() {
		return
	}
	if t.span == 0 {
		if direction > 0 {
			return
		}
		t.span = max(leastIterations, t.data.length()/2)
	}
	end := min(t.axis.last, t.data.last) + direction*max(1, t.span/2)
	t.Held = end < t.data.last
	t.hold(end)
}

// hold ends a held window at a unit, within the data.
func (t *Timeline) hold(end int64) {
	if t.Held {
		t.to = min(max(end, t.data.first+t.span), t.data.last)
	}
}

// See fits the axis to a canvas and returns the visible part of the curves, in units of the
// axis. The result is valid until the next call.
func (t *Timeline) See(c *chart.Canvas, s *profiles.Snapshot, curves ...profiles.Curve) []profiles.Curve {
	w, _ := c.Size()
	t.cells = max(1, w-AxisLabelWidth-1)
	t.clock, t.times = s.Clock, s.IterationTime
	if t.wall && len(t.clock) == 0 {
		t.wall, t.span, t.Held = false, 0, false
	}
	t.data = t.covered(append(curves[:len(curves):len(curves)], s.IterationTime))
	t.axis = t.window(words.Ended(s.State))
	first, last := t.axis.first, t.axis.last
	if t.wall {
		first, last = t.iteration(first)-1, t.iteration(last)+1
	}
	seen := make([]profiles.Curve, len(curves))
	for i, curve := range curves {
		seen[i] = curve.Between(first, last)
		if t.wall {
			seen[i] = t.inTime(i, seen[i])
		}
	}
	return seen
}

// covered returns the range of all curves.
func (t *Timeline) covered(curves []profiles.Curve) window {
	w := window{math.MaxInt64, math.MinInt64}
	for _, c := range curves {
		if len(c) > 0 {
			w.first, w.last = min(w.first, c[0].First), max(w.last, c[len(c)-1].Last)
		}
	}
	if w.first > w.last {
		return window{0, -1}
	}
	w.first, w.last = min(max(w.first, 0), mostUnits), min(max(w.last, 0), mostUnits)
	if t.wall {
		w.first, w.last = t.unit(w.first), t.after(w.last)
	}
	return w
}

// window returns the axis: held, following, or the whole run.
func (t *Timeline) window(over bool) window {
	d := t.data
	switch {
	case d.empty():
		return window{0, 1}
	case t.span == 0 || t.span >= d.length() && !t.Held:
		if over {
			return window{d.first, max(d.last, d.first+1)}
		}
		return window{d.first, d.first + fillingLength(d.length(), t.wall)}
	case t.Held && t.to-t.span >= d.first && t.to <= d.last:
		return window{t.to - t.span, t.to}
	}
	t.Held = false
	last := d.last
	if quarter := t.span / 4; quarter > 0 && !over {
		last = (d.last/quarter + 1) * quarter
	}
	return window{last - t.span, last}
}

// fillingLength returns a round axis length for n units.
func fillingLength(n int64, wall bool) int64 {
	least := 60.0
	if wall {
		least = 10e6
	}
	return int64(math.Round(chart.RoundUp(max(float64(n), least))))
}

// Line returns a chart on the axis, with the changes of settings and the cursor.
func (t *Timeline) Line(s *profiles.Snapshot) chart.Line {
	l := chart.Line{
		From: t.axis.first, To: t.axis.last, Log: t.Log,
		Marks: marks(t.Keys, s), Label: unit.AxisLabel, LabelWidth: AxisLabelWidth,
		Cursor: t.unit(t.cursor), HasCursor: t.Reading,
	}
	if t.wall {
		for i := range l.Marks {
			l.Marks[i].At = t.unit(l.Marks[i].At)
		}
		length := t.axis.length()
		l.XLabel = func(us int64) string { return axisClock(us, length) }
	}
	return l
}

// axisClock formats a time on an axis of length microseconds.
func axisClock(us, length int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case length <= 60e6:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case length <= 3600e6:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// unit returns the position on the axis at which an iteration starts.
func (t *Timeline) unit(iteration int64) int64 {
	k := nearest(t.clock, iteration, &t.clockAt)
	if !t.wall || k < 0 {
		return iteration
	}
	p := t.clock[k]
	at := p.Min
	if p.Last > p.First && iteration > p.First {
		at += (p.Max - p.Min) * float64(min(iteration, p.Last)-p.First) / float64(p.Last-p.First)
	}
	return int64(math.Min(math.Max(at*1e6, 0), mostUnits))
}

// nearest is Curve.Nearest with the search starting at the previous result, since charts look up
// iterations in order.
func nearest(c profiles.Curve, iteration int64, at *int) int {
	for k := *at; k < min(*at+3, len(c)); k++ {
		if c[k].First <= iteration && iteration <= c[k].Last {
			*at = k
			return k
		}
	}
	k := c.Nearest(iteration)
	*at = max(k, 0)
	return k
}

// after returns the position on a wall-time axis at which an iteration ends.
func (t *Timeline) after(iteration int64) int64 {
	at := t.unit(iteration)
	if k := nearest(t.times, iteration, &t.timesAt); k >= 0 {
		at += int64(math.Min(math.Max(t.times[k].Mean*1e3, 0), mostUnits))
	}
	return at
}

// iteration returns the iteration running at a unit of the axis.
func (t *Timeline) iteration(unit int64) int64 {
	if !t.wall || len(t.clock) == 0 {
		return unit
	}
	lo, hi := t.clock[0].First, t.clock[len(t.clock)-1].Last
	for lo < hi { // the last one that started by then
		mid := lo + (hi-lo+1)/2
		if t.unit(mid) <= unit {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// inTime converts a curve to wall time, into the i-th buffer.
func (t *Timeline) inTime(i int, c profiles.Curve) profiles.Curve {
	for len(t.wallS) <= i {
		t.wallS = append(t.wallS, nil)
	}
	out := append(t.wallS[i][:0], c...)
	for k := range out {
		out[k].First, out[k].Last = t.unit(c[k].First), max(t.after(c[k].Last), t.unit(c[k].First))
	}
	t.wallS[i] = out
	return out
}

// Read returns the bucket of a curve under the cursor; false without a cursor.
func (t *Timeline) Read(c profiles.Curve) (profiles.Point, bool) {
	if !t.Reading {
		return profiles.Point{}, false
	}
	k := c.Nearest(t.cursor)
	if k < 0 {
		return profiles.Point{}, false
	}
	return c[k], true
}

// Iterations formats the iterations of a bucket: "412" or "400–431".
func Iterations(p profiles.Point) string {
	if p.First == p.Last {
		return fmt.Sprintf("%d", p.First)
	}
	return fmt.Sprintf("%d–%d", p.First, p.Last)
}

// changesNear formats the changes of settings and the notes within a column of the cursor; empty if
// there are none.
func (t *Timeline) changesNear(s *profiles.Snapshot) string {
	at, column := t.unit(t.cursor), t.axis.length()/int64(max(t.cells, 1))
	text := ""
	for i, c := range s.Changes {
		if d := t.unit(c.Iteration) - at; max(d, -d) <= column {
			between := " · "
			if i > 0 && s.Changes[i-1].Iteration == c.Iteration {
				between = " + "
			}
			table := s.Settings.Table()
			text += fmt.Sprintf("%s%s %s→%s", between, words.SettingName(table, c.Key),
				words.SettingText(table, c.Key, c.Before, 0), words.SettingText(table, c.Key, c.After, 0))
		}
	}
	for i := range s.Notes {
		n := &s.Notes[i]
		if d := t.unit(n.Iteration) - at; max(d, -d) <= column {
			text += " · " + visible.Text(n.String())
		}
	}
	return text
}

// ChartHints returns the keys of a chart over time, for a pane's Hints.
func (t *Timeline) ChartHints() []Hint {
	hints := []Hint{{"←→", "read"}, {"↑↓", "zoom"}, {"pgup", "back in time"}}
	if t.Held || t.Reading {
		hints = append(hints, Hint{"end", "live"})
	}
	if t.span > 0 {
		hints = append(hints, Hint{"home", "whole run"})
	}
	scale := "log scale"
	if t.Log {
		scale = "linear scale"
	}
	return append(hints, Hint{"x", scale})
}

// wallHint returns the key of the axis, for panes in which v switches it.
func (t *Timeline) wallHint() Hint {
	if t.wall {
		return Hint{"v", "by iteration"}
	}
	return Hint{"v", "by time"}
}

// Footnote returns the note in the lower edge of the frame: readout if there is data under the
// cursor, how to return to the latest data if the chart is held, else the text in otherwise.
func (t *Timeline) Footnote(s *profiles.Snapshot, readout, otherwise string) (string, theme.Style) {
	note, style := otherwise, theme.Faint
	switch {
	case t.Reading && readout != "":
		note, style = readout+t.changesNear(s), theme.Strong
		if t.Held {
			note += " · end: live"
		}
	case t.Held:
		line := t.Line(s)
		label := line.XLabel
		if label == nil {
			label = func(v int64) string { return fmt.Sprint(v) }
		}
		note, style = "at "+label(t.axis.first)+"–"+label(t.axis.last)+" · end: live", theme.Strong
	}
	return note, style
}
