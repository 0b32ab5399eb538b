package runs

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/tui/page"
	"prismtop/tui/widget"
)

// This file handles keys and the mouse.

// Tables returns the bindings.
func (t *Table) Tables() []page.Table {
	return []page.Table{
		{Title: "The selected run", Keys: []page.Binding{
			{Keys: []string{"enter"}, Help: "open the replay; q there comes back", Short: "open", Run: t.open},
			{Keys: []string{"r"}, Help: "rename", Short: "rename", Rank: 3, Run: func() tea.Cmd { return t.askText("name") }},
			{Keys: []string{"n"}, Help: "edit the note", Short: "note", Rank: 4, Run: func() tea.Cmd { return t.askText("note") }},
			{Keys: []string{"x"}, Help: "export: format, then path", Short: "export", Rank: 3, Run: t.askExport},
			{Keys: []string{"X"}, Help: "stop the export", Run: t.stopExport},
		}},
		{Title: "Marked runs, or the selected one", Keys: []page.Binding{
			{Keys: []string{"space"}, Help: "mark, or take the mark back", Short: "mark", Rank: 1, Run: t.mark},
			{Keys: []string{"c"}, Help: "compare two or more marked", Short: "compare", Rank: 1, Run: t.compare},
			{Keys: []string{"d", "delete"}, Help: "delete, after a question", Short: "delete", Rank: 2, Run: t.askDelete},
		}},
		{Title: "The rows", Keys: []page.Binding{
			{Keys: []string{"/"}, Help: "filter as typed: name, preset, picture, state, day, note", Short: "filter", Rank: 1, Run: t.askFilter},
			{Keys: []string{"s"}, Help: "sort by the next column", Short: "sort", Rank: 2, Run: t.sortNext},
			{Keys: []string{"S"}, Help: "reverse the order", Run: t.reverse},
			{Keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}, Shown: "↑ ↓", Help: "select; pgup, pgdown, home, end too", Run: func() tea.Cmd { return nil }},
		}},
	}
}

// KeySections returns the keys of the table for the manuals.
func KeySections() []widget.KeySection {
	return page.Sections("The table of runs", (&Table{}).Tables())
}

// Prompt returns the keys of what is open.
func (t *Table) Prompt() []widget.KeyGroup {
	switch {
	case t.ask != nil:
		return t.ask.hints()
	case t.typing != nil:
		return []widget.KeyGroup{widget.Hint("enter", "keeps the filter", 0), widget.Hint("esc", "clears it", 0), widget.Hint("↑ ↓", "select", 1), widget.Hint("ctrl+c", "quit", 1)}
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
func (t *Table) Wheel(down bool) {
	if t.ask != nil {
		return
	}
	key := "up"
	if down {
		key = "down"
	}
	t.moved(key)
}

// Notes explain the columns.
func (t *Table) Notes() []string {
	return []string{
		"Every run is recorded here unless --no-record is given. ms is the median time of an iteration, quality that of the end. " +
			"A run is killed if its process ended without closing the recording, which is whole up to half a second before.",
		"Marks hold while the filter changes. The oldest of the marked runs is the base of a comparison.",
	}
}
