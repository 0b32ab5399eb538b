package imaging

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the quality: one metric over the run, or all of them.

// Quality specifies the pane of how close the result is to the truth.
var Quality = pane.Spec{
	Name:  "quality",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 48, Most: 100, Weight: 5}, Height: layout.Extent{Least: 6, Good: 9, Most: 16, Weight: 3}},
	Needs: func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Metrics)) > 0 },
	New: func(h pane.Host) pane.Pane {
		p := newQuality()
		p.Keys = h.Keys
		return p
	},
}

// quality charts the closeness of the reconstruction to the truth over the run: one metric, or
// all three if the pane is tall.
type quality struct {
	pane.Box
	pane.Timeline
	view     int // index of the displayed metric, or allMetrics
	count    int // number of metrics
	ceilings [profiles.MaxSeries]float64
	decades  [profiles.MaxSeries][2]float64
}

// better says which direction is better; empty if neither is.
func better(d profiles.Direction) string {
	switch d {
	case profiles.MoreIsBetter:
		return "higher is better"
	case profiles.LessIsBetter:
		return "lower is better"
	}
	return ""
}

// anyMeasured reports whether any metric has a value.
func anyMeasured(s *profiles.Snapshot, of []words.Metric) bool {
	return slices.ContainsFunc(of, func(m words.Metric) bool { return s.Series[m.ID].Has })
}

// allMetrics is the view of all metrics, stacked; stackedHeight is the minimum inner height for
// it.
const (
	allMetrics    = profiles.MaxSeries
	stackedHeight = 15
)

func newQuality() *quality { return &quality{Box: pane.Box{Title: "Quality"}, view: allMetrics} }

// Cells returns the pane as it is on the screen.
func (p *quality) Cells() *chart.Canvas { return p.Render(p.draw) }

// Press switches the metric (v); the chart's cursor, scrolling and zoom have the usual keys.
func (p *quality) Press(key string) bool {
	if key == "v" {
		_, h := p.Canvas.Size()
		switch p.view++; {
		case p.view > allMetrics:
			p.view = 0
		case p.view >= p.count:
			p.view = allMetrics
		}
		if p.view == allMetrics && h-2 < stackedHeight {
			p.view = 0 // identical to the first view
		}
		p.Stale = true
		return true
	}
	return p.ChartKey(&p.Box, key)
}

// Hints returns the keys of the metrics and of the chart.
func (p *quality) Hints() []pane.Hint {
	return append([]pane.Hint{{Key: "v", Does: "metric"}}, p.ChartHints()...)
}

// Explain describes the metrics and when they are computed.
func (p *quality) Explain() []string {
	about := explanations.Of("quality")
	if p.Snap != nil && p.Snap.Run.Schema.SeriesNamed(phaseErrorSeries) >= 0 {
		about = append(about, explanations.Of("quality, phase")...)
	}
	return append(about, explanations.Of("quality, curves")...)
}

func (p *quality) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	metrics := words.MetricsOf(s)
	if p.count = len(metrics); !anyMeasured(s, metrics) {
		pane.Message(c, "not measured"+words.Yet(s))
		return "", theme.Faint
	}
	all := p.view == allMetrics && h >= stackedHeight
	view := p.view
	if view >= len(metrics) {
		view = 0
	}
	p.legend(s, metrics, view, all)
	curves := make([]profiles.Curve, len(metrics))
	for i, m := range metrics {
		curves[i] = s.Series[m.ID].Curve
	}
	curves = p.See(c, s, curves...)
	if !all {
		if !p.chart(c, s, view, curves[view]) {
			pane.Message(c, none(s))
		}
		return p.foot(s, p.readout(s, metrics[view:view+1]), metrics[view].Heading(), " · v metric")
	}
	y := 0
	for i, m := range metrics {
		rows := (h - y) / (len(metrics) - i)
		part := c.Sub(0, y, w, rows)
		title := m.Heading()
		part.Text(pane.AxisLabelWidth+1, 0, title, theme.Strong)
		part.Text(pane.AxisLabelWidth+1+chart.Width(title)+2, 0, better(m.Better), theme.Faint)
		plot := part.Sub(0, 1, w, rows-1)
		if !p.chart(&plot, s, i, curves[i]) {
			pane.Message(&plot, none(s))
		}
		y += rows
	}
	return p.foot(s, p.readout(s, metrics), "", " · v one metric")
}

// none says why there is no comparison with the truth.
func none(s *profiles.Snapshot) string {
	if c := s.Run.Caveat; c.Text != "" {
		return c.Text + "; " + c.Remedy
	}
	return "no comparison" + words.Yet(s)
}

// foot returns the timeline's footnote, with the key that switches the view.
func (p *quality) foot(s *profiles.Snapshot, readout, otherwise, key string) (string, theme.Style) {
	note, style := p.Footnote(s, readout, otherwise)
	if p.Focus && !p.Reading && !p.Held {
		note = strings.TrimPrefix(note+key, " · ")
	}
	return note, style
}

// chart draws one metric.
func (p *quality) chart(c *chart.Canvas, s *profiles.Snapshot, i int, curve profiles.Curve) bool {
	line := p.Line(s)
	line.Series = []chart.Series{{Curve: curve, Style: theme.Line, Sampled: true}}
	if p.Log {
		p.decades[i] = chart.Decades(p.decades[i], []profiles.Curve{curve})
		line.Floor, line.Ceiling = p.decades[i][0], p.decades[i][1]
	} else {
		p.ceilings[i] = chart.Ceiling(curve, p.ceilings[i])
		line.Ceiling = p.ceilings[i]
	}
	return line.Draw(c)
}

// legend writes the latest values into the upper edge, or only the displayed one if not all fit.
func (p *quality) legend(s *profiles.Snapshot, metrics []words.Metric, view int, all bool) {
	w, _ := p.Canvas.Size()
	var texts []string
	for _, m := range metrics {
		texts = append(texts, m.Title+" "+m.Format(s.Series[m.ID].Latest))
	}
	one := texts[view]
	if all {
		one = ""
	}
	p.Aside(words.Fitting(w-4-chart.Width(p.Title)-6, strings.Join(texts, "  "), one), theme.Plain)
}

// readout formats the metrics under the cursor; empty without a cursor.
func (p *quality) readout(s *profiles.Snapshot, metrics []words.Metric) string {
	text := ""
	for _, m := range metrics {
		at, ok := p.Read(s.Series[m.ID].Curve)
		if !ok {
			continue
		}
		if text == "" {
			text = "iteration " + pane.Iterations(at) + ":"
		}
		text += " " + m.Title + " " + m.Format(at.Mean)
	}
	return text
}
