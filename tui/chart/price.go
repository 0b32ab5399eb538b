package chart

// This file estimates the bytes that a change of a raster takes: the changed cells, the
// sequences for their colours, and the cursor moves between them. It mirrors the screen's output
// without producing any: pictures have a byte budget, and several changes are compared for each
// one sent.

// Bytes of cursor moves: to a row, and within it over up to nine cells or more. Up to smallGap
// bytes of cells that look like the preceding one are sent again instead.
const (
	rowBytes  = 8
	stepBytes = 3
	skipBytes = 4
	leapBytes = 5
	smallGap  = 4
)

// glyphBytes is the length of a non-ASCII character.
const glyphBytes = 3

// bill adds up the cost of the cells of one row.
type bill struct {
	r          *Raster
	bytes      int
	x          int // the cursor's column, -1 if it is not in the row
	fore, back int // the current levels, -1 if none
	last       look
}

// look is a cell: the bytes of its character, and the levels of its colours.
type look struct{ bytes, upper, lower int }

// look returns the cell in column x of the row of cells whose values start at row y, according
// to next.
func (r *Raster) look(x, y int) look {
	switch r.form.Way {
	case Ramp:
		return look{bytes: 1}
	case Dots:
		for j := y; j < min(y+4, r.form.H); j++ {
			for i := 2 * x; i < min(2*x+2, r.form.W); i++ {
				if r.next[j*r.form.W+i] != 0 {
					return look{bytes: glyphBytes}
				}
			}
		}
		return look{bytes: 1}
	}
	upper, lower := pair(r.next, r.form, x, y)
	if upper == lower {
		return look{1, upper, lower}
	}
	return look{glyphBytes, upper, lower}
}

// add adds the cell in column x of the row of cells whose values start at row y.
func (b *bill) add(x, y int) {
	now := b.r.look(x, y)
	switch gap := x - b.x; {
	case b.x < 0:
		b.bytes += rowBytes
	case gap == 0:
	case b.alike(y, x):
	case gap == 1:
		b.bytes += stepBytes
	case gap < 10:
		b.bytes += skipBytes
	default:
		b.bytes += leapBytes
	}
	if b.r.form.Way == HalfBlocks {
		b.colour(now)
	}
	b.bytes += now.bytes
	b.x, b.last = x+1, now
}

// alike adds the cells from the cursor to column x if they are few and look like the preceding
// one.
func (b *bill) alike(y, x int) bool {
	sum := 0
	for i := b.x; i < x; i++ {
		at := b.r.look(i, y)
		if sum += at.bytes; sum > smallGap || at.upper != b.last.upper || at.lower != b.last.lower {
			return false
		}
	}
	b.bytes += sum
	return true
}

// colour adds the sequence for those of a half block's colours that are not current. Of a space
// only the background is visible.
func (b *bill) colour(now look) {
	f := b.r.form
	newFore := now.upper != now.lower && now.upper != b.fore
	newBack := now.lower != b.back
	if newFore {
		b.bytes += f.Colors.InkBytes(f.Depth, now.upper)
		b.fore = now.upper
	}
	if newBack {
		b.bytes += f.Colors.InkBytes(f.Depth, now.lower)
		b.back = now.lower
	}
	if newFore || newBack {
		b.bytes += len("\x1b[m")
	}
	if newFore && newBack {
		b.bytes += len(";")
	}
}

// cellRows returns the number of rows of cells of the raster on screen.
func (r *Raster) cellRows() int {
	if r.form.Way == Values {
		return 0
	}
	_, down := r.form.Way.Grain()
	return (r.form.H + down - 1) / down
}

// cost estimates the bytes of the change from levels to next.
func (r *Raster) cost() int {
	sum := 0
	for y := range r.cellRows() {
		sum += r.rowCost(y, false)
	}
	return sum
}

// Whole estimates the bytes for drawing the whole raster.
func (r *Raster) Whole() int {
	sum := 0
	for y := range r.cellRows() {
		sum += r.rowCost(y, true)
	}
	return sum
}

// rowCost estimates the bytes of one row of cells, either all or only those that change.
func (r *Raster) rowCost(row int, all bool) int {
	across, down := r.form.Way.Grain()
	b := bill{r: r, x: -1, fore: -1, back: -1}
	for x := range (r.form.W + across - 1) / across {
		if all || r.cellChanges(x*across, row*down, across, down) {
			b.add(x, row*down)
		}
	}
	return b.bytes
}

func (r *Raster) cellChanges(x, y, across, down int) bool {
	for j := y; j < min(y+down, r.form.H); j++ {
		for i := x; i < min(x+across, r.form.W); i++ {
			if r.levels[j*r.form.W+i] != r.next[j*r.form.W+i] {
				return true
			}
		}
	}
	return false
}

// Limit removes rows from the last Plan until it takes at most most bytes, and returns its cost.
// All rows take turns.
func (r *Raster) Limit(most int) int {
	sum, rows := 0, r.cellRows()
	_, down := r.form.Way.Grain()
	full := false
	for n := range rows {
		y := (r.turn + n) % rows
		cost := r.rowCost(y, false)
		if !full && sum+cost <= most {
			sum += cost
			continue
		}
		if !full {
			full, r.turn = true, y
		}
		from, to := y*down*r.form.W, min((y+1)*down, r.form.H)*r.form.W
		copy(r.next[from:to], r.levels[from:to])
	}
	return sum
}
