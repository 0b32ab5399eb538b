package chart

import (
	"math"

	"prismtop/tui/theme"
)

// Image is a grey picture, row by row. Values from 0 to White are drawn from
// black to white; what is not finite is black.
type Image struct {
	Width, Height int
	Pixels        []float32
	White         float32
}

// Valid says whether the picture has as many pixels as it says, at least one.
func (p Image) Valid() bool {
	return p.Width > 0 && p.Height > 0 && len(p.Pixels) == p.Width*p.Height
}

// Fit is the size in square pixels at which a w:h picture fills a box of so
// many columns and rows of half-cell pixels without changing its shape.
func Fit(w, h, columns, rows int) (pw, ph int) {
	if w <= 0 || h <= 0 || columns <= 0 || rows <= 0 {
		return 0, 0
	}
	if w*rows <= h*columns {
		return max(1, w*rows/h), rows
	}
	return columns, max(1, h*columns/w)
}

// sample is the mean grey, 0 to 1, of the part of the picture that pixel (x,y)
// of a w by h raster covers.
func (p Image) sample(x, y, w, h int) float64 {
	x0, x1 := x*p.Width/w, max((x+1)*p.Width/w, x*p.Width/w+1)
	y0, y1 := y*p.Height/h, max((y+1)*p.Height/h, y*p.Height/h+1)
	sum, n := 0.0, 0
	for j := y0; j < min(y1, p.Height); j++ {
		for _, v := range p.Pixels[j*p.Width+x0 : j*p.Width+min(x1, p.Width)] {
			sum += finite(float64(v), 0)
			n++
		}
	}
	if n == 0 || !(p.White > 0) {
		return 0
	}
	return min(max(sum/float64(n)/float64(p.White), 0), 1)
}

// Greys is a picture reduced to the theme's grey levels, and what it looked
// like before: a level only changes when the value has left it by more than a
// little, so that noise does not repaint the picture.
type Greys struct {
	w, h   int
	levels []uint8
}

// stickiness is how far beyond the border between two levels a value must be to
// change level, as a share of a level.
const stickiness = 0.15

// Update resamples the picture to w by h levels.
func (g *Greys) Update(p Image, w, h int) {
	fresh := g.w != w || g.h != h
	if fresh {
		g.w, g.h, g.levels = w, h, make([]uint8, w*h)
	}
	if !p.Valid() {
		clear(g.levels)
		return
	}
	for y := range h {
		for x := range w {
			v := p.sample(x, y, w, h) * (theme.GreyLevels - 1)
			old := float64(g.levels[y*w+x])
			if fresh || math.Abs(v-old) > 0.5+stickiness {
				g.levels[y*w+x] = uint8(math.Round(v))
			}
		}
	}
}

// Draw draws the levels as half blocks from (x,y) on, two rows to a cell.
func (g *Greys) Draw(c *Canvas, x, y int) {
	for j := 0; j < g.h; j += 2 {
		for i := range g.w {
			upper := int(g.levels[j*g.w+i])
			lower := 0
			if j+1 < g.h {
				lower = int(g.levels[(j+1)*g.w+i])
			}
			r := '▀'
			if upper == lower {
				r = ' '
			}
			c.Set(x+i, y+j/2, r, theme.Grey(upper, lower))
		}
	}
}

// bayer is the 4x4 ordered-dither matrix.
var bayer = [4][4]float64{{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}}

// Dither draws the picture as braille dots over w by h half-cell pixels (w
// columns, h/2 rows) from (x,y) on. Ordered dithering keeps still what is still.
func (p Image) Dither(c *Canvas, x, y, w, h int) {
	if !p.Valid() {
		return
	}
	for j := range 2 * h {
		for i := range 2 * w {
			if p.sample(i, j, 2*w, 2*h) > (bayer[j%4][i%4]+0.5)/16 {
				c.Dot(2*x+i, 4*y+j, theme.Plain)
			}
		}
	}
}

// ramp are characters from dark to light.
const ramp = " .:-=+*#%@"

// Ramp draws the picture by characters of growing ink, one for two half-cell
// pixels, for terminals without braille.
func (p Image) Ramp(c *Canvas, x, y, w, h int) {
	if !p.Valid() {
		return
	}
	for j := range h / 2 {
		for i := range w {
			v := p.sample(i, j, w, h/2)
			c.Set(x+i, y+j, rune(ramp[int(math.Round(v*float64(len(ramp)-1)))]), theme.Plain)
		}
	}
}
