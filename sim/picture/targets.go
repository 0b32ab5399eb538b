package picture

import (
	"context"
	"math"
)

// drawUSAF draws a USAF-1951 resolution target (MIL-STD-150A): elements of three
// horizontal and three vertical bars, each five times as long as wide, bright on
// dark; six elements per group, each finer by 2^(1/6) than the previous one. A
// layer holds an even group and the next odd one; the next layer sits in its
// middle at a quarter of the size, down to bars too fine for the pixels.
func drawUSAF(ctx context.Context, side int) []float64 {
	c := canvas{ctx: ctx, side: side, pixels: make([]float64, side*side)}
	margin := 0.06 * float64(side)
	c.layer(margin, margin, float64(side)-2*margin)
	return c.pixels
}

// layerSide is the side of a layer in widths of its first element's bars.
const layerSide = 22.0

// layer draws two groups into the square at x, y and the layers within.
func (c *canvas) layer(x, y, side float64) {
	unit := side / layerSide
	// The even group: elements 2 to 6 down the left side, 1 at the bottom right.
	row := y
	for e := 2; e <= 6; e++ {
		w := unit * elementWidth(e)
		c.element(x, row, w)
		row += 6 * w
	}
	c.element(x+side-elementSpan*unit, y+side-5*unit, unit)
	// The odd group, half the size: down the right side.
	row = y
	for e := 1; e <= 6; e++ {
		w := unit / 2 * elementWidth(e)
		c.element(x+side-elementSpan*w, row, w)
		row += 6 * w
	}
	if unit/4 >= 0.35 { // bars of a third of a pixel or less become uniform grey
		c.layer(x+10.2*unit, y+8.4*unit, side/4)
	}
}

// elementWidth is the bar width of element e of a group whose first is 1.
func elementWidth(e int) float64 { return math.Exp2(-float64(e-1) / 6) }

// elementSpan is the width of an element in bar widths: two squares of five and
// a gap of two.
const elementSpan = 12

// element draws three horizontal bars and, to their right, three vertical ones
// of width w, from the top left corner x, y.
func (c *canvas) element(x, y, w float64) {
	for bar := range 3 {
		offset := 2 * float64(bar) * w
		c.rectangle(x, y+offset, 5*w, w)
		c.rectangle(x+7*w+offset, y, w, 5*w)
	}
}

// canvas is a picture drawn by exact coverage of its pixels, until the context ends.
type canvas struct {
	ctx    context.Context
	side   int
	pixels []float64
}

// rectangle adds each pixel's covered share of the rectangle at x, y, in pixels.
func (c *canvas) rectangle(x, y, w, h float64) {
	limit := float64(c.side)
	x1, y1 := math.Min(x+w, limit), math.Min(y+h, limit)
	for i := int(y); float64(i) < y1 && c.ctx.Err() == nil; i++ {
		rows := math.Min(y1, float64(i+1)) - math.Max(y, float64(i))
		for j := int(x); float64(j) < x1; j++ {
			columns := math.Min(x1, float64(j+1)) - math.Max(x, float64(j))
			c.pixels[i*c.side+j] += rows * columns
		}
	}
}

// starSpokes is the number of bright spokes of the Siemens star.
const starSpokes = 24

// drawStar draws a Siemens star: bright and dark sectors of equal angle, whose
// period shrinks with the radius, in a disc.
func drawStar(ctx context.Context, side int) []float64 {
	return supersample(ctx, side, func(x, y float64) float64 {
		if x*x+y*y > 0.92*0.92 || math.Sin(starSpokes*math.Atan2(y, x)) < 0 {
			return 0
		}
		return 1
	})
}

// drawPoints draws point sources: PRISM's row of four (discs 3 pixels across, 5
// pixels apart, spec/prism.md §8) in the middle, a double star, and single ones
// of falling brightness around.
func drawPoints(ctx context.Context, side int) []float64 {
	type source struct{ x, y, brightness float64 }
	pixel := 2 / float64(side)
	var sources []source
	for k := range 4 {
		sources = append(sources, source{(5*float64(k) - 7.5) * pixel, 0, 1})
	}
	sources = append(sources,
		source{-0.45, -0.5, 1}, source{-0.45 + 4*pixel, -0.5 + 2*pixel, 0.6},
		source{0.5, -0.62, 0.8}, source{0.68, 0.3, 0.5}, source{0.2, 0.66, 0.35}, source{-0.6, 0.45, 0.25})
	radius := 1.5 * pixel
	return supersample(ctx, side, func(x, y float64) float64 {
		light := 0.0
		for _, s := range sources {
			if dx, dy := x-s.x, y-s.y; dx*dx+dy*dy <= radius*radius {
				light = math.Max(light, s.brightness)
			}
		}
		return light
	})
}
