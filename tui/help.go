package tui

import (
	"strings"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// help lists every binding of the table, what is hidden and what the run noted.
func (m *Model) help() []string {
	var notes []string
	if hidden := m.layout.hidden(); len(hidden) > 0 {
		names := make([]string, len(hidden))
		for i, id := range hidden {
			names[i] = paneNames[id]
		}
		notes = append(notes, "Too small for: "+strings.Join(names, ", ")+".")
	}
	if m.snap != nil {
		if why := emulated(m.snap, "bf16"); why != "" {
			notes = append(notes, "AMP is "+why+".")
		}
		notes = append(notes, m.snap.Run.Notes...)
	}
	rows := len(settingKeys) + len(actionKeys) + 1
	w := 40
	columns := rows+2 > m.layout.h // side by side where they do not fit under each other
	if columns {
		w, rows = m.layout.w-4, max(len(settingKeys), len(actionKeys))
	}
	if len(notes) > 0 && rows+3+len(notes) <= m.layout.h {
		rows += 1 + len(notes)
	} else {
		notes = nil
	}
	return m.dialog("Keys", w, rows, func(c *chart.Canvas) {
		cw, _ := c.Size()
		if columns {
			a, b := c.Sub(0, 0, cw/2-1, rows), c.Sub(cw/2, 0, cw-cw/2, rows)
			helpTable(&a, 0, settingKeys)
			helpTable(&b, 0, actionKeys)
		} else {
			y := helpTable(c, 0, settingKeys)
			helpTable(c, y+1, actionKeys)
		}
		for i, note := range notes {
			c.Text(0, rows-len(notes)+i, chart.Cut(note, cw), theme.Faint)
		}
	})
}

// helpTable writes a table of bindings from row y on and returns the row after it.
func helpTable(c *chart.Canvas, y int, table []binding) int {
	w, _ := c.Size()
	const keys = 7
	for i, b := range table {
		c.TextRight(keys-1, y+i, b.Help().Key, theme.Key)
		c.Text(keys, y+i, chart.Cut(b.Help().Desc, w-keys), theme.Plain)
	}
	return y + len(table)
}
