package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// This file shows the field in which a setting's value is typed after its key.

// typing is the open field. Whoever opens it stays where he is: the field lies over the panes.
type typing struct {
	key   *settings.Key
	input *widget.Input
	fresh bool   // nothing was typed yet
	fault string // why the last value is not valid
}

// editSetting opens the field of a setting. A suspended number starts empty: it is on another scale.
func (m *Model) editSetting(key string) {
	k, ok := m.table.Lookup(key)
	switch {
	case m.snap == nil || !ok:
		m.complain(errNotBegun.Error())
		return
	case !m.can(profiles.SetCommand):
		m.complain(errReadOnly.Error())
		return
	}
	value, _ := settings.Unbound(m.asked(key))
	if m.suspended(key) {
		value = ""
	}
	m.lay(&typing{key: k, input: widget.NewInput(value), fresh: true})
}

// press takes what the value can contain. Other keys close the field and keep their meaning until something was typed, and
// space always. After that they are refused, since a slip must not act on the run.
func (t *typing) press(m *Model, s string) (cmd tea.Cmd, left bool) {
	switch {
	case s == "ctrl+z":
		return m.suspend(), false
	case s == "esc":
		m.lift()
	case s == "enter":
		t.commit(m)
	case widget.Edits(s) || t.key.Takes(s):
		t.input.Press(s)
		t.fresh, t.fault = false, ""
	case t.fresh || s == "space":
		m.lift()
		return nil, true
	default:
		m.complain(s + " is not part of " + t.key.Name + ", " + t.key.Wants() + ": enter sets it, esc leaves it")
	}
	return nil, false
}

// commit requests the typed value, or shows what is wrong with it.
func (t *typing) commit(m *Model) {
	value := strings.TrimSpace(t.input.Value())
	if err := m.assign(t.key.Name, value); err != nil {
		t.fault = err.Error()
		m.complain(t.fault)
		return
	}
	m.lift()
}

// paste takes pasted text.
func (t *typing) paste(text string) {
	t.input.Paste(text)
	t.fresh = false
}

func (t *typing) box(m *Model) []string {
	name := t.key.Name + " = "
	return m.dialog("typing: "+t.key.Name, "enter sets it, esc leaves it", 72, 3, func(c *chart.Canvas) {
		w, _ := c.Size()
		cut := func(y int, text string, style theme.Style) { c.Text(0, y, chart.Cut(text, w), style) }
		cut(0, t.key.Help, theme.Faint)
		x := c.Text(0, 1, name, theme.Plain)
		x = t.input.Draw(c, x, 1, w-x)
		c.Text(x+1, 1, chart.Cut(t.key.Unit, w-x-1), theme.Faint)
		switch {
		case t.fault != "":
			cut(2, t.fault, theme.Bad)
		case t.input.Selected():
			cut(2, "typing replaces it, ← → edit it; "+t.key.Wants(), theme.Faint)
		case pane.Suspended(t.key.Name, m.snap) != "":
			cut(2, pane.Suspended(t.key.Name, m.snap), theme.Faint)
		default:
			cut(2, t.key.Wants(), theme.Faint)
		}
	})
}

// keys returns the keys of the field for the footer.
func (t *typing) keys() []widget.KeyGroup {
	return []widget.KeyGroup{
		{Pieces: []widget.Piece{{Text: "typing: " + t.key.Name, Style: theme.Strong}}},
		widget.Hint("enter", "sets", 0), widget.Hint("esc", "leaves", 0), widget.Hint("← →", "move", 1), widget.Hint("ctrl+u", "clears", 2),
	}
}
