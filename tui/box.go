package tui

import (
	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// box is what every pane has: a canvas with a frame, and the lines it became.
type box struct {
	title  string
	corner string // at the right of the lower edge
	canvas chart.Canvas
	theme  *theme.Theme
	snap   *profiles.Snapshot
	stale  bool
	focus  bool
	drawn  []string
}

// SetSize gives the pane its size in cells, frame included.
func (b *box) SetSize(w, h int) {
	if cw, ch := b.canvas.Size(); cw != w || ch != h {
		b.canvas.Resize(w, h)
		b.stale = true
	}
}

// SetTheme changes the colours.
func (b *box) SetTheme(t *theme.Theme) {
	if b.theme != t {
		b.theme, b.stale = t, true
	}
}

// SetCorner writes in the lower edge of the frame, at its right.
func (b *box) SetCorner(text string) {
	if b.corner != text {
		b.corner, b.stale = text, true
	}
}

// SetFocus marks the frame of the pane that has the keys.
func (b *box) SetFocus(on bool) {
	if b.focus != on {
		b.focus, b.stale = on, true
	}
}

// Press handles no key.
func (b *box) Press(string) bool { return false }

// Explain has nothing to say.
func (b *box) Explain() []string { return nil }

// Hints has none.
func (b *box) Hints() []hint { return nil }

// Update takes a snapshot, which the next View draws.
func (b *box) Update(s *profiles.Snapshot) {
	if b.snap != s {
		b.snap, b.stale = s, true
	}
}

// Redraw draws the pane anew the next time, though it shows the same.
func (b *box) Redraw() { b.stale = true }

// render is the pane's lines, drawn anew where something changed: draw fills
// the inside and returns the note in the lower edge of the frame.
func (b *box) render(draw func(inner *chart.Canvas, s *profiles.Snapshot) (note string, style theme.Style)) []string {
	w, h := b.canvas.Size()
	if w < 2 || h < 2 || b.theme == nil {
		return nil
	}
	if !b.stale {
		return b.drawn
	}
	b.stale = false
	b.canvas.Clear()
	edge := theme.Border
	if b.focus {
		edge = theme.Focus
	}
	frame(&b.canvas, edge)
	b.canvas.Text(2, 0, chart.Cut(" "+b.title+" ", w-4), theme.Title)
	inner := b.canvas.Sub(2, 1, w-4, h-2)
	if b.snap == nil {
		message(&inner, "waiting for the run")
	} else if note, style := draw(&inner, b.snap); note != "" {
		b.canvas.Text(2, h-1, chart.Cut(" "+note+" ", b.edgeRoom()), style)
	}
	if b.corner != "" {
		b.canvas.TextRight(w-2, h-1, " "+b.corner+" ", theme.Faint)
	}
	b.drawn = b.canvas.Lines(b.theme)
	return b.drawn
}

// edgeRoom is how many cells of the lower edge a pane has for itself.
func (b *box) edgeRoom() int {
	w, _ := b.canvas.Size()
	if b.corner == "" {
		return w - 4
	}
	return w - 4 - chart.Width(b.corner) - 3
}

// aside writes in the upper edge of the frame, at its right.
func (b *box) aside(s string, style theme.Style) {
	w, _ := b.canvas.Size()
	if s != "" && w-4-chart.Width(b.title)-2 > chart.Width(s)+3 {
		b.canvas.TextRight(w-2, 0, " "+s+" ", style)
	}
}

// frame draws a rounded border around the canvas.
func frame(c *chart.Canvas, edge theme.Style) {
	w, h := c.Size()
	c.Fill(1, 0, w-2, 1, '─', edge)
	c.Fill(1, h-1, w-2, 1, '─', edge)
	c.Fill(0, 1, 1, h-2, '│', edge)
	c.Fill(w-1, 1, 1, h-2, '│', edge)
	c.Set(0, 0, '╭', edge)
	c.Set(w-1, 0, '╮', edge)
	c.Set(0, h-1, '╰', edge)
	c.Set(w-1, h-1, '╯', edge)
}

// message writes faint lines in the middle of a pane that has nothing to show yet.
func message(c *chart.Canvas, s string) {
	w, h := c.Size()
	lines := wrap(s, w)
	lines = lines[:min(len(lines), max(h, 1))]
	for i, line := range lines {
		line = chart.Cut(line, w)
		c.Text((w-chart.Width(line))/2, (h-len(lines))/2+i, line, theme.Faint)
	}
}

// writeWrapped writes words over at most rows lines from y on, and returns the row
// after them.
func writeWrapped(c *chart.Canvas, x, y, rows int, s string, style theme.Style) int {
	w, _ := c.Size()
	w -= x
	lines := wrap(s, w)
	if rows > 0 && len(lines) > rows {
		lines[rows-1] += " …"
	}
	for _, line := range lines[:min(max(rows, 0), len(lines))] {
		c.Text(x, y, chart.Cut(line, w), style)
		y++
	}
	return y
}

// proseWidth is how wide lines of prose are at most.
const proseWidth = 76
