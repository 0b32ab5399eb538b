package screen

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// compose assembles the frame from the header, the panes and the footer. The parts cache their
// output; only changed ones are redrawn.
func (m *Model) compose() {
	l := &m.layout
	if l.W == 0 || l.H == 0 {
		m.rows = nil
		return
	}
	if l.TooSmall {
		m.rows = m.tooSmall()
		return
	}
	rows := make([]string, 0, l.H)
	rows = append(rows, m.header()...)
	rows = append(rows, m.tiling.lines()...)
	rows = append(rows, m.footer()...)
	if m.sheet.page != noHelp {
		m.overlay(rows, m.help())
	}
	for _, o := range m.overlays.open {
		m.overlay(rows, o.box(m))
	}
	m.rows = rows
}

// overlay lays a box of lines over the middle of the rows.
func (m *Model) overlay(rows, box []string) { widget.Overlay(rows, box, m.layout.W) }

// dialog returns a framed box with a title and a footer around w by h cells filled by draw.
func (m *Model) dialog(title, foot string, w, h int, draw func(c *chart.Canvas)) []string {
	return widget.Dialog(title, foot, min(w+4, m.layout.W), min(h+2, m.layout.H), draw).Lines(m.theme)
}

// quitting asks whether to quit; any other key than its own stays.
type quitting struct{}

func (quitting) press(m *Model, key string) (cmd tea.Cmd, left bool) {
	switch {
	case key == "y" || key == "Y" || m.keys.Is("quit", key):
		return m.quit(), false
	case m.keys.Is("detach", key):
		return m.detach(), false
	}
	m.lift()
	if m.losesWeights() && m.keys.Is("checkpoint", key) {
		return m.checkpoint(), false
	}
	return nil, false
}

// losesWeights reports whether the end of the run discards what it has learnt: it writes no checkpoint then.
func (m *Model) losesWeights() bool {
	s := m.snap
	return s != nil && s.Index > s.Run.Resumed && s.Run.Checkpoint == "" && m.can(profiles.CheckpointCommand)
}

func (quitting) box(m *Model) []string {
	question := "Quit? The run ends here."
	switch {
	case m.snap != nil && words.Ended(m.snap.State):
		question = "Quit? The run is over."
	case m.snap != nil && m.state() == profiles.Running:
		question = "Quit? The run stops after this iteration."
	}
	if m.snap != nil && m.snap.Run.Prints && !words.Ended(m.snap.State) {
		question = "End " + m.snap.Run.Object + "? It gets ctrl+c."
	}
	lines := []string{question}
	if m.losesWeights() {
		lines = append(lines, m.keys.Say(weightsGo))
	}
	w, quit, detach := 0, m.keys.Of("quit")+" y", m.keys.Of("detach")
	for _, l := range lines {
		w = max(w, chart.Width(l))
	}
	if m.can(profiles.LeaveCommand) {
		w = max(w, chart.Width(quit+" quit   "+detach+" leaves it going   any other key stays"))
	}
	return m.dialog("Quit", "", w, len(lines)+2, func(c *chart.Canvas) {
		for y, l := range lines {
			c.Text(0, y, l, theme.Plain)
		}
		y := len(lines) + 1
		x := c.Text(0, y, quit, theme.Key)
		x = c.Text(x+1, y, "quit", theme.Plain)
		if m.can(profiles.LeaveCommand) {
			x = c.Text(x+3, y, detach, theme.Key)
			x = c.Text(x+1, y, "leaves it going", theme.Plain)
		}
		x = c.Text(x+3, y, "any other key", theme.Key)
		c.Text(x+1, y, "stays", theme.Plain)
	})
}

// tooSmall returns the screen shown if the panes do not fit, with the question whether to quit if that is asked.
func (m *Model) tooSmall() []string {
	var c chart.Canvas
	c.Resize(m.layout.W, m.layout.H)
	y := max(0, m.layout.H/2-1)
	lines := []string{
		fmt.Sprintf("terminal too small: %dx%d needed", layout.MinWidth, layout.MinHeight),
		fmt.Sprintf("this is %dx%d", m.layout.W, m.layout.H),
		m.keys.Say(quitsHere),
	}
	if _, asked := opened[quitting](&m.overlays); asked {
		lines = []string{m.keys.Say(quitQuestion)}
		if m.can(profiles.LeaveCommand) {
			lines = append(lines, m.keys.Say(leavesGoing))
		}
	}
	for i, s := range lines {
		s = chart.Cut(s, m.layout.W)
		c.Text((m.layout.W-chart.Width(s))/2, y+i, s, theme.Plain)
	}
	return c.Lines(m.theme)
}
