package tui

import tea "charm.land/bubbletea/v2"

// This file is what the screen does with pictures that the terminal draws.

// hear takes an answer of the terminal, or leaves the screen as it is.
func (m *Model) hear(msg tea.Msg) tea.Cmd {
	cmd, changed := m.graphics.Hear(msg, m.layout.W, m.layout.H)
	if changed {
		m.stale = true
		m.redrawPictured()
		if m.out != nil {
			m.out.TrustPlaces(m.graphics.Draws())
		}
	}
	return cmd
}

// redrawPictured draws the panes anew that draw pictures.
func (m *Model) redrawPictured() {
	for _, p := range m.panes {
		if _, ok := p.(pictured); ok {
			p.Redraw()
		}
	}
}

// redrawPictures gives the terminal its pictures again, after it lost them.
func (m *Model) redrawPictures() {
	m.graphics.Forget()
	m.redrawPictured()
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
