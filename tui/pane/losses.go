package pane

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the losses; the curves, the scale and the legend of losses that other panes draw, too.

// Loss specifies the pane of the losses over the run.
var Loss = Spec{
	Name:  "loss",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 48, Most: 120, Weight: 5}, Height: layout.Extent{Least: 6, Good: 9, Most: 16, Weight: 3}},
	Needs: func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Losses)) > 0 },
	New:   func(h Host) Pane { return newLosses(h) },
}

// losses charts both training losses and the threshold of the stop rule.
type losses struct {
	Box
	Timeline
	scale lossScale
}

func newLosses(h Host) *losses {
	return &losses{Box: Box{Title: "Loss"}, Timeline: Timeline{Log: true, Keys: h.Keys}}
}

// Cells returns the pane as it is on the screen.
func (p *losses) Cells() *chart.Canvas { return p.Render(p.draw) }

// Press scrolls, zooms and moves the cursor; v switches between iterations and wall time.
func (p *losses) Press(key string) bool { return p.wallKey(&p.Box, key) }

// Hints returns the chart's keys.
func (p *losses) Hints() []Hint { return append(p.ChartHints(), p.wallHint()) }

func (p *losses) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	p.legend(s)
	var curves []profiles.Curve
	for _, id := range s.Run.Schema.Group(profiles.Losses) {
		curves = append(curves, s.Series[id].Curve)
	}
	curves = p.See(c, s, curves...)
	line := p.Line(s)
	line.Series, line.Threshold = lossSeries(s, curves, p.Theme), words.ThresholdOf(s)
	p.scale.fit(&line, curves)
	if !line.Draw(c) {
		Message(c, "no loss"+words.Yet(s))
	}
	if s.NonFinite > 0 {
		return lostLosses(s), theme.Bad
	}
	return p.Footnote(s, p.readout(s), words.WhySuspended(s))
}

// lossSeries returns the curves of the losses, in the order of the schema, as series of a chart.
func lossSeries(s *profiles.Snapshot, curves []profiles.Curve, t *theme.Theme) (all []chart.Series) {
	for i := range s.Run.Schema.Group(profiles.Losses) {
		style := lossStyle(s, i)
		all = append(all, chart.Series{Curve: curves[i], Style: style, Dash: chart.DashedWhen(style != theme.LossNew &&
			t.Depth == theme.NoColor)})
	}
	return all
}

// lostLosses says how many losses no chart shows.
func lostLosses(s *profiles.Snapshot) string {
	return unit.About(s.NonFinite, "loss was", "losses were") + " not finite"
}

// lossScale is the vertical axis of the losses as last drawn.
type lossScale struct {
	ceiling float64
	decades [2]float64
}

// fit fits the axis of a chart to the visible part of the losses and to the threshold.
func (l *lossScale) fit(line *chart.Line, curves []profiles.Curve) {
	if line.Log {
		l.decades = chart.Decades(l.decades, curves, line.Threshold)
		line.Floor, line.Ceiling = l.decades[0], l.decades[1]
		return
	}
	ceiling := 0.0
	for _, curve := range curves {
		ceiling = max(ceiling, chart.Ceiling(curve, l.ceiling))
	}
	l.ceiling, line.Ceiling = ceiling, ceiling
}

// readout formats the losses under the cursor; empty without a cursor.
func (p *losses) readout(s *profiles.Snapshot) string {
	ids := s.Run.Schema.Group(profiles.Losses)
	if len(ids) == 0 {
		return ""
	}
	at, ok := p.Read(s.Series[ids[len(ids)-1]].Curve)
	if !ok {
		return ""
	}
	text := "iteration " + Iterations(at) + ":"
	for _, id := range ids {
		if v, ok := p.Read(s.Series[id].Curve); ok && v.First <= at.Last && v.Last >= at.First {
			text += " " + s.Run.Schema.Series[id].Title + " " + unit.AxisLabel(v.Mean)
		}
	}
	if p.wall {
		text += " at " + axisClock(p.unit(p.cursor), p.axis.length())
	}
	return text
}

// lossEntry is an entry of a legend of losses.
type lossEntry struct {
	text  string
	style theme.Style
}

// lossEntries returns the latest losses in the styles of their curves, and the threshold; none before the first loss.
func lossEntries(s *profiles.Snapshot) (entries []lossEntry) {
	for _, l := range words.CurrentLosses(s) {
		entries = append(entries, lossEntry{l.Text(), lossStyle(s, l.Place)})
	}
	if t := words.ThresholdOf(s); t > 0 && len(entries) > 0 {
		entries = append(entries, lossEntry{fmt.Sprintf("╌ stop %.2g", t), theme.Threshold})
	}
	return entries
}

// legend writes the latest losses into the upper edge, in the styles of their curves.
func (p *losses) legend(s *profiles.Snapshot) {
	w, _ := p.Canvas.Size()
	entries := lossEntries(s)
	room := w - 4 - chart.Width(p.Title) - 4
	for len(entries) > 0 {
		total := 1
		for _, e := range entries {
			total += chart.Width(e.text) + 2
		}
		if total <= room {
			break
		}
		entries = entries[:len(entries)-1]
	}
	x := w - 2
	for i := len(entries) - 1; i >= 0; i-- {
		x = p.Canvas.TextRight(x, 0, " "+entries[i].text+" ", entries[i].style)
	}
}

// lossStyle returns the style of a loss's curve, by its index in the group: the last is the loss
// being trained.
func lossStyle(s *profiles.Snapshot, i int) theme.Style {
	switch last := len(s.Run.Schema.Group(profiles.Losses)) - 1; {
	case i == last:
		return theme.LossNew
	case i == 0:
		return theme.LossOld
	}
	return theme.Line
}

// Explain describes the chart and how it is measured.
func (p *losses) Explain() []string { return explained("losses", "{losses}", lossTerms(p.Snap)) }

// lossTerms describes the losses of a run and its threshold; "" without a run.
func lossTerms(s *profiles.Snapshot) (what string) {
	if s == nil {
		return ""
	}
	schema := &s.Run.Schema
	for _, i := range schema.Group(profiles.Losses) {
		if info := &schema.Series[i]; info.What != "" {
			what += words.Capital(info.Title) + " is " + info.What + ". "
		}
	}
	if schema.Threshold != "" {
		what += strings.Join(explanations.Of("charts, threshold", "{unit}", schema.Unit.One), " ")
	}
	return what
}
