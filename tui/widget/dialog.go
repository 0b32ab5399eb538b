package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// Dialog draws a framed box of w by h cells, including the frame, with a title and a footer, and draw
// fills its inside.
func Dialog(title, foot string, w, h int, draw func(c *chart.Canvas)) *chart.Canvas {
	var c chart.Canvas
	c.Resize(w, h)
	c.Frame(theme.Border)
	c.Text(2, 0, chart.Cut(" "+title+" ", w-4), theme.Title)
	if foot != "" {
		c.Text(2, h-1, chart.Cut(" "+foot+" ", w-4), theme.Faint)
	}
	inner := c.Sub(2, 1, w-4, h-2)
	draw(&inner)
	return &c
}

// Overlay lays a box of lines over the middle of the rows of a screen w cells wide.
func Overlay(rows, box []string, w int) {
	if len(box) == 0 {
		return
	}
	wide := ansi.StringWidth(box[0])
	x, y := max(0, (w-wide)/2), max(0, (len(rows)-len(box))/2)
	for i, line := range box {
		if y+i < len(rows) {
			rows[y+i] = leftOf(rows[y+i], x) + "\x1b[m" + line + rightOf(rows[y+i], x+wide, w)
		}
	}
}

// leftOf returns the first x cells of a row. A wide character cut in half becomes a space, as in
// rightOf.
func leftOf(row string, x int) string {
	part := ansi.Cut(row, 0, x)
	return part + strings.Repeat(" ", x-ansi.StringWidth(part))
}

// rightOf returns cells x to w of a row.
func rightOf(row string, x, w int) string {
	part := ansi.Cut(row, x, w)
	if ansi.StringWidth(part) > w-x {
		part = " " + ansi.Cut(row, x+1, w)
	}
	return part
}
