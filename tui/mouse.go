package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/layout"
)

// This file is the mouse. It is off until a key switches it on: where it is on
// the terminal's own selecting and copying is not, and a line that breaks leaves
// it on.

// doubleClick is the longest time between the two clicks of one.
const doubleClick = 400 * time.Millisecond

// click is the last click, which another one may make double.
type click struct {
	on layout.Pane
	at time.Time
}

// mouseMode is what the terminal is asked to tell of the mouse.
func (m *Model) mouseMode() tea.MouseMode {
	if m.mouse {
		return tea.MouseModeCellMotion
	}
	return tea.MouseModeNone
}

// toggleMouse switches the mouse on or off. Over SSH that is for this session.
func (m *Model) toggleMouse() {
	m.mouse = !m.mouse
	if !m.options.remote() {
		m.keep.Mouse = m.mouse
	}
	if m.mouse {
		m.say("mouse on: a click gives a pane the keys, a double click or the title the screen; shift selects text")
	} else {
		m.say("mouse off")
	}
}

// clicked gives the pane under the mouse the keys; its title, or a second click,
// the whole screen or the screen back.
func (m *Model) clicked(e tea.Mouse) {
	if e.Button != tea.MouseLeft || m.confirming || m.restarting {
		return
	}
	if m.sheet.page != noHelp || m.choosing != nil || m.picking != nil {
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

// wheeled moves what is open, or what the pane under the mouse shows.
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
		m.sheet.press(step)
		return
	}
	if id := m.layout.At(e.X, e.Y); id != layout.None && !m.confirming && !m.restarting && m.choosing == nil && m.picking == nil {
		m.panes[id].Press(step)
	}
}

// remote says whether the terminal is at the other end of an SSH login.
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
