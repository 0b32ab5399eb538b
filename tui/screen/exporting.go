package screen

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/theme"
)

// exporting is the open list of the formats that the run can be written in; it writes the run in the selected one.
type exporting struct {
	*answers
	exporter control.Exporter
	keys     *bindings
	formats  []control.Format
	row      int
}

func (x *exporting) press(s string) (tea.Cmd, outcome) {
	n := len(x.formats)
	switch {
	case x.keys.closes(s) || x.keys.Is("export", s):
		return nil, closed
	case s == "enter" || s == "space":
		return x.export(x.row), closed
	case isDigit(s) && int(s[0]-'1') < n:
		return x.export(int(s[0] - '1')), closed
	}
	return nil, selects(&x.row, s, n)
}

// export writes the run in a format of the list; exportedMsg arrives when that is done.
func (x *exporting) export(row int) tea.Cmd {
	exporter, format := x.exporter, x.formats[row].Name
	x.say("exporting " + format + " …")
	return func() tea.Msg {
		paths, err := exporter.Export(format)
		return exportedMsg{format, paths, err}
	}
}

func (x *exporting) box(in room) *chart.Canvas {
	rows := min(len(x.formats), in.h-2)
	first := max(0, min(x.row-rows/2, len(x.formats)-rows))
	return in.dialog("Export what is recorded", "enter or a digit writes it here, esc", 56, rows,
		func(c *chart.Canvas) {
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
