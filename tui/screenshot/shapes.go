package screenshot

import "math"

// shape reports whether a point of a cell, in pixels from its upper left, is ink.
type shape func(x, y float64) bool

// Centre of a cell, and half the width of a line.
const (
	midX, midY = cellWidth / 2.0, cellHeight / 2.0
	half       = 0.7
)

func across(x0, x1 float64) shape {
	return func(x, y float64) bool { return math.Abs(y-midY) < half && x >= x0 && x <= x1 }
}

func down(y0, y1 float64) shape {
	return func(x, y float64) bool { return math.Abs(x-midX) < half && y >= y0 && y <= y1 }
}

func either(a ...shape) shape {
	return func(x, y float64) bool {
		for _, s := range a {
			if s(x, y) {
				return true
			}
		}
		return false
	}
}

// box returns the rectangle between two corners.
func box(x0, y0, x1, y1 float64) shape {
	return func(x, y float64) bool { return x >= x0 && x <= x1 && y >= y0 && y <= y1 }
}

// arc returns a quarter of a circle that joins a horizontal and a vertical line; right and below
// are the directions of these lines.
func arc(right, below bool) shape {
	const r = midX
	sx, sy := 1.0, 1.0
	if !right {
		sx = -1
	}
	if !below {
		sy = -1
	}
	return func(x, y float64) bool {
		x, y = (x-midX)*sx, (y-midY)*sy // the lines run to +x and +y
		if x > r-half && math.Abs(y) < half || y > r-half && math.Abs(x) < half {
			return x >= -half && y >= -half
		}
		return x < r && y < r && math.Abs(math.Hypot(x-r, y-r)-r) < half
	}
}

func disc(cx, cy, r0, r1 float64) shape {
	return func(x, y float64) bool {
		d := math.Hypot(x-cx, y-cy)
		return d >= r0 && d <= r1
	}
}

// stroke returns a straight line between two points.
func stroke(x0, y0, x1, y1 float64) shape {
	return func(x, y float64) bool {
		dx, dy := x1-x0, y1-y0
		t := min(max(((x-x0)*dx+(y-y0)*dy)/(dx*dx+dy*dy), 0), 1)
		return math.Hypot(x-x0-t*dx, y-y0-t*dy) < half+0.2
	}
}

var shapes = map[rune]shape{
	'─': across(0, cellWidth), '│': down(0, cellHeight),
	'╭': arc(true, true), '╮': arc(false, true), '╰': arc(true, false), '╯': arc(false, false),
	'┤': either(down(0, cellHeight), across(0, midX)), '├': either(down(0, cellHeight), across(midX, cellWidth)),
	'╌': either(across(1, 4), across(6, 9)),
	'┊': either(down(1, 4), down(6, 9), down(11, 14), down(16, 19)),
	'█': box(0, 0, cellWidth, cellHeight), '▀': box(0, 0, cellWidth, midY), '▄': box(0, midY, cellWidth, cellHeight),
	'●': disc(midX, midY, 0, 3.8), '○': disc(midX, midY, 2.6, 3.8),
	'◌': func(x, y float64) bool {
		a := math.Mod(math.Atan2(y-midY, x-midX)+2*math.Pi, math.Pi/4)
		return disc(midX, midY, 2.6, 3.8)(x, y) && a < math.Pi/8
	},
	'✓': either(stroke(1.5, 10.5, 4, 14), stroke(4, 14, 8.5, 5.5)),
	'✗': either(stroke(2, 6, 8, 14), stroke(8, 6, 2, 14)),
	'‖': either(box(2, 5, 4, 15), box(6, 5, 8, 15)),
	'▸': func(x, y float64) bool { return x < 8 && x > 1 && math.Abs(y-midY) < (8-x)*0.7 },
	'⇧': either(stroke(5, 4, 1.5, 9), stroke(5, 4, 8.5, 9), stroke(1.5, 9, 3.4, 9), stroke(6.6, 9, 8.5, 9),
		stroke(3.4, 9, 3.4, 15), stroke(6.6, 9, 6.6, 15), stroke(3.4, 15, 6.6, 15)),
	'▴': func(x, y float64) bool { return y < 8 && y > 1 && math.Abs(x-midX) < (y-1)*0.6 },
}

// shapeOf returns the shape of a rune drawn as a shape, or nil.
func shapeOf(r rune) shape {
	switch {
	case r > 0x2800 && r <= 0x28ff:
		return braille(uint8(r))
	case r >= 0x2581 && r <= 0x2588: // lower eighths
		top := cellHeight * (1 - float64(r-0x2580)/8)
		return box(0, top, cellWidth, cellHeight)
	case r >= 0x2589 && r <= 0x258f: // left eighths
		return box(0, 0, cellWidth*float64(0x2590-r)/8, cellHeight)
	}
	return shapes[r]
}

// braille returns the dots of a pattern, 2 across and 4 down.
func braille(pattern uint8) shape {
	bits := [4][2]uint{{0, 3}, {1, 4}, {2, 5}, {6, 7}}
	return func(x, y float64) bool {
		i, j := int(x/midX), int(y/(cellHeight/4))
		if i > 1 || j > 3 || pattern>>bits[j][i]&1 == 0 {
			return false
		}
		return math.Hypot(x-(float64(i)+0.5)*midX, y-(float64(j)+0.5)*cellHeight/4) < 1.8
	}
}
