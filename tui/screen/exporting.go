package screen

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file lists the formats that a run can be written in, and writes it in the selected one.

// exporting is the open list of formats.
type exporting struct {
	formats []control.Format
	row     int
}

// openExports opens the list.
func (m *Model) openExports() {
	m.lay(&exporting{formats: m.exporter.Formats()})
}

func (x *exporting) press(m *Model, s string) (cmd tea.Cmd, left bool) {
	n := len(x.formats)
	switch {
	case m.closes(s) || m.keys.Is("export", s):
		m.lift()
	case s == "enter" || s == "space":
		return x.export(m, x.row), false
	default:
		x.row, _ = widget.Around(s, x.row, n)
		if isDigit(s) && int(s[0]-'1') < n {
			return x.export(m, int(s[0]-'1')), false
		}
	}
	return nil, false
}

// export closes the list and writes the run in a format of it; exportedMsg arrives when that is done.
func (x *exporting) export(m *Model, row int) tea.Cmd {
	exporter, format := m.exporter, x.formats[row].Name
	m.lift()
	m.say("exporting " + format + " …")
	return func() tea.Msg {
		paths, err := exporter.Export(format)
		return exportedMsg{format, paths, err}
	}
}

// exported logs and shows where the files are, or why there are none.
func (m *Model) exported(msg exportedMsg) {
	text := words.Exported(msg.format, msg.paths, msg.err)
	m.addLine(profiles.LogLine{Text: visible.Text(text), Refused: msg.err != nil})
	m.showLines()
	if msg.err != nil {
		m.complain(text)
	} else {
		m.say(text)
	}
}

func (x *exporting) box(m *Model) []string {
	rows := min(len(x.formats), m.layout.H-2)
	first := max(0, min(x.row-rows/2, len(x.formats)-rows))
	return m.dialog("Export what is recorded", "enter or a digit writes it here, esc", 56, rows, func(c *chart.Canvas) {
		w, _ := c.Size()
		for y := range rows {
			i := first + y
			if i == x.row {
				c.Text(0, y, "▸", theme.Key)
			}
			if i < 9 {
				c.Text(2, y, strconv.Itoa(i+1), theme.Key)
			}
			c.Text(4, y, x.formats[i].Name, theme.Plain)
			c.Text(17, y, chart.Cut(x.formats[i].About, max(w-17, 0)), theme.Faint)
		}
	})
}
