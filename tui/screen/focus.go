package screen

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/layout"
)

// This file manages the focus and the zoom, including focus by mouse.

// setFocus focuses a pane, or none.
func (m *Model) setFocus(id layout.Pane) {
	m.focus = id
	for i, p := range m.panes {
		p.SetFocus(layout.Pane(i) == id)
	}
}

// cycleFocus moves the focus to the next or previous pane on screen in reading order. If a pane
// is zoomed, the newly focused one replaces it.
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

// readingOrder returns the panes on screen, row by row. If a pane is zoomed, it returns those of
// the unzoomed screen, then those that do not fit.
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

// toggleZoom zooms the focused pane, or unzooms it.
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

// needsFocus answers a pane's key that no focused pane handles.
func (m *Model) needsFocus() {
	if m.focus == layout.None {
		m.say(focusFirst)
		return
	}
	m.say(m.paneName(m.focus) + " has nothing for " + m.pressed)
}

// openPane focuses a pane, and zooms it if it does not fit. None means that this screen does not
// have the pane.
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

// closePane removes the focus and the zoom.
func (m *Model) closePane() {
	m.zoomed = false
	m.setFocus(layout.None)
	m.relay()
}

// The mouse is off until a key enables it: mouse reporting disables the terminal's own selection
// and copying, and stays on if the connection breaks.

// doubleClick is the maximum time between the two clicks of a double click.
const doubleClick = 400 * time.Millisecond

// click is the last click, the possible first half of a double click.
type click struct {
	on layout.Pane
	at time.Time
}

// mouseMode returns the mouse events to request from the terminal.
func (m *Model) mouseMode() tea.MouseMode {
	if m.mouse {
		return tea.MouseModeCellMotion
	}
	return tea.MouseModeNone
}

// toggleMouse switches the mouse on or off. Over SSH, the choice is not remembered.
func (m *Model) toggleMouse() {
	m.mouse = !m.mouse
	if !m.options.remote() {
		m.keep.Mouse = m.mouse
	}
	if m.mouse {
		m.sayOne("mouse on: a click gives a pane the keys, a double click or its title the whole screen; shift selects text",
			"mouse on: click selects a pane, twice zooms; shift selects text", "mouse on: click, double click; shift selects text")
	} else {
		m.say("mouse off")
	}
}

// clicked focuses the pane under the mouse; a click on its title or a double click zooms or
// unzooms it.
func (m *Model) clicked(e tea.Mouse) {
	if e.Button != tea.MouseLeft || m.confirming || m.restarting {
		return
	}
	if m.sheet.page != noHelp || m.listing() {
		m.closeOverlay()
		return
	}
	if r := headerPlaces(m.layout.W)[alertsField]; !m.layout.TooSmall && r.Contains(e.X, e.Y) && len(m.troubles()) > 0 {
		m.toggleAlerts()
		return
	}
	id := m.layout.At(e.X, e.Y)
	if id == layout.None {
		return
	}
	now := m.now()
	twice := m.click.on == id && now.Sub(m.click.at) <= doubleClick
	m.click = click{id, now}
	m.setFocus(id)
	if twice || e.Y == m.layout.Panes[id].Y {
		m.click.at = time.Time{}
		m.toggleZoom()
	}
}

// wheeled scrolls the open sheet, or the pane under the mouse.
func (m *Model) wheeled(e tea.Mouse) {
	step := "down"
	switch e.Button {
	case tea.MouseWheelUp:
		step = "up"
	case tea.MouseWheelDown:
	default:
		return
	}
	if m.sheet.page != noHelp {
		m.sheet.Move(step)
		return
	}
	if id := m.layout.At(e.X, e.Y); id != layout.None && !m.confirming && !m.restarting && !m.listing() {
		m.panes[id].Press(step)
	}
}

// remote reports whether the terminal is at the other end of an SSH connection.
func (o *Options) remote() bool {
	for _, v := range o.Environ {
		for _, name := range [...]string{"SSH_TTY=", "SSH_CONNECTION="} {
			if value, ok := strings.CutPrefix(v, name); ok && value != "" {
				return true
			}
		}
	}
	return false
}
