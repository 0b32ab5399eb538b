package pane

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// IterationTime specifies the pane of the iteration time over the run.
var IterationTime = Spec{
	Name:  "iteration time",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 52, Most: 140, Weight: 6}, Height: layout.Extent{Least: 6, Good: 9, Most: 16, Weight: 3}},
	New:   func(h Host) Pane { return newIterationTime(h) },
}

// Loss specifies the pane of the losses over the run.
var Loss = Spec{
	Name:  "loss",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 48, Most: 120, Weight: 5}, Height: layout.Extent{Least: 6, Good: 9, Most: 16, Weight: 3}},
	Needs: func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Losses)) > 0 },
	New:   func(h Host) Pane { return newLosses(h) },
}

// iterationTime charts the iteration time over the run, with a mark at every change of settings.
type iterationTime struct {
	Box
	Timeline
	ceiling float64
	decades [2]float64
}

func newIterationTime(h Host) *iterationTime {
	return &iterationTime{Box: Box{Title: "Iteration time"}, Timeline: Timeline{Keys: h.Keys}}
}

// Lines returns the pane as lines.
func (p *iterationTime) Lines() []string { return p.Render(p.draw) }

// Press scrolls, zooms and moves the cursor; v switches between iterations and wall time.
func (p *iterationTime) Press(key string) bool { return p.wallKey(&p.Box, key) }

// Hints returns the chart's keys.
func (p *iterationTime) Hints() []Hint { return append(p.ChartHints(), p.wallHint()) }

func (p *iterationTime) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	curves := p.See(c, s, s.IterationTime)
	line := p.Line(s)
	line.Series = []chart.Series{{
		Curve: curves[0], Style: theme.Line, Envelope: true, EnvelopeStyle: theme.Envelope,
	}}
	p.scale(&line, curves)
	if !line.Draw(c) {
		Message(c, "no iteration"+words.Yet(s))
		return "", theme.Faint
	}
	p.upperEdge(s)
	readout := ""
	if at, ok := p.Read(s.IterationTime); ok {
		readout = fmt.Sprintf("iteration %s: %s ms", Iterations(at), compact(at.Mean))
		if p.wall {
			readout += " at " + axisClock(p.unit(p.cursor), p.axis.length())
		}
		if at.First != at.Last {
			readout += fmt.Sprintf(", %s–%s", compact(at.Min), compact(at.Max))
		}
	}
	return p.Footnote(s, readout, "")
}

// scale fits the vertical axis to the visible part.
func (p *iterationTime) scale(line *chart.Line, curves []profiles.Curve) {
	if p.Log {
		p.decades = chart.Decades(p.decades, curves)
		line.Floor, line.Ceiling = p.decades[0], p.decades[1]
		return
	}
	p.ceiling = chart.Ceiling(curves[0], p.ceiling)
	line.Ceiling = p.ceiling
}

// upperEdge writes the latest numbers and the meaning of the band, as far as they fit.
func (p *iterationTime) upperEdge(s *profiles.Snapshot) {
	if s.Total.N == 0 {
		return
	}
	what := "ms"
	if p.Log {
		what = "ms, log"
	}
	text := fmt.Sprintf(what+"  median %s  last %s", unit.Milliseconds(s.Total.Median), unit.Milliseconds(s.Total.Last))
	w, _ := p.Canvas.Size()
	band := "band min–max  " + text
	if n := len(s.IterationTime); n > 0 && len(s.IterationTime[n-1].Bins) > 0 {
		band = "band p10–p90  " + text
	}
	if w-4-chart.Width(p.Title)-2 > chart.Width(band)+3 {
		text = band
	}
	p.Aside(text, theme.Faint)
}

// compact formats a number with three digits, without spaces.
func compact(v float64) string { return strings.TrimSpace(unit.Fixed(v, 4)) }

// marks returns the changes of settings as marks, one for all changes that took effect together, and
// the notes. The label is the letter of the setting, or severalMark for several settings.
func marks(of func() *keys.Table, s *profiles.Snapshot) []chart.Mark {
	var k *keys.Table
	if of != nil {
		k = of()
	}
	m := make([]chart.Mark, 0, len(s.Changes)+len(s.Notes))
	for i, c := range s.Changes {
		if i > 0 && s.Changes[i-1].Iteration == c.Iteration {
			m[len(m)-1].Label = severalMark
			continue
		}
		m = append(m, chart.Mark{At: c.Iteration, Label: k.Mark(s.Settings.Table(), c.Key)})
	}
	for i := range s.Notes {
		m = append(m, chart.Mark{At: s.Notes[i].Iteration, Label: noteMark})
	}
	return m
}

// noteMark labels a note.
const noteMark = '#'

// severalMark labels settings that changed together.
const severalMark = '*'

// losses charts both training losses and the threshold of the stop rule.
type losses struct {
	Box
	Timeline
	scale lossScale
}

func newLosses(h Host) *losses {
	return &losses{Box: Box{Title: "Loss"}, Timeline: Timeline{Log: true, Keys: h.Keys}}
}

// Lines returns the pane as lines.
func (p *losses) Lines() []string { return p.Render(p.draw) }

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
		all = append(all, chart.Series{Curve: curves[i], Style: style, Dash: chart.DashedWhen(style != theme.LossNew && t.Depth == theme.NoColor)})
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

// explained returns a section about a chart, with the paragraphs that charts over the run share.
func explained(section string, pairs ...string) []string {
	shared := []string{"{points}", strings.Join(explanations.Of("charts, points"), " "), "{axis}", strings.Join(explanations.Of("charts, axis"), " ")}
	return explanations.Of(section, append(shared, pairs...)...)
}

// Explain describes the chart and how it is measured.
func (p *iterationTime) Explain() []string { return explained("iteration time") }

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
