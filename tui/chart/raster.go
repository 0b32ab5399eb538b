package chart

import (
	"bytes"
	"math"

	"prismtop/tui/theme"
)

// Way is how a raster's values become characters.
type Way uint8

// The ways.
const (
	HalfBlocks Way = iota // two values a cell, one above the other, as colours
	Dots                  // 2x4 values a cell, as braille dots, dithered
	Ramp                  // one value a cell, as a character of more or less ink
	Values                // none: the levels are for a picture that the terminal draws
)

// Grain is how many values a cell has across and down.
func (w Way) Grain() (across, down int) {
	switch w {
	case HalfBlocks:
		return 1, 2
	case Dots:
		return 2, 4
	}
	return 1, 1
}

// ramp are characters from dark to light.
const ramp = " .:-=+*#%@"

// bayer is the 4x4 ordered-dither matrix. Ordered dithering keeps still what is
// still.
var bayer = [4][4]float64{{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}}

// ditherSteps is how many greys the matrix makes.
const ditherSteps = 16

// Raster is a picture reduced to levels that characters can show, and what it
// looked like before: a level only changes when the value has left it by more
// than a band, so that noise does not repaint the picture.
type Raster struct {
	way    Way
	colors theme.Map
	w, h   int
	top    int // the highest level
	values []float32
	levels []uint8
	next   []uint8 // the levels that Plan found
	turn   int     // the row that Limit begins with
}

// Sharp is the narrowest band, in levels: half of one is the border to the next,
// the rest keeps noise on the border from flipping it.
const Sharp = 0.65

// Sample takes the picture's values for a raster of w by h of them, drawn in
// such a way. Where that is not how the raster was drawn before, the levels
// follow at once, and fresh is true.
func (r *Raster) Sample(p Image, way Way, colors theme.Map, w, h, levels int) (fresh bool) {
	fresh = !r.Is(way, colors, w, h, levels)
	if fresh {
		n := max(w, 0) * max(h, 0)
		*r = Raster{way: way, colors: colors, w: w, h: h, top: levels - 1,
			values: make([]float32, n), levels: make([]uint8, n), next: make([]uint8, n)}
	}
	valid := p.Valid()
	for y := range h {
		for x := range w {
			v := 0.0
			if valid {
				v = p.sample(x, y, w, h)
			}
			i := y*w + x
			r.values[i] = float32(v)
			if fresh {
				r.levels[i] = r.level(x, y, v)
				r.next[i] = r.levels[i]
			}
		}
	}
	return fresh
}

// Is says whether the raster was last sampled so.
func (r *Raster) Is(way Way, colors theme.Map, w, h, levels int) bool {
	return r.way == way && r.colors == colors && r.w == w && r.h == h && r.top == levels-1
}

// level is a value's level at (x,y), whatever it was.
func (r *Raster) level(x, y int, v float64) uint8 {
	if r.way == Dots {
		if v*ditherSteps > bayer[y%4][x%4]+0.5 {
			return 1
		}
		return 0
	}
	return uint8(math.Round(v * float64(r.top)))
}

// Plan finds the levels for a band, without taking them, and returns about how
// many bytes the change costs on the wire.
func (r *Raster) Plan(band float64) int {
	for i, v := range r.values {
		x, y := i%r.w, i/r.w
		r.next[i] = r.levels[i]
		switch r.way {
		case Dots:
			// Half of a step on either side, less the half that Sharp includes.
			off := float64(v)*ditherSteps - (bayer[y%4][x%4] + 0.5)
			if math.Abs(off) > band-0.5 {
				r.next[i] = r.level(x, y, float64(v))
			}
		default:
			if math.Abs(float64(v)*float64(r.top)-float64(r.levels[i])) > band {
				r.next[i] = r.level(x, y, float64(v))
			}
		}
	}
	return r.cost()
}

// Adopt takes the levels of the last Plan.
func (r *Raster) Adopt() { copy(r.levels, r.next) }

// Whole is about how many bytes it costs to draw all of it.
func (r *Raster) Whole() int {
	sum := 0
	across, down := r.way.Grain()
	for y := range r.cellRows() {
		sum += moveBytes + r.rowBytes(y*down, 0, (r.w+across-1)/across-1)
	}
	return sum
}

// Changes says whether the last Plan changes a level.
func (r *Raster) Changes() bool { return !bytes.Equal(r.levels, r.next) }

