package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/widget"
)

// noting is the line in which a note on the run is written.
type noting struct {
	*widget.Input
	seat *seat
	run  *asking
}

func (n noting) press(key string) (tea.Cmd, outcome) {
	switch key {
	case "esc":
		return nil, closed
	case "enter":
		text := strings.TrimSpace(n.Value())
		if text == "" {
			return nil, closed
		}
		if _, err := profiles.NewNote("", text); err != nil {
			n.seat.complain("no note: " + err.Error())
			return nil, held
		}
		return n.seat.announce(writingNote, profiles.Command{Kind: profiles.NoteCommand, Text: text}), closed
	default:
		n.Press(key)
	}
	return nil, held
}

func (n noting) box(in room) *chart.Canvas {
	return in.dialog(fmt.Sprintf("Note at iteration %d", n.run.snap.Index), "enter writes it, esc leaves", 70, 1,
		func(c *chart.Canvas) {
			w, _ := c.Size()
			n.Draw(c, 0, 0, w)
		})
}
