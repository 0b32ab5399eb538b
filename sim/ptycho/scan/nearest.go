package scan

import (
	"cmp"
	"math"
	"slices"
)

// cellPositions is the mean number of positions of a cell.
const cellPositions = 2

// cells are positions on a regular grid of square cells, so that the nearest of one are found without a look
// at all others.
type cells struct {
	x, y          []float64
	left, top     float64
	side          float64 // of a cell
	rows, columns int
	members       [][]int // of each cell, row by row, ascending
}

// newCells puts positions on a grid.
func newCells(x, y []float64) *cells {
	c := &cells{x: x, y: y, left: slices.Min(x), top: slices.Min(y), rows: 1, columns: 1}
	width, height := slices.Max(x)-c.left, slices.Max(y)-c.top
	if extent := max(width, height); extent > 0 {
		c.side = extent / math.Ceil(math.Sqrt(float64(len(x))/cellPositions))
		c.rows, c.columns = 1+int(height/c.side), 1+int(width/c.side)
	}
	c.members = make([][]int, c.rows*c.columns)
	for i := range x {
		row, column := c.cell(i)
		c.members[row*c.columns+column] = append(c.members[row*c.columns+column], i)
	}
	return c
}

// cell returns the cell of a position.
func (c *cells) cell(i int) (row, column int) {
	if c.side == 0 {
		return 0, 0
	}
	return min(int((c.y[i]-c.top)/c.side), c.rows-1), min(int((c.x[i]-c.left)/c.side), c.columns-1)
}

// candidate is a position at a distance.
type candidate struct {
	index    int
	distance float64
}

// nearer orders candidates: of equal distances the first position.
func nearer(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.index, b.index))
}

// rounding keeps positions that rounding has put into the neighbouring cell from being missed.
const rounding = 1e-9

// nearest returns the count positions nearest to one, without it, nearest first and of equal distances the
// first: from squares of cells around it, until no position outside of them can be nearer.
func (c *cells) nearest(at, count int) []int {
	row, column := c.cell(at)
	best := make([]candidate, 0, count+1)
	for ring := 0; ring < max(c.rows, c.columns); ring++ {
		if len(best) == count && best[count-1].distance < float64(ring-1)*c.side*(1-rounding) {
			break
		}
		for r := max(row-ring, 0); r <= min(row+ring, c.rows-1); r++ {
			step := 1
			if r > row-ring && r < row+ring { // only the first and the last cell of the row are on the ring
				step = max(2*ring, 1)
			}
			for k := column - ring; k <= column+ring; k += step {
				if k < 0 || k >= c.columns {
					continue
				}
				for _, i := range c.members[r*c.columns+k] {
					if i != at {
						best = keep(best, candidate{i, math.Hypot(c.x[i]-c.x[at], c.y[i]-c.y[at])}, count)
					}
				}
			}
		}
	}
	all := make([]int, len(best))
	for i, b := range best {
		all[i] = b.index
	}
	return all
}

// keep inserts a candidate into the nearest ones, of which count are kept.
func keep(best []candidate, one candidate, count int) []candidate {
	if len(best) == count && nearer(one, best[count-1]) > 0 {
		return best
	}
	place, _ := slices.BinarySearchFunc(best, one, nearer)
	best = slices.Insert(best, place, one)
	return best[:min(len(best), count)]
}
