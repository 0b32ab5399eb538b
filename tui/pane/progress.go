package pane

import (
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the quality and the losses, one above the other on one time axis.

// Progress specifies the pane of the quality and the losses over the run.
var Progress = Spec{
	Name:   "quality and loss",
	Called: progressName,
	Shape:  layout.Shape{Width: layout.Extent{Least: 36, Good: 42, Most: 140, Weight: 4}, Height: layout.Extent{Least: 6, Good: 10, Most: 18, Weight: 3}},
	Needs:  func(r *profiles.RunInfo) bool { return progressName(r) != "" },
	New:    func(h Host) Pane { return newProgress(h) },
}

// progressName names what a run has of the two; empty for neither.
func progressName(r *profiles.RunInfo) string {
	switch metrics, losses := len(r.Schema.Group(profiles.Metrics)) > 0, len(r.Schema.Group(profiles.Losses)) > 0; {
	case metrics && losses:
		return "quality and loss"
	case metrics:
		return "quality"
	case losses:
		return "loss"
	}
	return ""
}

// progress charts a metric of the result above the losses, on one axis of iterations.
type progress struct {
	Box
	Timeline
	view    int // index of the metric among those of the run
	metrics int // their number
	ranges  [profiles.MaxSeries][2]float64
	scale   lossScale
}

func newProgress(h Host) *progress {
	return &progress{Box: Box{Title: "Quality and loss"}, Timeline: Timeline{Log: true, Keys: h.Keys}}
}

// Cells returns the pane as it is on the screen.
func (p *progress) Cells() *chart.Canvas { return p.Render(p.draw) }

// Update takes a snapshot, whose run may lack one of the two.
func (p *progress) Update(s *profiles.Snapshot) {
	if name := progressName(&s.Run); name != "" {
		p.Title = words.Capital(name)
	}
	p.Box.Update(s)
}

// Press shows the next metric (v); x switches between a linear and a logarithmic axis of the losses.
func (p *progress) Press(key string) bool {
	if key == "v" && p.metrics > 1 {
		p.view = (p.view + 1) % p.metrics
		p.Stale = true
		return true
	}
	return p.ChartKey(&p.Box, key)
}

// Hints returns the chart's keys.
func (p *progress) Hints() []Hint {
	if p.metrics > 1 {
		return append([]Hint{{"v", "metric"}}, p.ChartHints()...)
	}
	return p.ChartHints()
}

// Explain describes both charts.
func (p *progress) Explain() []string {
	return explanations.Of("progress", "{losses}", lossTerms(p.Snap))
}

// metric returns the chosen metric, the first being the schema's quality.
func (p *progress) metric(s *profiles.Snapshot) (m words.Metric, ok bool) {
	all := words.MetricsOf(s)
	if p.metrics = len(all); p.metrics == 0 {
		return m, false
	}
	first := max(0, slices.IndexFunc(all, func(m words.Metric) bool { return m.Name == s.Run.Schema.Quality }))
	return all[(first+p.view)%p.metrics], true
}

// leastAbove and leastBelow are the rows that the two charts need at least.
const leastAbove, leastBelow = 2, 3

func (p *progress) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	m, measured := p.metric(s)
	losses := s.Run.Schema.Group(profiles.Losses)
	curves := make([]profiles.Curve, 0, 1+profiles.MaxSeries)
	for _, id := range losses {
		curves = append(curves, s.Series[id].Curve)
	}
	if measured {
		curves = append(curves, s.Series[m.ID].Curve)
	}
	curves = p.See(c, s, curves...)
	above := 0
	switch {
	case measured && len(losses) == 0:
		above = h
	case measured && h >= leastAbove+leastBelow:
		above = (h - 1) / 2
	}
	readout, at := "", profiles.Point{}
	if above > 0 {
		part := c.Sub(0, 0, w, above)
		p.quality(&part, s, m, curves[len(curves)-1], len(losses) > 0)
		p.Aside(m.Title+" "+p.latest(s, m), theme.Line)
		if v, ok := p.Read(s.Series[m.ID].Curve); ok {
			at, readout = v, " "+m.Title+" "+m.Format(v.Mean)
		}
	}
	if above < h {
		part := c.Sub(0, above, w, h-above)
		line := p.Line(s)
		line.Series, line.Threshold = lossSeries(s, curves, p.Theme), words.ThresholdOf(s)
		p.scale.fit(&line, curves[:len(losses)])
		if !line.Draw(&part) {
			Message(&part, "no loss"+words.Yet(s))
		}
		if v, text, ok := p.readLosses(s); ok {
			at, readout = v, text+readout
		}
	}
	if readout != "" {
		readout = "iteration " + Iterations(at) + ":" + readout
	}
	note, style := p.Footnote(s, readout, words.WhySuspended(s))
	switch {
	case s.NonFinite > 0:
		return lostLosses(s), theme.Bad
	case note == "":
		p.legend(s)
	}
	return note, style
}

// latest formats a metric's newest value.
func (p *progress) latest(s *profiles.Snapshot, m words.Metric) string {
	if !s.Series[m.ID].Has {
		return "–"
	}
	return m.Format(s.Series[m.ID].Latest)
}

// quality draws a metric; shared leaves the axis of iterations to the chart below.
func (p *progress) quality(c *chart.Canvas, s *profiles.Snapshot, m words.Metric, curve profiles.Curve, shared bool) {
	line := p.Line(s)
	line.Log, line.Shared = false, shared
	line.Series = []chart.Series{{Curve: curve, Style: theme.Line, Sampled: !m.Each}}
	p.ranges[m.ID] = chart.Range(curve, p.ranges[m.ID])
	line.Floor, line.Ceiling = p.ranges[m.ID][0], p.ranges[m.ID][1]
	if !line.Draw(c) {
		Message(c, m.Title+" not measured"+words.Yet(s))
	}
}

// readLosses formats the losses under the cursor.
func (p *progress) readLosses(s *profiles.Snapshot) (at profiles.Point, text string, ok bool) {
	for _, id := range slices.Backward(s.Run.Schema.Group(profiles.Losses)) {
		v, has := p.Read(s.Series[id].Curve)
		switch {
		case !has:
		case !ok:
			at, ok = v, true
			text = " " + s.Run.Schema.Series[id].Title + " " + unit.AxisLabel(v.Mean)
		case v.First <= at.Last && v.Last >= at.First:
			text = " " + s.Run.Schema.Series[id].Title + " " + unit.AxisLabel(v.Mean) + text
		}
	}
	return at, text, ok
}

// legend writes the newest losses into the lower edge, in the styles of their curves.
func (p *progress) legend(s *profiles.Snapshot) {
	_, h := p.Canvas.Size()
	x, end := 2, 2+p.EdgeRoom()
	for _, e := range lossEntries(s) {
		if text := " " + e.text + " "; x+chart.Width(text) <= end {
			x = p.Canvas.Text(x, h-1, text, e.style)
		}
	}
}
