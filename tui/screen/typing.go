package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// typing is the open field in which a setting's value is typed after its key. Whoever opens
// it stays where he is: the field lies over the panes.
type typing struct {
	*tuning
	key   *settings.Key
	input *widget.Input
	fresh bool   // nothing was typed yet
	fault string // why the last value is not valid
}

// newTyping returns the field of a setting. A suspended number starts empty: it is on another scale.
func newTyping(t *tuning, k *settings.Key) *typing {
	value, _ := settings.Unbound(t.asked(k.Name))
	if t.suspended(k.Name) {
		value = ""
	}
	return &typing{tuning: t, key: k, input: widget.NewInput(value), fresh: true}
}

// press takes what the value can contain, and refuses other characters: a slip must not act on the run. Keys that type
// nothing close the field and keep their meaning until something was typed.
func (t *typing) press(s string) (tea.Cmd, outcome) {
	switch {
	case s == "esc":
		return nil, closed
	case s == "enter":
		return nil, t.commit()
	case widget.Edits(s) || t.key.Takes(s):
		t.input.Press(s)
		t.fresh, t.fault = false, ""
	case t.fresh && !widget.Types(s):
		return nil, passed
	default:
		t.complain(s + " is not part of " + t.key.Name + ", " + t.key.Wants() + ": enter sets it, esc leaves it")
	}
	return nil, held
}

// commit requests the typed value, or shows what is wrong with it.
func (t *typing) commit() outcome {
	value := strings.TrimSpace(t.input.Value())
	if err := t.assign(t.key.Name, value); err != nil {
		t.fault = err.Error()
		t.complain(t.fault)
		return held
	}
	return closed
}

// paste takes pasted text.
func (t *typing) paste(text string) {
	t.input.Paste(text)
	t.fresh = false
}

func (t *typing) box(in room) *chart.Canvas {
	name := t.key.Name + " = "
	return in.dialog("typing: "+t.key.Name, "enter sets it, esc leaves it", 72, 3, func(c *chart.Canvas) {
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
		case pane.Suspended(t.key.Name, t.snap) != "":
			cut(2, pane.Suspended(t.key.Name, t.snap), theme.Faint)
		default:
			cut(2, t.key.Wants(), theme.Faint)
		}
	})
}

// hints returns the keys of the field for the footer.
func (t *typing) hints() []widget.KeyGroup {
	return []widget.KeyGroup{
		{Pieces: []widget.Piece{{Text: "typing: " + t.key.Name, Style: theme.Strong}}},
		widget.Hint("enter", "sets", 0), widget.Hint("esc", "leaves", 0), widget.Hint("← →", "move", 1),
		widget.Hint("ctrl+u", "clears", 2),
	}
}
