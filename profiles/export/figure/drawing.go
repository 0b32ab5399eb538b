// Package figure draws a run: its charts as SVG, for documents and for a page with both light and dark
// colours, and as PNG. Both are written from one Drawing.
package figure

import "prismtop/profiles/visible"

// Paint is the role of a colour, which a renderer gives its value.
type Paint uint8

// The paints. Curve and Area are followed by those of more curves and areas.
const (
	None Paint = iota
	Paper
	Ink
	Muted
	Grid
	Mark
	Band
	Curve
	Area = Curve + curves
)

// curves is the number of different curves, and of areas. More of them repeat the colours.
const curves = 8

// Anchor is the side of a text that is at its point.
type Anchor uint8

// The anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// point is a point in pixels from the upper left corner.
type point struct{ X, Y float64 }

// shape is a part of a drawing: a text, a line or an area.
type shape struct {
	points []point
	fill   Paint
	stroke Paint
	width  float64   // of the stroke
	dash   []float64 // lengths of dashes and gaps; nil for a solid line
	text   string    // at the first point, if it is not empty
	size   float64   // of the text
	bold   bool
	anchor Anchor
}

// Drawing is a list of shapes that are drawn one over the other.
type Drawing struct {
	Width, Height float64
	Title, About  string // for those who do not see it
	shapes        []shape
}

// text adds a text, with what could not be seen written out, which ends in an ellipsis where it would be
// wider than most. It returns its width.
func (d *Drawing) text(x, y, size, most float64, anchor Anchor, paint Paint, s string) float64 {
	s = fit(visible.Text(s), size, most)
	if s == "" {
		return 0
	}
	d.shapes = append(d.shapes, shape{points: []point{{x, y}}, text: s, size: size, anchor: anchor, fill: paint})
	return textWidth(s, size)
}

// bold makes the newest text bold.
func (d *Drawing) bold() { d.shapes[len(d.shapes)-1].bold = true }

// line adds a line through points. Where a line has fewer than two there is nothing to draw.
func (d *Drawing) line(paint Paint, width float64, dash []float64, points ...point) {
	if len(points) > 1 {
		d.shapes = append(d.shapes, shape{points: points, stroke: paint, width: width, dash: dash})
	}
}

// area adds a filled polygon.
func (d *Drawing) area(paint Paint, points ...point) {
	if len(points) > 2 {
		d.shapes = append(d.shapes, shape{points: points, fill: paint})
	}
}

// rectangle adds a filled rectangle.
func (d *Drawing) rectangle(paint Paint, x, y, w, h float64) {
	d.area(paint, point{x, y}, point{x + w, y}, point{x + w, y + h}, point{x, y + h})
}
