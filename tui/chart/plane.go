package chart

import (
	"cmp"
	"math"
	"slices"

	"prismtop/tui/theme"
)

// Plane is a plot with two logarithmic axes for a roofline: the lines of the roofs, and points.
type Plane struct {
	// X and Y are the ranges of the axes, above 0. Label formats their ends.
	X, Y  [2]float64
	Label func(float64) string
	// LabelWidth is the width of the labels on the left, in cells.
	LabelWidth     int
	XTitle, YTitle string
	canvas, plot   Canvas
}

// Begin draws the axes over the whole canvas; it returns false if there is no room or the ranges
// are invalid.
func (p *Plane) Begin(c *Canvas) bool {
	if c.w < p.LabelWidth+16 || c.h < 5 || !usableRange(p.X) || !usableRange(p.Y) {
		return false
	}
	left, rows := p.LabelWidth+1, c.h-1
	p.canvas, p.plot = *c, c.Sub(left, 0, c.w-left, rows)
	c.Fill(p.LabelWidth, 0, 1, rows, '│', theme.Axis)
	c.Set(p.LabelWidth, rows, '╰', theme.Axis)
	c.Fill(left, rows, c.w-left, 1, '─', theme.Axis)
	last := -2
	for _, v := range powers(p.Y) {
		_, r := p.cell(p.X[0], v)
		if r >= 0 && r < rows && abs(r-last) > 1 {
			c.TextRight(p.LabelWidth, r, p.Label(v), theme.Axis)
			c.Set(p.LabelWidth, r, '┤', theme.Axis)
			last = r
		}
	}
	edge := left - 1
	title := " " + p.XTitle + " "
	end := c.w - Width(title)
	for _, v := range powers(p.X) {
		x, _ := p.cell(v, p.Y[0])
		label := " " + p.Label(v) + " "
		if at := left + x - Width(label)/2; at > edge && at+Width(label) < end {
			edge = c.Text(at, rows, label, theme.Axis)
		}
	}
	c.Text(end, rows, title, theme.Faint)
	c.Text(left, 0, p.YTitle, theme.Faint)
	return true
}

func usableRange(r [2]float64) bool {
	return r[0] > 0 && r[1] > r[0] && !math.IsInf(r[1], 0) && r[1]/r[0] < 1e30
}

// powers returns the powers of ten in a range, or its ends if it contains none.
func powers(r [2]float64) (v []float64) {
	for e := math.Ceil(math.Log10(r[0]) - 1e-9); e <= math.Log10(r[1])+1e-9; e++ {
		v = append(v, math.Pow(10, e))
	}
	if len(v) == 0 {
		return r[:]
	}
	return v
}

// place returns the position of a point on the axes, 0 to 1 within them.
func (p *Plane) place(x, y float64) (fx, fy float64) {
	return math.Log(x/p.X[0]) / math.Log(p.X[1]/p.X[0]), math.Log(y/p.Y[0]) / math.Log(p.Y[1]/p.Y[0])
}

func (p *Plane) cell(x, y float64) (column, row int) {
	fx, fy := p.place(x, y)
	return int(math.Round(fx * float64(p.plot.w-1))), int(math.Round((1 - fy) * float64(p.plot.h-1)))
}

// Roof draws y = min(slope·x, flat) in dots; a slope or flat of 0 is omitted.
func (p *Plane) Roof(slope, flat float64, s theme.Style) {
	for i := range 2 * p.plot.w {
		x := p.X[0] * math.Pow(p.X[1]/p.X[0], float64(i)/float64(2*p.plot.w-1))
		y := math.Inf(1)
		if slope > 0 {
			y = slope * x
		}
		if flat > 0 {
			y = min(y, flat)
		}
		_, f := p.place(x, y)
		row := int(math.Round((1 - f) * float64(4*p.plot.h-1)))
		if f >= 0 && f <= 1 && isLine(p.plot.At(i/2, row/4).Rune) { // not over the title
			p.plot.Dot(i, row, s)
		}
	}
}

// Maximum distance of a label from its point, in cells.
const (
	labelColumns = 2
	labelRows    = 1
)

// Point draws a character at a point, or at the edge if the point is outside. If the cell is
// taken by another character, one with moves set takes the nearest free cell. If there is none,
// the character is not drawn, and by is the character that hides it; otherwise by is 0.
func (p *Plane) Point(x, y float64, r rune, moves bool, s theme.Style) (by rune) {
	if !(x > 0) || !(y > 0) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return 0
	}
	fx, fy := p.place(x, y)
	fx, fy = min(max(fx, 0), 1), min(max(fy, 0), 1)
	column, row := int(math.Round(fx*float64(p.plot.w-1))), int(math.Round((1-fy)*float64(p.plot.h-1)))
	if at := p.plot.At(column, row).Rune; !isLine(at) {
		by = at
	}
	cells := nearCells
	if !moves {
		cells = cells[:1]
	}
	for _, d := range cells {
		at := [2]int{column + d[0], row + d[1]}
		if at[0] >= 0 && at[1] >= 0 && at[0] < p.plot.w && at[1] < p.plot.h && isLine(p.plot.At(at[0], at[1]).Rune) {
			p.plot.Set(at[0], at[1], r, s)
			return 0
		}
	}
	return by
}

// nearCells are the offsets of the cells that a label may take, nearest first.
var nearCells = func() (cells [][2]int) {
	for y := -labelRows; y <= labelRows; y++ {
		for x := -labelColumns; x <= labelColumns; x++ {
			cells = append(cells, [2]int{x, y})
		}
	}
	// A row is twice as high as a column is wide.
	far := func(c [2]int) int { return c[0]*c[0] + 4*c[1]*c[1] }
	slices.SortStableFunc(cells, func(a, b [2]int) int { return cmp.Compare(far(a), far(b)) })
	return cells
}()

// isLine reports whether a cell is empty or contains only a roof.
func isLine(r rune) bool { return r == ' ' || r >= 0x2800 && r <= 0x28ff }
