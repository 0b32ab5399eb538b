package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// This file shows the list of panes, where they can be shown and hidden.

// chooser is the open list of panes.
type chooser struct{ row int }

// chooserKeys are the letters and digits that select panes in the list.
const chooserKeys = "1234567890abcdefghiklm"

// nextArrangement switches to the next arrangement of panes.
func (m *Model) nextArrangement() { m.say("panes: " + m.rearrange()) }

// showOrHide shows or hides a pane, and says why it cannot.
func (m *Model) showOrHide(id layout.Pane) {
	if why := m.togglePane(id); why != "" {
		m.say(why)
	}
}

func (m *Model) openChooser() {
	c := &chooser{}
	if m.focus != layout.None {
		c.row = int(m.focus)
	}
	m.lay(c)
}

func (c *chooser) press(m *Model, s string) (cmd tea.Cmd, left bool) {
	switch {
	case m.closes(s) || m.keys.Is("panes", s):
		m.lift()
	case m.keys.Is("layout", s):
		m.nextArrangement()
	case s == "space":
		m.showOrHide(layout.Pane(c.row))
	case s == "enter" || m.keys.Is("zoom", s):
		m.lift()
		m.setFocus(layout.Pane(c.row))
		m.zoomed = true
		m.relay()
	default:
		c.row, _ = widget.Around(s, c.row, len(m.panes))
		if i := strings.Index(chooserKeys[:min(len(m.panes), len(chooserKeys))], s); len(s) == 1 && i >= 0 {
			c.row = i
			m.showOrHide(layout.Pane(i))
		}
	}
	return nil, false
}

func (l *chooser) box(m *Model) []string {
	a := m.arrangement()
	whole := m.arranged(m.choice())
	rows := min(len(m.panes), m.layout.H-2)
	first := max(0, min(l.row-rows/2, len(m.panes)-rows))
	return m.dialog("Panes in "+a.Name, m.keys.Say(chooserFoot), 44, rows, func(c *chart.Canvas) {
		w, _ := c.Size()
		for y := range rows {
			id := layout.Pane(first + y)
			lamp, style, note := "○", theme.Faint, ""
			switch {
			case !whole.Panes[id].Empty():
				lamp, style = "●", theme.Good
			case whole.Wanted[id]:
				lamp, style, note = "◌", theme.Warn, "hidden: no room"
			case m.without[id]:
				note = m.whyLacking(id)
			case whole.Put[id]:
				note = "hidden"
			default:
				note = "not in this layout"
			}
			if int(id) == l.row {
				c.Text(0, y, "▸", theme.Key)
			}
			if int(id) < len(chooserKeys) {
				c.Text(2, y, chooserKeys[id:id+1], theme.Key)
			}
			c.Text(4, y, lamp, style)
			c.Text(6, y, m.paneName(id), theme.Plain)
			c.TextRight(w, y, chart.Cut(note, w-8-chart.Width(m.paneName(id))), style)
		}
	})
}
