package widget

import (
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

// Overlay lays a box over the middle of a screen.
func Overlay(c, box *chart.Canvas) {
	w, h := c.Size()
	bw, bh := box.Size()
	c.Lay(box, max(0, (w-bw)/2), max(0, (h-bh)/2))
}
