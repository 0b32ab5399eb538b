package tui

import (
	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// log is what the run told, newest last.
type log struct{ box }

func newLog() *log { return &log{box{title: "Log"}} }

func (p *log) View() string    { return join(p.lines()) }
func (p *log) lines() []string { return p.render(p.draw) }

func (p *log) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	if len(s.Log) == 0 {
		message(c, "nothing happened yet")
		return "", theme.Faint
	}
	lines := s.Log[max(0, len(s.Log)-h):]
	for y, l := range lines {
		x := c.Text(0, y, clock(l.At), theme.Faint)
		c.Text(x+1, y, chart.Cut(l.Text, w-x-1), theme.Plain)
	}
	return "", theme.Faint
}
