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

// Form is how a raster is drawn, and its size in values.
type Form struct {
	Way    Way
	Colors theme.Map   // of half blocks and values
	Depth  theme.Depth // of half blocks
	W, H   int
}

// Levels is how many levels the form tells apart. Values have as many as 24-bit
// colours, on a terminal that draws them itself.
func (f Form) Levels() int {
	switch f.Way {
	case Dots:
		return 2
	case Ramp:
		return len(ramp)
	case Values:
		return f.Colors.Levels(theme.TrueColor)
	}
	return f.Colors.Levels(f.Depth)
}

// Raster is a picture reduced to levels that characters can show, and what it
// looked like before: a level only changes when the value has left it by more
// than a band, so that noise does not repaint the picture.
type Raster struct {
	form   Form
	top    int // the highest level
	values []float32
	levels []uint8
	next   []uint8 // the levels that Plan found
	turn   int     // the row that Limit begins with
}

// Sharp is the narrowest band, in levels: half of one is the border to the next,
// the rest keeps noise on the border from flipping it.
const Sharp = 0.65

// Sample takes the picture's values for a raster of such a form. Where that is not
// how the raster was drawn before, the levels follow at once, and fresh is true.
func (r *Raster) Sample(p Image, f Form) (fresh bool) {
	fresh = r.form != f
	if fresh {
		n := max(f.W, 0) * max(f.H, 0)
		*r = Raster{form: f, top: f.Levels() - 1,
			values: make([]float32, n), levels: make([]uint8, n), next: make([]uint8, n)}
	}
	valid := p.Valid()
	for y := range f.H {
		for x := range f.W {
			v := 0.0
			if valid {
				v = p.sample(x, y, f.W, f.H)
			}
			i := y*f.W + x
			r.values[i] = float32(v)
			if fresh {
				r.levels[i] = r.level(x, y, v)
				r.next[i] = r.levels[i]
			}
		}
	}
	return fresh
}

// Form is how the raster was last sampled.
func (r *Raster) Form() Form { return r.form }

// Narrowest is the narrowest band for a picture that goes on changing, in levels:
// it keeps noise of half a level on either side of a border from being sent. Fine
// levels have two of 63 where the palette's have one of 23.
func (r *Raster) Narrowest() float64 { return max(1, float64(r.top)/32) }

// Widest is the widest band that still says something about the picture, in levels.
func (r *Raster) Widest() float64 { return max(4, float64(r.top)/7) }

// level is a value's level at (x,y), whatever it was.
func (r *Raster) level(x, y int, v float64) uint8 {
	if r.form.Way == Dots {
		if v*ditherSteps > bayer[y%4][x%4]+0.5 {
			return 1
		}
		return 0
	}
	return uint8(math.Round(v * float64(r.top)))
}

// Plan finds the levels for a band, without taking them, and returns about how
// many bytes it takes to show them.
func (r *Raster) Plan(band float64) int {
	for i, v := range r.values {
		x, y := i%r.form.W, i/r.form.W
		r.next[i] = r.levels[i]
		if r.left(i, x, y, float64(v), band) {
			r.next[i] = r.level(x, y, float64(v))
		}
	}
	return r.cost()
}

// left says whether value i, at (x,y), has left the level that is shown by more than a
// band. Of characters black and white always have: no value is farther out, and ink that
// was once there would stay for good, as a grid of dots on a dark ground.
func (r *Raster) left(i, x, y int, v, band float64) bool {
	at, end := v*float64(r.top), float64(r.top)
	away := math.Abs(at - float64(r.levels[i]))
	switch r.form.Way {
	case Dots:
		// Half of a step on either side, less the half that Sharp includes.
		at, end = v*ditherSteps, ditherSteps
		away = math.Abs(at-(bayer[y%4][x%4]+0.5)) + 0.5
	case Ramp:
	default:
		return away > band
	}
	return away > band || at < endBand || at > end-endBand
}

// endBand is how near black and white a value counts as such, in levels.
const endBand = 0.25

// Adopt takes the levels of the last Plan.
func (r *Raster) Adopt() { copy(r.levels, r.next) }

// Changes says whether the last Plan changes a level.
func (r *Raster) Changes() bool { return !bytes.Equal(r.levels, r.next) }

// Size is the raster's size in values.
func (r *Raster) Size() (w, h int) { return r.form.W, r.form.H }

// Levels are the levels as shown, row by row, and the highest there is.
func (r *Raster) Levels() (levels []uint8, top int) { return r.levels, r.top }

// Draw draws the levels from cell (x,y) on.
func (r *Raster) Draw(c *Canvas, x, y int) {
	switch r.form.Way {
	case HalfBlocks:
		r.drawHalves(c, x, y)
	case Dots:
		for i, v := range r.levels {
			if v != 0 {
				c.Dot(2*x+i%r.form.W, 4*y+i/r.form.W, theme.Plain)
			}
		}
	case Ramp:
		for i, v := range r.levels {
			c.Set(x+i%r.form.W, y+i/r.form.W, rune(ramp[v]), theme.Plain)
		}
	}
}

func (r *Raster) drawHalves(c *Canvas, x, y int) {
	for j := 0; j < r.form.H; j += 2 {
		for i := range r.form.W {
			upper, lower := pair(r.levels, r.form, i, j)
			glyph := '▀'
			if upper == lower {
				glyph = ' '
			}
			c.Set(x+i, y+j/2, glyph, theme.Shade(r.form.Colors, upper, lower))
		}
	}
}

// pair is the two levels of the half block whose upper pixel is (x,y). A picture of
// an odd height ends in a row as high as a cell.
func pair(levels []uint8, f Form, x, y int) (upper, lower int) {
	upper = int(levels[y*f.W+x])
	if y+1 == f.H {
		return upper, upper
	}
	return upper, int(levels[(y+1)*f.W+x])
}
