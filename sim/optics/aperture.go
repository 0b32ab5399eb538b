package optics

import (
	"context"
	"fmt"
	"math"
)

// ApertureKind names a shape of aperture.
type ApertureKind uint8

// The shapes.
const (
	Circular ApertureKind = iota
	Hexagonal
	Obscured
)

var apertureNames = [...]string{"circular", "hexagonal", "obscured"}

// String returns the shape's name in settings.
func (k ApertureKind) String() string { return apertureNames[k] }

// ParseApertureKind reads a shape's name.
func ParseApertureKind(name string) (ApertureKind, error) {
	for k, n := range apertureNames {
		if n == name {
			return ApertureKind(k), nil
		}
	}
	return 0, fmt.Errorf("aperture = %q: must be circular, hexagonal or obscured", name)
}

// Aperture is a shape in k-space (spec/prism.md §2.3). Lengths are pixels.
type Aperture struct {
	Kind   ApertureKind
	Radius float64 // of the disc; of the hexagon, its side

	// Of the obscured kind: a central obstruction, and Spiders vanes of
	// SpiderWidth at the angles iπ/Spiders; no vanes when either is 0.
	InnerRadius float64
	Spiders     int
	SpiderWidth float64
}

// Validate returns an error if the aperture is impossible on a field of n pixels.
func (a Aperture) Validate(n int) error {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	switch {
	case int(a.Kind) >= len(apertureNames):
		return fmt.Errorf("aperture: unknown kind %d", a.Kind)
	case !(a.Radius > 0) || !finite(a.Radius):
		return fmt.Errorf("radius = %g: must be above 0", a.Radius)
	case a.Radius > float64(n):
		return fmt.Errorf("radius = %g: larger than the field of %d pixels", a.Radius, n)
	case a.Kind != Obscured:
		return nil
	case !(a.InnerRadius >= 0) || a.InnerRadius >= a.Radius:
		return fmt.Errorf("inner_radius = %g: must be 0 or more and below the radius %g", a.InnerRadius, a.Radius)
	case a.Spiders < 0:
		return fmt.Errorf("spiders = %d: must be 0 or more", a.Spiders)
	case !(a.SpiderWidth >= 0) || !finite(a.SpiderWidth):
		return fmt.Errorf("spider_width = %g: must be 0 or more", a.SpiderWidth)
	}
	return nil
}

// extent returns how far the shape reaches from its centre along either axis.
func (a Aperture) extent() float64 {
	if a.Kind == Hexagonal {
		return a.Radius * 2 / math.Sqrt(3)
	}
	return a.Radius
}

// Bounds returns rows and columns of an n×n plane outside which the mask of the
// aperture at centre c is zero.
func (a Aperture) Bounds(c Point, n int) (rows, columns [2]int) {
	// One pixel beyond the extent, to allow for rounding in float32 arithmetic.
	reach := a.extent() + 1
	rows[0], rows[1] = clampRange(c.Y, reach, n)
	columns[0], columns[1] = clampRange(c.X, reach, n)
	return rows, columns
}

// Add sets the pixels inside the aperture at centre c to 1 and leaves the others:
// the union with the mask in dst. dst is an n×n plane, grid is Coordinates(n).
// Arithmetic is float32 as in PRISM, so that the same pixels are inside. The only
// error is that of a context that ends before the last row.
func (a Aperture) Add(ctx context.Context, dst, grid []float32, c Point) error {
	n := len(grid)
	rows, columns := a.Bounds(c, n)
	cy, cx := float32(c.Y), float32(c.X)
	for i := rows[0]; i < rows[1]; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		dy := grid[i] - cy
		row := dst[i*n : (i+1)*n]
		for j := columns[0]; j < columns[1]; j++ {
			if a.inside(dy, grid[j]-cx) {
				row[j] = 1
			}
		}
	}
	return nil
}

// clampRange returns the half-open range of indices within reach of a coordinate.
func clampRange(centre, reach float64, n int) (lo, hi int) {
	at := func(v float64) int { return int(min(max(v, 0), float64(n))) }
	half := float64(n / 2)
	return at(math.Floor(centre-reach) + half), at(math.Ceil(centre+reach) + half + 1)
}

// inside reports whether the pixel at (y, x) from the centre belongs to the shape.
// Products are rounded before they are summed: no fused multiply-add.
func (a Aperture) inside(y, x float32) bool {
	r := float32(a.Radius)
	switch a.Kind {
	case Hexagonal:
		y, x = abs(y), abs(x)
		const root3 = float32(1.7320508075688772)
		return max(x, float32(x/2)+float32(root3*y/2)) <= r
	case Obscured:
		rho2, in := float32(x*x)+float32(y*y), float32(a.InnerRadius)
		return rho2 <= float32(r*r) && rho2 >= float32(in*in) && !a.behindSpider(y, x)
	default:
		return float32(x*x)+float32(y*y) <= float32(r*r)
	}
}

func (a Aperture) behindSpider(y, x float32) bool {
	if a.SpiderWidth == 0 {
		return false
	}
	half := float32(a.SpiderWidth / 2)
	for i := range a.Spiders {
		sin, cos := math.Sincos(float64(i) * math.Pi / float64(a.Spiders))
		if abs(float32(x*float32(sin))-float32(y*float32(cos))) <= half {
			return true
		}
	}
	return false
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// Coordinates returns the pixel coordinates along one axis of n pixels: i − n/2.
func Coordinates(n int) []float32 {
	grid := make([]float32, n)
	fillCoordinates(grid)
	return grid
}

func fillCoordinates(grid []float32) {
	for i := range grid {
		grid[i] = float32(i - len(grid)/2)
	}
}
