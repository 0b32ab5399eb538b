package tui

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/tui/layout"
)

// This file is what the screen does with pictures that the terminal draws.

// hear takes an answer of the terminal, or leaves the screen as it is.
func (m *Model) hear(msg tea.Msg) tea.Cmd {
	cmd, changed := m.graphics.Hear(msg, m.layout.W, m.layout.H)
	if changed {
		m.stale, m.pictures().stale = true, true
		if m.out != nil {
			m.out.TrustPlaces(m.graphics.Draws())
		}
	}
	return cmd
}

// pictures is the pane of the reconstruction.
func (m *Model) pictures() *picture { return m.panes[layout.Picture].(*picture) }

// redrawPictures gives the terminal its pictures again, after it lost them.
func (m *Model) redrawPictures() {
	m.graphics.Forget()
	m.pictures().stale = true
	m.stale = true
}

// sendPictures adds to cmd what the terminal is to hold, and tells the output
// what it must be told to forget at the end.
func (m *Model) sendPictures(cmd tea.Cmd) tea.Cmd {
	send := m.graphics.Send()
	if send == nil {
		return cmd
	}
	if m.out != nil {
		m.out.SetFarewell(m.graphics.Farewell())
	}
	return tea.Batch(cmd, send)
}
