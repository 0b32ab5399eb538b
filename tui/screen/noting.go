package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/widget"
)

// This file is the line in which a note is written.

// openNote opens the line in which a note is written.
func (m *Model) openNote() {
	if m.snap == nil {
		m.complain(errNotBegun.Error())
		return
	}
	m.noting = widget.NewInput("")
}

// pressNote handles a key while a note is written.
func (m *Model) pressNote(msg tea.KeyPressMsg) tea.Cmd {
	switch s := msg.String(); s {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+l":
		return m.redraw()
	case "esc":
		m.noting = nil
	case "enter":
		text := strings.TrimSpace(m.noting.Value())
		if _, err := profiles.NewNote("", text); err != nil && text != "" {
			m.complain("no note: " + err.Error())
			return nil
		}
		if m.noting = nil; text == "" {
			return nil
		}
		m.say(writingNote)
		return m.later(profiles.Command{Kind: profiles.NoteCommand, Text: text})
	default:
		m.noting.Press(s)
	}
	return nil
}

// noteBox returns the lines of the note that is written.
func (m *Model) noteBox() []string {
	return m.dialog(fmt.Sprintf("Note at iteration %d", m.snap.Index), "enter writes it, esc leaves", 70, 1, func(c *chart.Canvas) {
		w, _ := c.Size()
		m.noting.Draw(c, 0, 0, w)
	})
}
