package pane

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the phases as bars with their numbers and trends.

// Right ends of the columns of numbers, counted from the right edge.
const (
	shareEnd, p95End, medianEnd = 0, 6, 12
	phaseNumbers                = 17 // from the first number to the edge
	phaseNameWidth              = 9
	trendWidth                  = 7 // an arrow and a percentage
	sparkMin, sparkMax          = 6, 24
)

// steadyChange is the relative change below which a phase counts as steady.
const steadyChange = 0.03

// tallPhases reports whether bars have rows of their own in h rows, and phases their trends beside the name.
func tallPhases(s *profiles.Snapshot, h int) bool { return h >= 2*len(s.Run.Schema.Phases)+1 }

func (p *phases) bars(c *chart.Canvas, s *profiles.Snapshot) {
	w, h := c.Size()
	n := len(s.Run.Schema.Phases)
	tall := tallPhases(s, h)
	gap := 0
	if h >= 3*n+1 {
		gap = 1
	}
	top := scaleOf(s)
	y := 0
	for id, v := range s.Phases[:n] {
		p.numbers(c, y, profiles.Phase(id), s)
		bars := c.Sub(phaseNameWidth+1, y, w-phaseNameWidth-phaseNumbers-4, 1)
		if tall {
			p.trend(c, y, id, s)
			y++
			bars = c.Sub(0, y, w, 1)
		} else if t := trendOf(s, id); t.HasChange && v.N > 0 {
			arrow, style := arrowOf(t.Change)
			c.Set(w-phaseNumbers-2, y, arrow, style)
		}
		if v.N > 0 && top > 0 {
			phaseBar(&bars, v, top, phaseStyle(&s.Run.Schema, profiles.Phase(id)))
		}
		y += 1 + gap
	}
	if share := between(s); share >= leastBetween && h > y+1 {
		c.Text(0, y, "between", theme.Plain)
		c.TextRight(w-shareEnd, y, unit.Percent(share), theme.Plain)
		y++
	}
	if s.Total.N > 0 && h >= y+2 {
		p.total(c, h-2, s)
		if tall {
			p.trend(c, h-2, profiles.WholeIteration, s)
		}
		p.shares(c, h-1, s)
	} else if s.Total.N > 0 && h > y {
		p.total(c, h-1, s)
	}
}

// farthest is how many times the longest median the scale of the bars goes: the whisker of one slow phase beyond has
// no end, so that bars of the others can be seen.
const farthest = 3

// scaleOf returns the time at the right end of the bars.
func scaleOf(s *profiles.Snapshot) float64 {
	most, median := 0.0, 0.0
	for _, v := range s.Phases {
		if v.N > 0 {
			most, median = max(most, v.P95, v.Median), max(median, v.Median)
		}
	}
	return min(most, farthest*median)
}

// leastBetween is the share from which the time between phases is shown: less is the rounding of theirs.
const leastBetween = 0.01

// between returns the share of the time that belongs to no phase.
func between(s *profiles.Snapshot) float64 {
	rest := 1.0
	for _, v := range s.Phases {
		if v.N > 0 {
			rest -= v.Share
		}
	}
	if s.Total.N == 0 {
		return 0
	}
	return rest
}

// numbers writes a phase's name and times.
func (p *phases) numbers(c *chart.Canvas, y int, id profiles.Phase, s *profiles.Snapshot) {
	w, _ := c.Size()
	name, v := theme.Plain, s.Phases[id]
	if v.N == 0 {
		name = theme.Faint
		c.TextRight(w, y, notRun(s, id), theme.Faint)
	} else {
		c.TextRight(w-medianEnd, y, unit.Milliseconds(v.Median), theme.Strong)
		c.TextRight(w-p95End, y, unit.Milliseconds(v.P95), theme.Faint)
		c.TextRight(w-shareEnd, y, unit.Percent(v.Share), theme.Plain)
	}
	c.Text(0, y, words.PhaseName(s, id), name)
}

// notRun explains why a phase has no times. The times on screen cover the recent window, which
// may contain no iteration of that phase.
func notRun(s *profiles.Snapshot, id profiles.Phase) string {
	switch {
	case s.Whole.Phases[id].N == 0:
		return "not run" + words.Yet(s)
	case s.Total.N == 0:
		return "not run since the change"
	}
	return fmt.Sprintf("in none of the last %d", s.Total.N)
}

// trendOf returns the recent trend of a phase, or of the whole iteration for the index after the
// last phase.
func trendOf(s *profiles.Snapshot, id int) profiles.Trend {
	if s.Trends == nil {
		return profiles.Trend{}
	}
	return s.Trends[id]
}

// trend draws a phase's recent trend between its name and its numbers.
func (p *phases) trend(c *chart.Canvas, y, id int, s *profiles.Snapshot) {
	t := trendOf(s, id)
	w, _ := c.Size()
	room := w - phaseNameWidth - phaseNumbers - 2
	if len(t.Bins) == 0 || room < trendWidth || id < len(s.Phases) && s.Phases[id].N == 0 {
		return
	}
	style := theme.Plain
	if id < len(s.Phases) {
		style = phaseStyle(&s.Run.Schema, profiles.Phase(id))
	}
	spark := min(room-trendWidth-1, sparkMax)
	if spark >= sparkMin {
		top := 0.0
		for _, v := range t.Bins {
			top = max(top, v)
		}
		if top > 0 && !math.IsInf(top, 0) {
			c.Spark(phaseNameWidth+1, y, spark, t.Bins, chart.RoundUp(top), p.Theme.ASCII, style)
		}
	} else {
		spark = 0
	}
	if t.HasChange {
		arrow, style := arrowOf(t.Change)
		x := phaseNameWidth + 1 + spark + 1
		c.Set(x, y, arrow, style)
		c.Text(x+1, y, fmt.Sprintf("%3.0f %%", min(100*math.Abs(t.Change), 999)), theme.Faint)
	}
}

