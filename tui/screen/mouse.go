package screen

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/layout"
)

// mouse is the terminal's mouse. It is off until a key enables it: mouse reporting disables the terminal's own
// selection and copying, and stays on if the connection breaks.
type mouse struct {
	*answers
	keep   *remembered
	remote bool // the terminal is at the other end of an SSH connection
	on     bool
	last   click
}

// doubleClick is the maximum time between the two clicks of a double click.
const doubleClick = 400 * time.Millisecond

// click is the last click, the possible first half of a double click.
type click struct {
	on layout.Pane
	at time.Time
}

// mode returns the mouse events to request from the terminal.
func (m *mouse) mode() tea.MouseMode {
	if m.on {
		return tea.MouseModeCellMotion
	}
	return tea.MouseModeNone
}

// toggle switches the mouse on or off. Over SSH, the choice is not remembered.
func (m *mouse) toggle() {
	m.on = !m.on
	if !m.remote {
		m.keep.Mouse = m.on
	}
	if m.on {
		m.sayOne("mouse on: a click gives a pane the keys, a double click or its title the whole screen; shift "+
			"selects text",
			"mouse on: click selects a pane, twice zooms; shift selects text",
			"mouse on: click, double click; shift selects text")
	} else {
		m.say("mouse off")
	}
}

// clicked takes a click, and reports whether it is the second of a double click on a pane.
func (m *mouse) clicked(id layout.Pane) (twice bool) {
	now := m.now()
	twice = m.last.on == id && now.Sub(m.last.at) <= doubleClick
	m.last = click{id, now}
	return twice
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
