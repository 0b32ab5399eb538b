package chart

import (
	"math"

	"prismtop/tui/theme"
)

// noDots is the braille pattern without a dot. The others follow it, each with a bit for each of its dots.
const noDots = '\u2800'

// dotBits are the bits of the dots, by row and column of a cell's 4x2 dots.
var dotBits = [4][2]rune{{1 << 0, 1 << 3}, {1 << 1, 1 << 4}, {1 << 2, 1 << 5}, {1 << 6, 1 << 7}}

// Dot sets one braille dot, on a grid of 2 dots per cell across and 4 down. The cell takes the
// style; its other dots remain.
func (c *Canvas) Dot(x, y int, s theme.Style) {
	if x < 0 || y < 0 || x >= 2*c.w || y >= 4*c.h {
		return
	}
	cell := &c.cells[y/4*c.stride+x/2]
	if cell.Rune < noDots || cell.Rune > noDots+0xff { // beside a rune that is no pattern the dot stands alone
		cell.Rune = noDots
	}
	cell.Rune |= dotBits[y%4][x%2]
	cell.Style = s
}

// Dash is the pattern of a line, by which lines are told apart without colour.
type Dash uint8

// The patterns, which also differ where a cell has a single character.
const (
	Solid Dash = iota
	Dashed
	Dotted
	DashDotted
)

// DashedWhen returns Dashed under a condition, else Solid.
func DashedWhen(yes bool) Dash {
	if yes {
		return Dashed
	}
	return Solid
}

// draws reports whether the pattern has a dot in column x of dots, two of which make a cell.
func (d Dash) draws(x int) bool {
	switch d {
	case Dashed:
		return x%4 < 2
	case Dotted:
		return x%6 == 0
	case DashDotted:
		return x%12 < 6 || x%12 == 8
	}
	return true
}

// DotLine draws a straight line of dots from (x0,y0) to (x1,y1), both included.
func (c *Canvas) DotLine(x0, y0, x1, y1 int, dash Dash, s theme.Style) {
	n := max(abs(x1-x0), abs(y1-y0))
	for i := 0; i <= n; i++ {
		x, y := x0, y0
		if n > 0 {
			x += int(math.Round(float64((x1-x0)*i) / float64(n)))
			y += int(math.Round(float64((y1-y0)*i) / float64(n)))
		}
		if dash.draws(x) {
			c.Dot(x, y, s)
		}
	}
}

// Bar draws a bar v cells long from (x,y), rounded to whole cells and at most width long; a
// positive value gets at least one cell. The glyph leaves a gap at the top, so that bars on
// adjacent rows stay apart. Bar returns the next column.
func (c *Canvas) Bar(x, y, width int, v float64, s theme.Style) int {
	v = finite(v, 0)
	if v <= 0 || width <= 0 {
		return x
	}
	n := max(1, int(math.Round(min(v, float64(width)))))
	c.Fill(x, y, n, 1, '▇', s)
	return x + n
}

// finite returns v, or other if v is NaN or infinite.
func finite(v, other float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return other
	}
	return v
}

func abs(v int) int { return max(v, -v) }
