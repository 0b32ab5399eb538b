package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
)

// chooser is the open list of panes, where they can be shown and hidden.
type chooser struct {
	*tiling
	*answers
	keys *bindings
	row  int
}

// chooserKeys are the letters and digits that select panes in the list.
const chooserKeys = "1234567890abcdefghiklm"

// newChooser returns the list, with the focused pane selected.
func newChooser(t *tiling, a *answers, k *bindings) *chooser {
	c := &chooser{tiling: t, answers: a, keys: k}
	if t.focus != layout.None {
		c.row = int(t.focus)
	}
	return c
}

// showOrHide shows or hides the selected pane, and says why it cannot.
func (c *chooser) showOrHide() {
	if why := c.togglePane(layout.Pane(c.row)); why != "" {
		c.say(why)
	}
}

func (c *chooser) press(s string) (tea.Cmd, outcome) {
	switch {
	case c.keys.closes(s) || c.keys.Is("panes", s):
		return nil, closed
	case c.keys.Is("layout", s):
		c.say("panes: " + c.rearrange())
	case s == "space":
		c.showOrHide()
	case s == "enter" || c.keys.Is("zoom", s):
		c.setFocus(layout.Pane(c.row))
		c.zoomed = true
		c.relay()
		return nil, closed
	default:
		i := strings.Index(chooserKeys[:min(len(c.panes), len(chooserKeys))], s)
		if len(s) != 1 || i < 0 {
			return nil, selects(&c.row, s, len(c.panes))
		}
		c.row = i
		c.showOrHide()
	}
	return nil, held
}

func (l *chooser) box(in room) *chart.Canvas {
	a := l.arrangement()
	whole := l.arranged(l.choice())
	rows := min(len(l.panes), in.h-2)
	first := max(0, min(l.row-rows/2, len(l.panes)-rows))
	return in.dialog("Panes in "+a.Name, l.keys.Say(chooserFoot), 44, rows, func(c *chart.Canvas) {
		w, _ := c.Size()
		for y := range rows {
			id := layout.Pane(first + y)
			lamp, style, note := "○", theme.Faint, ""
			switch {
			case !whole.Panes[id].Empty():
				lamp, style = "●", theme.Good
			case whole.Wanted[id]:
				lamp, style, note = "◌", theme.Warn, "hidden: no room"
			case l.without[id]:
				note = l.whyLacking(id)
			case whole.Put[id]:
				note = "hidden"
			default:
				note = "not in this layout"
			}
			if int(id) == l.row {
				c.Text(0, y, "▸", theme.Key)
			}
			if int(id) < len(chooserKeys) {
				c.Text(2, y, chooserKeys[id:id+1], theme.Key)
			}
			c.Text(4, y, lamp, style)
			c.Text(6, y, l.paneName(id), theme.Plain)
			c.TextRight(w, y, chart.Cut(note, w-8-chart.Width(l.paneName(id))), style)
		}
	})
}
