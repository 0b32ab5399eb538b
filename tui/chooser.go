package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file is the list in which panes are shown and hidden, and the key that
// goes through the arrangements.

// chooser is the list of panes while it is open.
type chooser struct{ row int }

// chooserKeys are the letters and digits of the panes in the list.
const chooserKeys = "1234567890abcdefghiklm"

// arrangement is the one on screen.
func (m *Model) arrangement() *arrangement { return findArrangement(m.preset) }

// nextArrangement goes on to the next arrangement of panes.
func (m *Model) nextArrangement() {
	at := 0
	for i := range arrangements {
		if &arrangements[i] == m.arrangement() {
			at = i
		}
	}
	m.zoomed = false
	m.preset = arrangements[(at+1)%len(arrangements)].name
	m.relay()
	m.say("panes: " + m.preset)
}

// togglePane hides a pane that is on screen, and shows one that is not: before
// all others, so that it gets a place. Only what differs from the arrangement is
// noted.
func (m *Model) togglePane(id paneID) {
	a := m.arrangement()
	if m.without[id] {
		m.say("nothing for " + paneNames[id] + " in this run")
		return
	}
	c := m.choice()
	plain := c
	plain.show[id], plain.hide[id] = false, false
	whole, without := m.arranged(c), m.arranged(plain)
	switch {
	case !whole.panes[id].empty() && whole.shown() == 1:
		m.say("the last pane stays")
		return
	case !whole.panes[id].empty() && !without.panes[id].empty():
		c.show[id], c.hide[id] = false, true
	case !whole.panes[id].empty(), c.show[id], !without.panes[id].empty():
		c = plain
	default:
		c.show[id], c.hide[id] = true, false
	}
	kept := c
	kept.without = paneSet{} // of the run, not of the user
	m.keep.choose(a.name, kept)
	if after := m.arranged(c); id == m.focus && !after.wanted[id] {
		m.zoomed = false
	}
	m.relay()
	if whole = m.arranged(c); c.show[id] && whole.panes[id].empty() {
		m.say("no room for " + paneNames[id] + ": hide others, or enter gives it the screen")
	}
}

// arranged is the screen, not zoomed, with a choice of panes.
func (m *Model) arranged(c choice) layout {
	return arrange(m.layout.w, m.layout.h, m.arrangement(), c)
}

func (m *Model) openChooser() {
	m.choosing = &chooser{}
	if m.focus != noPane {
		m.choosing.row = int(m.focus)
	}
}

// pressChooser handles a key while the list is open.
func (m *Model) pressChooser(msg tea.KeyPressMsg) tea.Cmd {
	c := m.choosing
	switch s := msg.String(); s {
	case "esc", "P", "q", "?":
		m.choosing = nil
	case "ctrl+c":
		return m.interrupt()
	case "w":
		m.nextArrangement()
	case "up", "shift+tab":
		c.row = (c.row + int(numPanes) - 1) % int(numPanes)
	case "down", "tab":
		c.row = (c.row + 1) % int(numPanes)
	case "home":
		c.row = 0
	case "end":
		c.row = int(numPanes) - 1
	case "space":
		m.togglePane(paneID(c.row))
	case "enter", "z":
		m.choosing = nil
		m.setFocus(paneID(c.row))
		m.zoomed = true
		m.relay()
	default:
		if i := strings.Index(chooserKeys[:numPanes], s); len(s) == 1 && i >= 0 {
			c.row = i
			m.togglePane(paneID(i))
		}
	}
	return nil
}

// chooserBox is the list, as lines.
func (m *Model) chooserBox() []string {
	a := m.arrangement()
	whole := m.arranged(m.choice())
	rows := min(int(numPanes), m.layout.h-2)
	first := max(0, min(m.choosing.row-rows/2, int(numPanes)-rows))
	return m.dialog("Panes in "+a.name, "space shows, enter zooms, w preset, esc", 44, rows, func(c *chart.Canvas) {
		w, _ := c.Size()
		for y := range rows {
			id := paneID(first + y)
			lamp, style, note := "○", theme.Faint, ""
			switch {
			case !whole.panes[id].empty():
				lamp, style = "●", theme.Good
			case whole.wanted[id]:
				lamp, style, note = "◌", theme.Warn, "hidden: no room"
			case m.without[id]:
				note = "nothing for it in this run"
			case whole.put[id]:
				note = "hidden"
			default:
				note = "not in this preset"
			}
			if int(id) == m.choosing.row {
				c.Text(0, y, "▸", theme.Key)
			}
			c.Text(2, y, chooserKeys[id:id+1], theme.Key)
			c.Text(4, y, lamp, style)
			c.Text(6, y, paneNames[id], theme.Plain)
			c.TextRight(w, y, note, style)
		}
	})
}
