package pane

import (
	"fmt"
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file charts memory over the run: curves of the process and of the categories, and the
// slope in words.

// memorySeries lists the curves in legend order.
var memorySeries = []struct {
	name  string
	style theme.Style
	curve func(profiles.MemoryHistory) profiles.Curve
}{
	{"process", theme.Line, func(h profiles.MemoryHistory) profiles.Curve { return h.RSS }},
	{"parameters", theme.Phase4, func(h profiles.MemoryHistory) profiles.Curve { return h.Parameters }},
	{"buffers", theme.Phase2, func(h profiles.MemoryHistory) profiles.Curve { return h.Buffers }},
	{"caches", theme.Phase3, func(h profiles.MemoryHistory) profiles.Curve { return h.Caches }},
	{"GPU", theme.Phase5, func(h profiles.MemoryHistory) profiles.Curve { return h.GPU }},
}

// history draws the curves, with their legend above and the slope below.
func (p *memory) history(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	m := s.Memory
	var whole []profiles.Curve
	for _, series := range memorySeries {
		whole = append(whole, series.curve(m.History))
	}
	if len(whole[1]) == 0 {
		Message(c, "not read"+words.WhileRunning(s, " yet: once a second while the run goes on"))
		return "", theme.Faint
	}
	top, foot := 0, 0
	if h >= 6 {
		p.names(c, &s.Run.Schema, m)
		top = 1
	}
	if h >= 9 {
		words := words.Wrap(slopeWords(s), w)
		foot = min(len(words), h/3)
		for i, text := range words[:foot] {
			c.Text(0, h-foot+i, chart.Cut(text, w), slopeStyle(s))
		}
	}
	plot := c.Sub(0, top, w, h-top-foot)
	seen := p.See(&plot, s, whole...)
	line := p.Line(s)
	highest := 0.0
	for i, curve := range seen {
		line.Series = append(line.Series, chart.Series{Curve: curve, Sampled: true, Style: memorySeries[i].style,
			Dash: chart.DashedWhen(i > 0 && p.Theme.Depth == theme.NoColor)})
		for _, point := range curve {
			highest = max(highest, point.Max)
		}
	}
	if highest > p.ceiling || highest < p.ceiling/2 {
		p.ceiling = chart.RoundUp(max(highest, 1))
	}
	line.Ceiling = p.ceiling
	line.Label = func(v float64) string { return unit.AxisLabel(v / 1e6) }
	if !line.Draw(&plot) {
		Message(&plot, "nothing read here")
	}
	note := "MB"
	if foot == 0 {
		text, _ := slopeShort(s)
		note += " · " + text
	}
	return p.Footnote(s, p.readout(s), note)
}

// names writes the legend with the current values.
func (p *memory) names(c *chart.Canvas, schema *profiles.Schema, m profiles.MemoryView) {
	w, _ := c.Size()
	parameters, buffers := m.Sums(schema)
	now := []int64{m.RSS, parameters, buffers, m.Caches, 0}
	if n := len(m.History.GPU); n > 0 {
		now[len(now)-1] = int64(m.History.GPU[n-1].Mean)
	}
	x := 0
	for i, series := range memorySeries {
		if series.name == "GPU" && len(m.History.GPU) == 0 {
			continue
		}
		text := series.name
		if full := text + " " + unit.Size(now[i]); w >= 76 {
			text = full
		}
		if x+chart.Width(text)+2 > w {
			return
		}
		c.Set(x, 0, '▇', series.style)
		x = c.Text(x+2, 0, text, theme.Plain) + 2
	}
}

// readout formats the memory under the cursor; empty without a cursor.
func (p *memory) readout(s *profiles.Snapshot) string {
	text := ""
	for _, series := range memorySeries {
		at, ok := p.Read(series.curve(s.Memory.History))
		if !ok {
			continue
		}
		if text == "" {
			text = "iteration " + Iterations(at) + ":"
		}
		text += " " + series.name + " " + unit.Size(int64(at.Mean))
	}
	return text
}

// byteRate formats bytes per minute with sign and unit: "+2.1 MB".
func byteRate(v float64) string {
	sign := "+"
	if v < 0 {
		sign = "−"
	}
	return sign + unit.Size(int64(math.Round(math.Abs(v))))
}

// slopeShort summarizes the slope, in a style that warns if it needs attention.
func slopeShort(s *profiles.Snapshot) (string, theme.Style) {
	t := s.Memory.Trend
	switch {
	case !t.Known:
		if words.Ended(s.State) {
			return "slope: not known", theme.Faint
		}
		return "slope: not yet", theme.Faint
	case t.Noise():
		return "no slope", theme.Faint
	}
	word := "grows "
	if t.PerMinute < 0 {
		word = "shrinks "
	}
	return word + unit.Size(int64(math.Round(math.Abs(t.PerMinute)))) + "/min", slopeStyle(s)
}

// slopeStyle warns of growth of which there is an alert.
func slopeStyle(s *profiles.Snapshot) theme.Style {
	if slices.ContainsFunc(s.Alerts, func(a profiles.Alert) bool { return a.ID == profiles.LeakAlert }) {
		return theme.Warn
	}
	return theme.Faint
}

// slopeWords describes the slope in full.
func slopeWords(s *profiles.Snapshot) string {
	m, t := s.Memory, s.Memory.Trend
	if m.Reason != "" {
		return "no slope: " + m.Reason
	}
	if !t.Known && words.Ended(s.State) {
		return "no slope: the run was over too soon under its last settings"
	}
	if !t.Known {
		return fmt.Sprintf("slope: needs %.0f s more of the run under these settings", math.Ceil(t.Needed.Seconds()))
	}
	over := fmt.Sprintf("over the last %s, %d readings", unit.Clock(t.Span), t.N)
	interval := fmt.Sprintf("95 %% interval %s to %s", byteRate(t.Low), byteRate(t.High))
	if t.Noise() {
		return fmt.Sprintf("no slope: within noise (%s a minute, %s) %s", byteRate(t.PerMinute), interval, over)
	}
	text := fmt.Sprintf("slope %s a minute (%s), %s per 1000 iterations, %s", byteRate(t.PerMinute), interval,
		byteRate(t.PerThousand), over)
	if t.CachesPerMinute == 0 {
		return text
	}
	beyond := fmt.Sprintf("; caches %s, beyond them %s", byteRate(t.CachesPerMinute), byteRate(t.Beyond))
	if !t.BeyondCaches().Excluded() {
		beyond += ", within noise"
	}
	return text + beyond
}
