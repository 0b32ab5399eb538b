package screen

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/layout"
)

// This file manages the focus and the zoom, including focus by mouse.

// needsFocus answers a pane's key that no focused pane handles.
func (m *Model) needsFocus() {
	if m.focus == layout.None {
		m.say(m.keys.Say(focusFirst))
		return
	}
	m.say(m.paneName(m.focus) + " has nothing for " + m.pressed)
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
	if e.Button != tea.MouseLeft || m.top() != nil && !m.listing() {
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
	if id := m.layout.At(e.X, e.Y); id != layout.None && m.top() == nil {
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
