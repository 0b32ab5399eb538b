package tui

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// iterationTime is the time of an iteration over the run, with a mark at every
// change of settings.
type iterationTime struct {
	box
	ceiling float64
}

func newIterationTime() *iterationTime { return &iterationTime{box: box{title: "Iteration time"}} }

func (p *iterationTime) View() string    { return join(p.lines()) }
func (p *iterationTime) lines() []string { return p.render(p.draw) }

func (p *iterationTime) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	p.ceiling = chart.Ceiling(s.IterationTime, p.ceiling)
	line := chart.Line{
		Series: []chart.Series{{
			Curve: s.IterationTime, Style: theme.Line,
			Envelope: true, EnvelopeStyle: theme.Envelope,
		}},
		Ceiling: p.ceiling, Marks: marks(s.Changes),
		Label: axisLabel, LabelWidth: 5,
	}
	if !line.Draw(c) {
		message(c, "no iteration yet")
		return "", theme.Faint
	}
	if s.Total.N > 0 {
		p.aside(fmt.Sprintf("ms  median %s  last %s",
			milliseconds(s.Total.Median), milliseconds(s.Total.Last)), theme.Faint)
	}
	return "", theme.Faint
}

// marks are the changes as marks; the label is the key that makes such a change.
func marks(changes []profiles.Change) []chart.Mark {
	m := make([]chart.Mark, len(changes))
	for i, c := range changes {
		m[i] = chart.Mark{At: c.Iteration, Label: settingMark(c.Key)}
	}
	return m
}

// losses are both losses of the training and the threshold of the stop rule.
type losses struct{ box }

func newLosses() *losses { return &losses{box{title: "Loss"}} }

func (p *losses) View() string    { return join(p.lines()) }
func (p *losses) lines() []string { return p.render(p.draw) }

func (p *losses) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	p.legend(s)
	line := chart.Line{
		Series: []chart.Series{
			{Curve: s.LossOld, Style: theme.LossOld, Dashed: p.theme.Depth == theme.NoColor},
			{Curve: s.LossNew, Style: theme.LossNew},
		},
		Log: true, Threshold: s.Settings.Threshold, Marks: marks(s.Changes),
		Label: axisLabel, LabelWidth: 5,
	}
	if !line.Draw(c) {
		message(c, "no loss yet")
	}
	if s.NonFinite > 0 {
		return plural(s.NonFinite, "loss was", "losses were") + " not finite", theme.Bad
	}
	return "", theme.Faint
}

// legend writes the newest losses into the upper edge, in their curves' styles.
func (p *losses) legend(s *profiles.Snapshot) {
	w, _ := p.canvas.Size()
	type entry struct {
		text  string
		style theme.Style
	}
	if len(s.LossNew) == 0 {
		return
	}
	var entries []entry
	if !math.IsNaN(s.LatestLossOld) && s.Stage == profiles.Progressive {
		entries = append(entries, entry{"old " + strings.TrimSpace(loss(s.LatestLossOld)), theme.LossOld})
	}
	name := "new "
	if s.Stage == profiles.Initialising {
		name = "loss "
	}
	entries = append(entries, entry{name + strings.TrimSpace(loss(s.LatestLossNew)), theme.LossNew})
	if t := s.Settings.Threshold; t > 0 {
		entries = append(entries, entry{fmt.Sprintf("╌ stop %.2g", t), theme.Threshold})
	}
	room := w - 4 - chart.Width(p.title) - 4
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
		x = p.canvas.TextRight(x, 0, " "+entries[i].text+" ", entries[i].style)
	}
}
