package tui

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// samples lists how the training of each sub-aperture ended, newest first.
type samples struct{ box }

func newSamples() *samples { return &samples{box{title: "Samples"}} }

func (p *samples) View() string    { return join(p.lines()) }
func (p *samples) lines() []string { return p.render(p.draw) }

func (p *samples) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	if len(s.Results) == 0 {
		message(c, "no sample ended yet")
		return "", theme.Faint
	}
	for y := range min(h, len(s.Results)) {
		r := s.Results[len(s.Results)-1-y]
		c.TextRight(3, y, itoa(int(r.Sample)+1), theme.Strong)
		c.TextRight(9, y, itoa(int(r.Iterations)), theme.Plain)
		c.TextRight(18, y, fmt.Sprintf("%.2f s", r.Elapsed.Seconds()), theme.Plain)
		text, style := "limit", theme.Warn
		if r.Converged {
			text, style = "converged", theme.Good
		}
		c.Text(20, y, chart.Cut(text, w-20), style)
	}
	return "", theme.Faint
}
