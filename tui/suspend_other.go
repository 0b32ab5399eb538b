//go:build !unix

package tui

import tea "charm.land/bubbletea/v2"

// suspend says that this system has no job control.
func (m *Model) suspend() tea.Cmd {
	m.say("this system cannot suspend a program")
	return nil
}

func (m *Model) fallAsleep() tea.Cmd { return nil }

func (m *Model) wakeUp(error) { m.sleep = awake }