// Size is the raster's size in values.
func (r *Raster) Size() (w, h int) { return r.w, r.h }

// Levels are the levels as shown, row by row, and the highest there is.
func (r *Raster) Levels() (levels []uint8, top int) { return r.levels, r.top }

// The bytes of what a change is made of: a move of the cursor, a sequence for one
// colour and one for two, a character beyond ASCII.
const (
	moveBytes  = 7
	colorBytes = 11
	pairBytes  = 20
	glyphBytes = 3
)

// cost is about what the change from levels to next costs. Bubble Tea's renderer
// writes a row from its first changed cell to its last.
func (r *Raster) cost() int {
	sum := 0
	for y := range r.cellRows() {
		sum += r.rowCost(y)
	}
	return sum
}

// cellRows is how many rows of cells the raster has on screen.
func (r *Raster) cellRows() int {
	if r.way == Values {
		return 0
	}
	_, down := r.way.Grain()
	return (r.h + down - 1) / down
}

// rowCost is the cost of one row of cells.
func (r *Raster) rowCost(y int) int {
	across, down := r.way.Grain()
	first, last := -1, -1
	for x := range (r.w + across - 1) / across {
		if r.cellChanges(x*across, y*down, across, down) {
			if first < 0 {
				first = x
			}
			last = x
		}
	}
	if first < 0 {
		return 0
	}
	return moveBytes + r.rowBytes(y*down, first, last)
}

// Limit takes rows out of the last Plan until it costs at most so many bytes, and
// returns what it costs. Every row has its turn.
func (r *Raster) Limit(most int) int {
	sum, rows := 0, r.cellRows()
	_, down := r.way.Grain()
	full := false
	for n := range rows {
		y := (r.turn + n) % rows
		cost := r.rowCost(y)
		if !full && sum+cost <= most {
			sum += cost
			continue
		}
		if !full {
			full, r.turn = true, y
		}
		from, to := y*down*r.w, min((y+1)*down, r.h)*r.w
		copy(r.next[from:to], r.levels[from:to])
	}
	return sum
}

func (r *Raster) cellChanges(x, y, across, down int) bool {
	for j := y; j < min(y+down, r.h); j++ {
		for i := x; i < min(x+across, r.w); i++ {
			if r.levels[j*r.w+i] != r.next[j*r.w+i] {
				return true
			}
		}
	}
	return false
}

// rowBytes is the cost of the cells first to last of the row of cells whose
// values begin at row y.
func (r *Raster) rowBytes(y, first, last int) int {
	switch r.way {
	case Dots:
		return glyphBytes * (last - first + 1)
	case Ramp:
		return last - first + 1
	}
	sum, fore, back := 0, -1, -1
	for x := first; x <= last; x++ {
		upper, lower := int(r.next[y*r.w+x]), 0
		if y+1 < r.h {
			lower = int(r.next[(y+1)*r.w+x])
		}
		glyph, f := glyphBytes, upper
		if upper == lower {
			glyph, f = 1, -1
		}
		switch {
		case f != fore && lower != back && f >= 0:
			sum += pairBytes
		case f != fore || lower != back:
			sum += colorBytes
		}
		sum, fore, back = sum+glyph, f, lower
	}
	return sum
}

// Draw draws the levels from cell (x,y) on.
func (r *Raster) Draw(c *Canvas, x, y int) {
	switch r.way {
	case HalfBlocks:
		r.drawHalves(c, x, y)
	case Dots:
		for i, v := range r.levels {
			if v != 0 {
				c.Dot(2*x+i%r.w, 4*y+i/r.w, theme.Plain)
			}
		}
	case Ramp:
		for i, v := range r.levels {
			c.Set(x+i%r.w, y+i/r.w, rune(ramp[min(int(v)*(len(ramp)-1)/max(r.top, 1), len(ramp)-1)]), theme.Plain)
		}
	}
}

func (r *Raster) drawHalves(c *Canvas, x, y int) {
	for j := 0; j < r.h; j += 2 {
		for i := range r.w {
			upper := int(r.levels[j*r.w+i])
			lower := 0
			if j+1 < r.h {
				lower = int(r.levels[(j+1)*r.w+i])
			}
			glyph := '▀'
			if upper == lower {
				glyph = ' '
			}
			c.Set(x+i, y+j/2, glyph, theme.Shade(r.colors, upper, lower))
		}
	}
}

// RampLevels is how many levels the characters of Ramp have.
const RampLevels = len(ramp)
