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

// The pane of the iteration time; the marks of changes and notes that all charts over the run have, and the
// paragraphs about these charts.

// IterationTime specifies the pane of the iteration time over the run.
var IterationTime = Spec{
	Name:  "iteration time",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 52, Most: 140, Weight: 6}, Height: layout.Extent{Least: 6, Good: 9, Most: 16, Weight: 3}},
	New:   func(h Host) Pane { return newIterationTime(h) },
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

// Cells returns the pane as it is on the screen.
func (p *iterationTime) Cells() *chart.Canvas { return p.Render(p.draw) }

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

// explained returns a section about a chart, with the paragraphs that charts over the run share.
func explained(section string, pairs ...string) []string {
	shared := []string{"{points}", strings.Join(explanations.Of("charts, points"), " "), "{axis}",
		strings.Join(explanations.Of("charts, axis"), " ")}
	return explanations.Of(section, append(shared, pairs...)...)
}

// Explain describes the chart and how it is measured.
func (p *iterationTime) Explain() []string { return explained("iteration time") }
