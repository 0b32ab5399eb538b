package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/widget"
)

// noting is the line in which a note is written.
type noting struct{ *widget.Input }

// openNote opens the line in which a note is written.
func (m *Model) openNote() {
	if m.snap == nil {
		m.complain(errNotBegun.Error())
		return
	}
	m.lay(noting{widget.NewInput("")})
}

func (n noting) press(m *Model, key string) (cmd tea.Cmd, left bool) {
	switch key {
	case "esc":
		m.lift()
	case "enter":
		text := strings.TrimSpace(n.Value())
		if _, err := profiles.NewNote("", text); err != nil && text != "" {
			m.complain("no note: " + err.Error())
			return nil, false
		}
		if m.lift(); text == "" {
			return nil, false
		}
		m.say(writingNote)
		return m.later(profiles.Command{Kind: profiles.NoteCommand, Text: text}), false
	default:
		n.Press(key)
	}
	return nil, false
}

func (n noting) box(m *Model) []string {
	return m.dialog(fmt.Sprintf("Note at iteration %d", m.snap.Index), "enter writes it, esc leaves", 70, 1, func(c *chart.Canvas) {
		w, _ := c.Size()
		n.Draw(c, 0, 0, w)
	})
}
