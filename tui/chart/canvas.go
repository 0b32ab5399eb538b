// Package chart draws the screen's charts on a canvas of characters with style ids.
//
// Every number is checked once, on input: non-finite values are gaps, values out of range
// are clamped, and no size panics. docs/architecture.md says why none of its charts is a library's.
package chart

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/monospace"
	"prismtop/tui/theme"
)

// Cell is one character of the screen. Rune 0 is the right half of a character two cells wide; a
// negative Rune is a placeholder in a picture drawn by the terminal (see Placeholder).
type Cell struct {
	Rune  rune
	Style theme.Style
}

// Canvas is a rectangle of cells with (0,0) at the upper left. Drawing outside of it has no
// effect. The zero value is an empty canvas.
type Canvas struct {
	cells        []Cell
	stride, w, h int
}

// Resize sets the size in cells and clears the canvas. Negative sizes count as 0.
func (c *Canvas) Resize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	if len(c.cells) != w*h {
		c.cells = make([]Cell, w*h)
	}
	c.stride, c.w, c.h = w, w, h
	c.Clear()
}

// Size returns the size in cells.
func (c *Canvas) Size() (w, h int) { return c.w, c.h }

// Clear sets every cell to a plain space.
func (c *Canvas) Clear() { c.Fill(0, 0, c.w, c.h, ' ', theme.Plain) }

// Sub returns the part of the canvas from (x,y), w by h cells, clipped to the canvas. It shares
// the cells.
func (c *Canvas) Sub(x, y, w, h int) Canvas {
	x, y = min(max(x, 0), c.w), min(max(y, 0), c.h)
	w, h = min(max(w, 0), c.w-x), min(max(h, 0), c.h-y)
	if w == 0 || h == 0 {
		return Canvas{}
	}
	return Canvas{cells: c.cells[y*c.stride+x:], stride: c.stride, w: w, h: h}
}

// Set draws a character one cell wide.
func (c *Canvas) Set(x, y int, r rune, s theme.Style) {
	if x >= 0 && x < c.w && y >= 0 && y < c.h {
		c.cells[y*c.stride+x] = Cell{r, s}
	}
}

// At returns the cell at (x,y), or a space outside of the canvas.
func (c *Canvas) At(x, y int) Cell {
	if x >= 0 && x < c.w && y >= 0 && y < c.h {
		return c.cells[y*c.stride+x]
	}
	return Cell{Rune: ' '}
}

// Fill fills w by h cells from (x,y) with r.
func (c *Canvas) Fill(x, y, w, h int, r rune, s theme.Style) {
	for j := max(y, 0); j < min(y+h, c.h); j++ {
		for i := max(x, 0); i < min(x+w, c.w); i++ {
			c.cells[j*c.stride+i] = Cell{r, s}
		}
	}
}

// Frame draws a border with rounded corners around the canvas.
func (c *Canvas) Frame(edge theme.Style) {
	w, h := c.w, c.h
	c.Fill(1, 0, w-2, 1, '─', edge)
	c.Fill(1, h-1, w-2, 1, '─', edge)
	c.Fill(0, 1, 1, h-2, '│', edge)
	c.Fill(w-1, 1, 1, h-2, '│', edge)
	c.Set(0, 0, '╭', edge)
	c.Set(w-1, 0, '╮', edge)
	c.Set(0, h-1, '╰', edge)
	c.Set(w-1, h-1, '╯', edge)
}

// Restyle changes the style of w cells from (x,y).
func (c *Canvas) Restyle(x, y, w int, s theme.Style) {
	for i := max(x, 0); i < min(x+w, c.w) && y >= 0 && y < c.h; i++ {
		c.cells[y*c.stride+i].Style = s
	}
}

// Text draws s from (x,y) and returns the next column. It is safe for untrusted text: control
// characters, zero-width characters and combining marks are dropped, wide characters take two
// cells, and overflow is cut.
func (c *Canvas) Text(x, y int, s string, st theme.Style) int {
	for _, r := range s {
		r, width := monospace.Drawn(r)
		switch {
		case width == 0:
		case width == 1:
			c.Set(x, y, r, st)
			x++
		case x+1 < c.w:
			c.Set(x, y, r, st)
			c.Set(x+1, y, 0, st)
			x += 2
		default:
			c.Set(x, y, ' ', st)
			x++
		}
	}
	return x
}

// TextRight draws s so that it ends before column x, and returns its first column.
func (c *Canvas) TextRight(x, y int, s string, st theme.Style) int {
	x -= Width(s)
	c.Text(x, y, s, st)
	return x
}

// Width returns the number of cells that Text uses for s.
func Width(s string) int { return monospace.Width(s) }

// Cut shortens s to n cells, with an ellipsis if it is longer.
func Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	w := 0
	for i, r := range s {
		if w+monospace.RuneWidth(r) > n-1 {
			return s[:i] + "…"
		}
		w += monospace.RuneWidth(r)
	}
	return s
}

// Lay copies a canvas onto this one, with its upper left corner at (x,y).
func (c *Canvas) Lay(from *Canvas, x, y int) {
	part := c.Sub(x, y, from.w, from.h)
	for j := range part.h {
		copy(part.Row(j), from.Row(j))
	}
}

// Row returns the cells of a row.
func (c *Canvas) Row(y int) []Cell { return c.cells[y*c.stride : y*c.stride+c.w] }

// Shown appends the cells that a terminal shows for row y in a theme: halves of a wide character of which the other was
// overwritten are spaces, and what looks the same is the same.
func (c *Canvas) Shown(to []Cell, y int, t *theme.Theme) []Cell {
	row := c.Row(y)
	for x, cell := range row {
		r, wide := cell.Rune, false
		switch {
		case r == 0:
			wide = x > 0 && monospace.RuneWidth(row[x-1].Rune) == 2
		case r > 0 && monospace.RuneWidth(r) == 2:
			wide = x+1 < len(row) && row[x+1].Rune == 0
		default:
			wide = true
		}
		switch {
		case !wide, r < 0 && t.ASCII:
			r = ' '
		case r == 0 && t.ASCII:
			r = '?'
		case t.ASCII:
			r = theme.ASCII(r)
		}
		to = append(to, Cell{r, t.Seen(cell.Style)})
	}
	return to
}

// Lines renders the canvas in a theme: one string per row, each exactly as wide as the canvas
// and ending in the plain style.
func (c *Canvas) Lines(t *theme.Theme) []string {
	lines := make([]string, c.h)
	var row []Cell
	var b []byte
	for y := range lines {
		row, b = c.Shown(row[:0], y, t), b[:0]
		style := theme.Plain
		for _, cell := range row {
			if cell.Style != style {
				if style != theme.Plain {
					b = append(b, ansi.ResetStyle...)
				}
				if style = cell.Style; style != theme.Plain {
					b = append(append(append(b, "\x1b["...), t.Look(style).Parameters()...), 'm')
				}
			}
			b = cell.Append(b)
		}
		if style != theme.Plain {
			b = append(b, ansi.ResetStyle...)
		}
		lines[y] = string(b)
	}
	return lines
}

// Append appends the text of a cell; the right half of a wide character has none.
func (c Cell) Append(to []byte) []byte {
	switch {
	case c.Rune == 0:
		return to
	case c.Rune < 0:
		return appendPlaceholder(to, c.Rune)
	}
	return utf8.AppendRune(to, c.Rune)
}
