package chart

import (
	"bytes"
	"math"

	"prismtop/tui/theme"
)

// Way is the way in which a raster's values become characters.
type Way uint8

// The ways.
const (
	HalfBlocks Way = iota // two values per cell, one above the other, as colours
	Dots                  // 2x4 values per cell, as braille dots, dithered
	Ramp                  // one value per cell, as a character of more or less ink
	Values                // no characters: levels for a picture drawn by the terminal
)

// Grain returns the number of values per cell, across and down.
func (w Way) Grain() (across, down int) {
	switch w {
	case HalfBlocks:
		return 1, 2
	case Dots:
		return 2, 4
	}
	return 1, 1
}

// ramp lists characters from dark to light.
const ramp = " .:-=+*#%@"

// bayer is the 4x4 ordered-dither matrix. Ordered dithering leaves unchanged parts of a picture
// unchanged.
var bayer = [4][4]float64{{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}}

// ditherSteps is the number of greys that the matrix produces.
const ditherSteps = 16

// Form specifies how a raster is drawn, and its size in values.
type Form struct {
	Way    Way
	Colors theme.Map   // for half blocks and values
	Depth  theme.Depth // for half blocks
	W, H   int
}

// Levels returns the number of levels of the form. Values have as many as with 24-bit colour,
// since the terminal draws them itself.
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

// Raster is a picture reduced to levels that characters can show. It has hysteresis: a level
// changes only when the value has left it by more than a band, so that noise does not repaint
// the picture.
type Raster struct {
	form   Form
	top    int // the highest level
	values []float32
	levels []uint8
	next   []uint8 // the levels found by Plan
	turn   int     // the row that Limit starts with
}

// Sharp is the narrowest band, in levels: half a level is the border to the next one, and the
// rest keeps noise at the border from flipping the level.
const Sharp = 0.65

// Sample takes the picture's values for a raster of form f. If the form changed, the levels are
// set at once and fresh is true.
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

// Form returns the form of the last Sample.
func (r *Raster) Form() Form { return r.form }

// Narrowest returns the narrowest band for a changing picture, in levels: it suppresses noise of
// half a level on either side of a border. With fine levels it is two of 63, where with the
// palette's it is one of 23.
func (r *Raster) Narrowest() float64 { return max(1, float64(r.top)/32) }

// Widest returns the widest band, in levels, at which the picture is still recognizable.
func (r *Raster) Widest() float64 { return max(4, float64(r.top)/7) }

// level returns the level of a value at (x,y) without hysteresis.
func (r *Raster) level(x, y int, v float64) uint8 {
	if r.form.Way == Dots {
		if v*ditherSteps > bayer[y%4][x%4]+0.5 {
			return 1
		}
		return 0
	}
	return uint8(math.Round(v * float64(r.top)))
}

// Plan determines the levels for a band without adopting them, and estimates the bytes needed to
// show them.
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

// left reports whether value i, at (x,y), has left the displayed level by more than a band. With
// characters, black and white values always have: no value lies farther out, so that ink drawn
// earlier would stay forever, as a grid of dots on a dark background.
func (r *Raster) left(i, x, y int, v, band float64) bool {
	at, end := v*float64(r.top), float64(r.top)
	away := math.Abs(at - float64(r.levels[i]))
	switch r.form.Way {
	case Dots:
		// Half a step on either side, minus the half included in Sharp.
		at, end = v*ditherSteps, ditherSteps
		away = math.Abs(at-(bayer[y%4][x%4]+0.5)) + 0.5
	case Ramp:
	default:
		return away > band
	}
	return away > band || at < endBand || at > end-endBand
}

// endBand is the distance from black or white within which a value counts as such, in levels.
const endBand = 0.25

// Adopt takes the levels of the last Plan.
func (r *Raster) Adopt() { copy(r.levels, r.next) }

// Changes reports whether the last Plan changes any level.
func (r *Raster) Changes() bool { return !bytes.Equal(r.levels, r.next) }

// Size returns the raster's size in values.
func (r *Raster) Size() (w, h int) { return r.form.W, r.form.H }

// Levels returns the displayed levels, row by row, and the highest possible one.
func (r *Raster) Levels() (levels []uint8, top int) { return r.levels, r.top }

// Draw draws the levels from cell (x,y).
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
			shade := theme.Shade(r.form.Colors, upper, lower)
			if r.form.Depth < theme.TrueColor {
				shade = shade.Coarse()
			}
			c.Set(x+i, y+j/2, glyph, shade)
		}
	}
}

// pair returns the two levels of the half block whose upper pixel is (x,y). A picture of odd
// height ends in a row of full cells.
func pair(levels []uint8, f Form, x, y int) (upper, lower int) {
	upper = int(levels[y*f.W+x])
	if y+1 == f.H {
		return upper, upper
	}
	return upper, int(levels[(y+1)*f.W+x])
}
