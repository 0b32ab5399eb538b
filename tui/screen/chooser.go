package screen

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file shows the list of panes, where they can be shown and hidden, and cycles through the
// arrangements.

// chooser is the open list of panes.
type chooser struct{ row int }

// chooserKeys are the letters and digits that select panes in the list.
const chooserKeys = "1234567890abcdefghiklm"

// arrangement returns the current arrangement.
// If the user has chosen none, runs whose iterations are batches and those of a list of tasks have
// their own.
func (m *Model) arrangement() *layout.Arrangement {
	if m.preset == "" && m.own != "" {
		return m.deck.Arrangement(m.own)
	}
	return m.deck.Arrangement(m.preset)
}

// The arrangements of runs whose iterations are batches, and of those of a list of tasks, each
// named after a pane.
const (
	batchArrangement = "throughput"
	taskArrangement  = "task list"
)

// ownArrangement returns the arrangement that a run begins with, "" for the first.
func ownArrangement(s *profiles.Schema) string {
	switch {
	case s.Tasks:
		return taskArrangement
	case s.Item.One != "":
		return batchArrangement
	}
	return ""
}

// nextArrangement switches to the next arrangement of panes, without those named after a pane that
// does not apply to the run.
func (m *Model) nextArrangement() {
	at := 0
	for i := range m.deck.Arrangements {
		if &m.deck.Arrangements[i] == m.arrangement() {
			at = i
		}
	}
	m.zoomed = false
	for range m.deck.Arrangements {
		at = (at + 1) % len(m.deck.Arrangements)
		m.preset = m.deck.Arrangements[at].Name
		if id := m.deck.Find(m.preset); id == layout.None || !m.without[id] {
			break
		}
	}
	m.relay()
	m.say("panes: " + m.preset)
}

// togglePane hides a pane that is on screen, or shows one that is not, with priority over the
// others. Only differences from the arrangement are stored.
func (m *Model) togglePane(id layout.Pane) {
	a := m.arrangement()
	if m.without[id] {
		if why := m.whyLacking(id); m.specs[id].Lacks != nil {
			m.say(m.paneName(id) + ": " + why)
			return
		}
		m.say(noData(m.paneName(id)))
		return
	}
	c := m.choice()
	plain := c
	plain.Show[id], plain.Hide[id] = false, false
	whole, without := m.arranged(c), m.arranged(plain)
	switch {
	case !whole.Panes[id].Empty() && whole.Shown() == 1:
		m.say(lastPane)
		return
	case !whole.Panes[id].Empty() && !without.Panes[id].Empty():
		c.Show[id], c.Hide[id] = false, true
	case !whole.Panes[id].Empty(), c.Show[id], !without.Panes[id].Empty():
		c = plain
	default:
		c.Show[id], c.Hide[id] = true, false
	}
	kept := c
	kept.Without = layout.Set{} // depends on the run, not on the user
	m.keep.choose(m.deck, a.Name, kept)
	if after := m.arranged(c); id == m.focus && !after.Wanted[id] {
		m.zoomed = false
	}
	m.relay()
	if whole = m.arranged(c); c.Show[id] && whole.Panes[id].Empty() {
		m.say(noRoom(m.paneName(id)))
	}
}

// arranged returns the unzoomed layout for a choice of panes.
func (m *Model) arranged(c layout.Choice) layout.Layout {
	return layout.Arrange(m.layout.W, m.layout.H, m.arrangement(), c)
}

func (m *Model) openChooser() {
	m.choosing = &chooser{}
	if m.focus != layout.None {
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
	case "space":
		m.togglePane(layout.Pane(c.row))
	case "enter", "z":
		m.choosing = nil
		m.setFocus(layout.Pane(c.row))
		m.zoomed = true
		m.relay()
	default:
		c.row, _ = widget.Around(s, c.row, len(m.panes))
		if i := strings.Index(chooserKeys[:min(len(m.panes), len(chooserKeys))], s); len(s) == 1 && i >= 0 {
			c.row = i
			m.togglePane(layout.Pane(i))
		}
	}
	return nil
}

// chooserBox returns the lines of the list.
func (m *Model) chooserBox() []string {
	a := m.arrangement()
	whole := m.arranged(m.choice())
	rows := min(len(m.panes), m.layout.H-2)
	first := max(0, min(m.choosing.row-rows/2, len(m.panes)-rows))
	return m.dialog("Panes in "+a.Name, "space shows, enter zooms, w layout, esc", 44, rows, func(c *chart.Canvas) {
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
			if int(id) == m.choosing.row {
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

// hiddenPanes describes in at most w cells the panes that do not fit and those hidden by the
// user, by name or by number; "" if there are none.
func (m *Model) hiddenPanes(l *layout.Layout, w int) string {
	if l.Unseen == 0 {
		return ""
	}
	var parts []string
	if crowded := l.Crowded(); len(crowded) > 0 {
		parts = append(parts, "no room for "+m.paneNames(crowded))
	}
	if put := l.Put.List(); len(put) > 0 {
		parts = append(parts, "by choice "+m.paneNames(put))
	}
	all := strconv.Itoa(l.Unseen) + " hidden"
	n := unit.About(int64(l.Unseen), "pane", "panes") + " hidden"
	return words.Fitting(w, all+": "+strings.Join(parts, " · ")+" (P)", n+", P lists them", n+": P", all)
}
