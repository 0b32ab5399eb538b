package tui

import "prismtop/tui/layout"

// This file is which pane has the keys, and whether it has the whole screen.

// setFocus gives the keys to a pane, or to none.
func (m *Model) setFocus(id layout.Pane) {
	m.focus = id
	for i, p := range m.panes {
		p.SetFocus(layout.Pane(i) == id)
	}
}

// cycleFocus gives the keys to the next pane on screen in reading order, or to
// the one before. A zoomed screen shows the next pane.
func (m *Model) cycleFocus(step int) {
	order := m.readingOrder()
	if len(order) == 0 {
		return
	}
	at := -1
	for i, id := range order {
		if id == m.focus {
			at = i
		}
	}
	if at < 0 && step < 0 {
		at = 0
	}
	m.setFocus(order[(at+step+len(order))%len(order)])
	if m.zoomed {
		m.relay()
	}
}

// readingOrder is the panes on screen, row by row; of a zoomed screen those that
// it shows unzoomed, and then those for which there is no room.
func (m *Model) readingOrder() []layout.Pane {
	l := &m.layout
	var crowded []layout.Pane
	if m.zoomed {
		whole := m.arranged(m.choice())
		l, crowded = &whole, whole.Crowded()
	}
	var order []layout.Pane
	for id, r := range l.Panes {
		if r.Empty() {
			continue
		}
		at := len(order)
		for at > 0 {
			before := l.Panes[order[at-1]]
			if before.Y < r.Y || before.Y == r.Y && before.X < r.X {
				break
			}
			at--
		}
		order = append(order[:at], append([]layout.Pane{layout.Pane(id)}, order[at:]...)...)
	}
	return append(order, crowded...)
}

// toggleZoom gives the pane with the keys the whole screen, or takes it back.
func (m *Model) toggleZoom() {
	if m.focus == layout.None {
		m.cycleFocus(1)
	}
	if m.focus == layout.None {
		return
	}
	m.zoomed = !m.zoomed
	m.relay()
}

// needsFocus answers a key that is a pane's, where none takes it.
func (m *Model) needsFocus() {
	if m.focus == layout.None {
		m.say("tab gives a pane the keys: v changes its view, x its scale, i how a picture is drawn")
		return
	}
	m.say(m.paneName(m.focus) + " has nothing for " + m.pressed)
}

// openPane gives a pane the keys, and the whole screen where it has no place; None is not
// on this screen.
func (m *Model) openPane(id layout.Pane) {
	if id == layout.None {
		return
	}
	m.setFocus(id)
	if m.layout.Panes[id].Empty() || m.zoomed {
		m.zoomed = true
		m.relay()
	}
}

// closePane takes the keys, and the screen, from the pane that has them.
func (m *Model) closePane() {
	m.zoomed = false
	m.setFocus(layout.None)
	m.relay()
}
