package runs

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/keys"
	"prismtop/tui/page"
	"prismtop/tui/widget"
)

// This file handles keys and the mouse.

// Tables returns the bindings.
func (t *Table) Tables() []page.Table {
	return []page.Table{
		t.Bind(keys.RunsOne, map[profiles.Action]func() tea.Cmd{
			"runs open":   t.open,
			"runs rename": func() tea.Cmd { return t.askText("name") },
			"runs note":   func() tea.Cmd { return t.askText("note") },
			"runs export": t.askExport,
			"runs stop":   t.stopExport,
		}),
		t.Bind(keys.RunsMarked, map[profiles.Action]func() tea.Cmd{"runs mark": t.mark, "runs compare": t.compare,
			"runs delete": t.askDelete}),
		t.Bind(keys.RunsRows, map[profiles.Action]func() tea.Cmd{"runs filter": t.askFilter, "runs sort": t.sortNext,
			"runs reverse": t.reverse}),
	}
}

// Prompt returns the keys of what is open.
func (t *Table) Prompt() []widget.KeyGroup {
	switch {
	case t.ask != nil:
		return t.ask.hints()
	case t.typing != nil:
		return []widget.KeyGroup{widget.Hint("enter", "keeps the filter", 0), widget.Hint("esc", "clears it", 0),
			widget.Hint("↑ ↓", "select", 1), widget.Hint("ctrl+c", "quit", 1)}
	}
	return nil
}

// Press handles the keys of the list, of the filter and of dialogs.
func (t *Table) Press(key string) (tea.Cmd, bool) {
	switch {
	case t.ask != nil:
		return t.answer(key), true
	case t.moved(key):
		return nil, true
	case t.typing != nil:
		t.typeFilter(key)
		return nil, true
	case key == "esc":
		return nil, t.clear()
	}
	return nil, false
}

// moved handles a key that selects another row.
func (t *Table) moved(key string) bool {
	if t.typing != nil && (key == "home" || key == "end") || !t.list.Move(key) {
		return false
	}
	t.follow()
	return true
}

// askFilter begins to type the filter.
func (t *Table) askFilter() tea.Cmd {
	t.typing = widget.NewInput(t.filter)
	return nil
}

// typeFilter handles a key while the filter is typed.
func (t *Table) typeFilter(key string) {
	switch key {
	case "enter":
		t.typing = nil
	case "esc":
		t.typing, t.filter = nil, ""
	default:
		t.typing.Press(key)
		t.filter = t.typing.Value()
	}
	t.arrange()
}

// clear clears the filter, or else the marks; false if there are neither.
func (t *Table) clear() bool {
	switch {
	case t.filter != "":
		t.filter = ""
	case len(t.marked) > 0:
		clear(t.marked)
	default:
		return false
	}
	t.arrange()
	return true
}

// Paste pastes into what is being typed.
func (t *Table) Paste(text string) {
	switch {
	case t.ask != nil && t.ask.input != nil:
		t.ask.input.Paste(text)
	case t.typing != nil:
		t.typing.Paste(text)
		t.filter = t.typing.Value()
		t.arrange()
	}
}

// Click selects a row, and opens it twice; a click on a heading sorts by it.
func (t *Table) Click(x, y int, twice bool) tea.Cmd {
	if t.ask != nil {
		return nil
	}
	if y == headingRow {
		t.sortAt(x)
		return nil
	}
	first, last := t.shown()
	row := first + y - firstRow
	if y < firstRow || row >= last {
		return nil
	}
	t.list.At = row
	t.follow()
	if twice {
		return t.open()
	}
	return nil
}

// Wheel moves the selection.
func (t *Table) Wheel(step string) {
	if t.ask == nil {
		t.moved(step)
	}
}

// Notes explain the columns.
func (t *Table) Notes() []string {
	return []string{
		"Every run is recorded here unless --no-record is given. Length and iterations are of all parts of a " +
			"resumed run, ms, the median time of an iteration, of the newest. Quality is that " +
			"of the end. A run is killed if its process ended without closing the recording, which is whole up to " +
			"half a second before.",
		"Marks hold while the filter changes. The oldest of the marked runs is the base of a comparison.",
	}
}
