package imaging

import (
	"fmt"
	"strconv"

	"prismtop/tui/chart"
	"prismtop/tui/words"
)

// This file declares the scale at which pictures are drawn, and the part of them that is visible.

// scales are the magnifications that + and - switch through, in pixels drawn per pixel of the picture;
// 0 fits the whole picture into its place. A drawn pixel is half a cell, a dot of braille or a pixel
// of the terminal.
var scales = [...]int{0, 1, 2, 4, 8}

// window is a part of a picture as it is drawn: its place in the picture, in pixels, the size of the
// raster and the number of cells.
type window struct {
	x, y, w, h    int
	across, down  int // of the raster, in values
	columns, rows int // on the screen
}

// cropped reports whether a picture of w by h pixels has more than the window.
func (v window) cropped(w, h int) bool { return v.w < w || v.h < h }

// reduced reports whether a value of the raster stands for several pixels.
func (v window) reduced() bool { return v.across < v.w || v.down < v.h }

// window returns the visible part of a picture of iw by ih pixels in a box of w by h cells.
func (p *picture) window(iw, ih, w, h int, way drawing, scale int) window {
	var v window
	cellX, cellY := 1, 2 // pixels of a cell
	switch way {
	case kittyDrawing:
		cellX, cellY = p.graphics.CellSize()
		w, h = min(w, chart.MaxPlaces), min(h, chart.MaxPlaces)
	case brailleDrawing:
		cellX, cellY = 2, 4
	}
	if scale == 0 {
		// Dots keep the size that half blocks have.
		fitX, fitY := cellX, cellY
		if way == brailleDrawing {
			fitX, fitY = 1, 2
		}
		v.w, v.h = iw, ih
		v.across, v.down = chart.Fit(iw, ih, w*fitX, h*fitY)
		v.across, v.down = v.across*(cellX/fitX), v.down*(cellY/fitY)
	} else {
		v.w, v.h = min(iw, max(w*cellX/scale, 1)), min(ih, max(h*cellY/scale, 1))
		if way == kittyDrawing {
			v.w, v.h = min(v.w, p.side()), min(v.h, p.side())
		}
		v.x, v.y = p.corner(iw, v.w, p.middleX), p.corner(ih, v.h, p.middleY)
		v.across, v.down = v.w*scale, v.h*scale
	}
	v.columns, v.rows = (v.across+cellX-1)/cellX, (v.down+cellY-1)/cellY
	switch way {
	case kittyDrawing: // the terminal magnifies what exceeds the longest side
		v.across, v.down = chart.Fit(v.w, v.h, min(p.side(), v.across), min(p.side(), v.down))
		if n := v.across / v.w; n > 0 {
			v.across, v.down = n*v.w, n*v.h
		}
	case asciiDrawing: // a character for two pixels, one above the other
		v.down = v.rows
	}
	return v
}

// corner returns the first of n visible pixels out of all around the middle, a share of the side.
func (p *picture) corner(all, n int, middle float64) int {
	return min(max(int(middle*float64(all))-n/2, 0), all-n)
}

// movable reports whether only a part of the picture is visible.
func (p *picture) movable() bool {
	return p.shown != nil && p.seen.w > 0 && p.view != residualView && p.seen.cropped(p.shown.Width, p.shown.Height)
}

// pan moves the window by a quarter of its size. It reports false if the whole picture is visible.
func (p *picture) pan(dx, dy int) bool {
	if !p.movable() {
		return false
	}
	move := func(middle *float64, all, n, step int) {
		at := min(max(p.corner(all, n, *middle)+step*max(n/4, 1), 0), all-n)
		*middle = (float64(at+n/2) + 0.5) / float64(all)
	}
	move(&p.middleX, p.shown.Width, p.seen.w, dx)
	move(&p.middleY, p.shown.Height, p.seen.h, dy)
	return true
}

// rescale switches to the next scale, or the one before.
func (p *picture) rescale(step int) {
	p.scaled = min(max(p.scaled+step, 0), len(scales)-1)
	p.said = p.of.name + " pane: " + scaleNames[p.scaled]
	if p.scaled > 0 {
		p.said += ", the arrow keys move where it is larger than its place"
	}
}

var scaleNames = [len(scales)]string{"the whole picture, as large as fits", "1:1, every pixel", "2×", "4×", "8×"}

// whereabouts describes the scale of a picture, longest first: how many pixels share a cell, or the
// visible part. It is empty for a whole picture with all its pixels.
func (p *picture) whereabouts(v window, iw, ih int, way drawing) []string {
	if v.reduced() {
		unit, down := "cell", 2*float64(v.h)/float64(v.down)
		switch way {
		case kittyDrawing, brailleDrawing:
			unit, down = "dot", down/2
		case asciiDrawing:
			down /= 2
		}
		size := pixels(float64(v.w)/float64(v.across)) + "×" + pixels(down) + " px"
		return []string{"1 " + unit + " = " + size, size + "/" + unit, size}
	}
	if scales[p.scaled] == 0 {
		return nil
	}
	name := strconv.Itoa(scales[p.scaled]) + "×"
	if scales[p.scaled] == 1 {
		name = "1:1"
	}
	if !v.cropped(iw, ih) {
		return []string{name}
	}
	of := strconv.Itoa(iw)
	if ih != iw {
		of += "×" + strconv.Itoa(ih)
	}
	place := fmt.Sprintf("x %d–%d, y %d–%d", v.x, v.x+v.w-1, v.y, v.y+v.h-1)
	return []string{name + " · " + place + " of " + of, place + " of " + of, name + " " + place,
		fmt.Sprintf("%s %d,%d", name, v.x, v.y), name}
}

// pixels formats a number of pixels with at most one decimal place.
func pixels(n float64) string {
	if n < 9.95 {
		return trimZero(strconv.FormatFloat(n, 'f', 1, 64))
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

func trimZero(s string) string {
	if len(s) > 2 && s[len(s)-2:] == ".0" {
		return s[:len(s)-2]
	}
	return s
}

// scaleNote puts the scale into the upper edge, or where that is too short returns it for the lower one.
func (p *picture) scaleNote(name string, texts []string) (aside, below string) {
	if len(texts) == 0 {
		return name, ""
	}
	room := p.AsideRoom()
	if name != "" {
		if text := words.Fitting(room, name+" · "+texts[0]); text != "" {
			return text, ""
		}
	}
	if text := words.Fitting(room, texts...); text != "" {
		return text, ""
	}
	return "", words.FittingOrLast(p.EdgeRoom()-2, texts...)
}
