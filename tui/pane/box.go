package pane

import (
	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// Box holds what all panes share: a framed canvas.
type Box struct {
	Title  string
	corner string // text at the right of the lower edge
	Canvas chart.Canvas
	Theme  *theme.Theme
	Snap   *profiles.Snapshot
	Stale  bool
	Focus  bool
	Past   bool // the pane shows nothing while its screen lacks the run's past
}

// SetSize sets the pane's size in cells, including the frame.
func (b *Box) SetSize(w, h int) {
	if cw, ch := b.Canvas.Size(); cw != w || ch != h {
		b.Canvas.Resize(w, h)
		b.Stale = true
	}
}

// SetTheme sets the colours.
func (b *Box) SetTheme(t *theme.Theme) {
	if b.Theme != t {
		b.Theme, b.Stale = t, true
	}
}

// SetCorner sets the text at the right of the frame's lower edge.
func (b *Box) SetCorner(text string) {
	if b.corner != text {
		b.corner, b.Stale = text, true
	}
}

// SetFocus marks the frame if the pane has the focus.
func (b *Box) SetFocus(on bool) {
	if b.Focus != on {
		b.Focus, b.Stale = on, true
	}
}

// Press handles no keys.
func (b *Box) Press(string) bool { return false }

// Explain returns nothing.
func (b *Box) Explain() []string { return nil }

// Hints returns none.
func (b *Box) Hints() []Hint { return nil }

// Update takes a snapshot for the next call of Cells.
func (b *Box) Update(s *profiles.Snapshot) {
	if b.Snap != s {
		b.Snap, b.Stale = s, true
	}
}

// Redraw makes the next call of Cells draw the pane again even if nothing changed.
func (b *Box) Redraw() { b.Stale = true }

// Render returns the pane's cells, redrawn if anything changed. draw fills the inside and
// returns the note for the lower edge of the frame.
func (b *Box) Render(
	draw func(inner *chart.Canvas, s *profiles.Snapshot) (note string, style theme.Style)) *chart.Canvas {
	w, h := b.Canvas.Size()
	if w < 2 || h < 2 || b.Theme == nil || !b.Stale {
		return &b.Canvas
	}
	b.Stale = false
	b.Canvas.Clear()
	edge := theme.Border
	if b.Focus {
		edge = theme.Focus
	}
	b.Canvas.Frame(edge)
	b.Canvas.Text(2, 0, chart.Cut(" "+b.Title+" ", w-4), theme.Title)
	inner := b.Canvas.Sub(2, 1, w-4, h-2)
	if b.Snap == nil {
		Message(&inner, "waiting for the run")
	} else if b.Past && b.Snap.CatchingUp {
		Message(&inner, words.CatchingUp)
	} else if note, style := draw(&inner, b.Snap); note != "" {
		b.Canvas.Text(2, h-1, chart.Cut(" "+note+" ", b.EdgeRoom()), style)
	}
	if b.corner != "" {
		b.Canvas.TextRight(w-2, h-1, " "+b.corner+" ", theme.Faint)
	}
	return &b.Canvas
}

// EdgeRoom returns the number of cells in the lower edge that the pane may use.
func (b *Box) EdgeRoom() int {
	w, _ := b.Canvas.Size()
	if b.corner == "" {
		return w - 4
	}
	return w - 4 - chart.Width(b.corner) - 3
}

// Aside writes at the right of the frame's upper edge.
func (b *Box) Aside(s string, style theme.Style) {
	w, _ := b.Canvas.Size()
	if s != "" && chart.Width(s) <= b.AsideRoom() {
		b.Canvas.TextRight(w-2, 0, " "+s+" ", style)
	}
}

// AsideRoom returns the number of cells that Aside has for its text.
func (b *Box) AsideRoom() int {
	w, _ := b.Canvas.Size()
	return w - 4 - chart.Width(b.Title) - 2 - 4
}

// Message writes faint lines in the middle of a pane that has no data yet.
func Message(c *chart.Canvas, s string) {
	w, h := c.Size()
	lines := words.Wrap(s, w)
	lines = lines[:min(len(lines), max(h, 1))]
	for i, line := range lines {
		line = chart.Cut(line, w)
		c.Text((w-chart.Width(line))/2, (h-len(lines))/2+i, line, theme.Faint)
	}
}

// WriteWrapped wraps a text into at most rows lines from row y, and returns the next free row.
func WriteWrapped(c *chart.Canvas, x, y, rows int, s string, style theme.Style) int {
	w, _ := c.Size()
	w -= x
	lines := words.Wrap(s, w)
	if rows > 0 && len(lines) > rows {
		lines[rows-1] += " …"
	}
	for _, line := range lines[:min(max(rows, 0), len(lines))] {
		c.Text(x, y, chart.Cut(line, w), style)
		y++
	}
	return y
}

// ProseWidth is the maximum width of a line of prose.
const ProseWidth = 76