// arrowOf returns the arrow for a change in time.
func arrowOf(change float64) (rune, theme.Style) {
	switch {
	case change > steadyChange:
		return '↑', theme.Bad
	case change < -steadyChange:
		return '↓', theme.Good
	}
	return '→', theme.Faint
}

// phaseBar draws the median as a bar and the range up to the 95th percentile as a whisker, without an end beyond top.
func phaseBar(c *chart.Canvas, v profiles.PhaseView, top float64, style theme.Style) {
	w, _ := c.Size()
	if w < 3 {
		return
	}
	unit := float64(w) / top
	x := c.Bar(0, 0, w, v.Median*unit, style)
	end := min(int(v.P95*unit+0.5), w)
	for ; x < end-1; x++ {
		c.Set(x, 0, '─', theme.Border)
	}
	if x < end {
		mark := '┤'
		if v.P95 > top {
			mark = '─'
		}
		c.Set(x, 0, mark, theme.Border)
	}
}

func (p *phases) total(c *chart.Canvas, y int, s *profiles.Snapshot) {
	w, _ := c.Size()
	c.Text(0, y, "iteration", theme.Strong)
	c.TextRight(w-medianEnd, y, unit.Milliseconds(s.Total.Median), theme.Strong)
	c.TextRight(w-p95End, y, unit.Milliseconds(s.Total.P95), theme.Faint)
}

// columnTitles writes the titles of the numbers, up to column right.
func (p *phases) columnTitles(c *chart.Canvas, right, y int) {
	c.TextRight(right-shareEnd+1, y, " share ", theme.Faint)
	c.TextRight(right-p95End, y, "   p95", theme.Faint)
	c.TextRight(right-medianEnd, y, " ms: median", theme.Faint)
}

// shares draws the whole iteration as one bar divided by phase; without colours, two shades
// alternate.
func (p *phases) shares(c *chart.Canvas, y int, s *profiles.Snapshot) {
	w, _ := c.Size()
	x, sum := 0, 0.0
	shades := [2]rune{'▇', '▇'}
	if p.Theme.Depth == theme.NoColor || p.Theme.ASCII {
		shades[1] = '░'
	}
	for id, v := range s.Phases {
		if v.N == 0 || !(v.Share > 0) {
			continue
		}
		sum += v.Share
		end := min(int(sum*float64(w)+0.5), w)
		c.Fill(x, y, end-x, 1, shades[id%2], phaseStyle(&s.Run.Schema, profiles.Phase(id)))
		x = max(x, end)
	}
}

// bottleneck names the slowest layer or phase, with its share of the time, and what belongs to no phase, in room cells.
func bottleneck(s *profiles.Snapshot, room int) (string, theme.Style) {
	if text, style := slowestLayer(s); text != "" {
		return text, style
	}
	first, second := -1, -1
	for id, v := range s.Phases {
		switch {
		case v.N == 0:
		case first < 0 || v.Share > s.Phases[first].Share:
			first, second = id, first
		case second < 0 || v.Share > s.Phases[second].Share:
			second = id
		}
	}
	if first < 0 {
		return "", theme.Faint
	}
	brief := fmt.Sprintf("bottleneck: %s, %.0f %%", words.PhaseName(s, profiles.Phase(first)),
		100*s.Phases[first].Share)
	text := brief
	if second >= 0 && s.Phases[second].Share > 0 {
		text += fmt.Sprintf(", %.1f× %s", s.Phases[first].Share/s.Phases[second].Share,
			words.PhaseName(s, profiles.Phase(second)))
	}
	choices := [][]string{{text}, {brief}}
	if share := between(s); share >= leastBetween {
		rest := fmt.Sprintf("between phases %.0f %%", 100*share)
		choices = [][]string{{text, rest}, {brief, rest}, {brief}}
	}
	return words.FittingParts(room, choices...), phaseStyle(&s.Run.Schema, profiles.Phase(first))
}

// slowestLayer names the slowest layer and the roof that it is closer to; empty if layers are
// not profiled.
func slowestLayer(s *profiles.Snapshot) (string, theme.Style) {
	var top profiles.Layer
	for _, l := range s.Layers {
		if l.Nanos > top.Nanos {
			top = l
		}
	}
	if top.Nanos == 0 {
		return "", theme.Faint
	}
	text := fmt.Sprintf("%s %.2f ms, ", top.Name, top.Nanos/1e6)
	switch {
	case !top.Judged:
		text += fmt.Sprintf("%.0f GFLOP/s", float64(top.FLOPs)/top.Nanos)
	case top.Compute > top.Memory:
		text += fmt.Sprintf("%.0f %% of FMA roof", 100*top.Compute)
	default:
		text += fmt.Sprintf("%.0f %% of bandwidth", 100*top.Memory)
	}
	return text, phaseStyle(&s.Run.Schema, top.Phase)
}
