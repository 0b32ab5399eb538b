package imaging

import (
	"slices"

	"prismtop/tui/pane"
	"prismtop/tui/theme"
)

// The ways to draw a picture, which of them the terminal can, and the keys of the panes of pictures.

// drawing is a way to draw pictures.
type drawing uint8

// The ways to draw, in the order in which i switches through them.
const (
	autoDrawing drawing = iota // the best way for the terminal and the line
	kittyDrawing
	halfDrawing
	brailleDrawing
	asciiDrawing
	noDrawing
	numDrawings
)

var drawingNames = [numDrawings]string{"auto", "Kitty graphics", "half blocks", "braille", "characters", "off"}

// drawing returns the way in which the picture is drawn, and why it is not the requested one if
// that is not possible.
func (p *picture) drawing() (way drawing, refused string) {
	switch p.wanted {
	case kittyDrawing:
		refused = p.noKitty()
		if refused == "" || p.graphics.MayDraw() && p.coloursImages() == "" {
			return kittyDrawing, ""
		}
	case halfDrawing:
		if p.Theme.Pictures() {
			return halfDrawing, ""
		}
		refused = "they need 256 colours"
		if p.Theme.ASCII {
			refused = "the screen is ASCII"
		}
	case brailleDrawing:
		if !p.Theme.ASCII {
			return brailleDrawing, ""
		}
		refused = "the screen is ASCII"
	case asciiDrawing, noDrawing:
		return p.wanted, ""
	}
	return p.best(), refused
}

// best returns the way that auto selects.
func (p *picture) best() drawing {
	switch {
	case p.Theme.ASCII:
		return asciiDrawing
	case p.pace.Low() || !p.Theme.Pictures():
		return brailleDrawing
	case p.noKitty() == "":
		return kittyDrawing
	}
	return halfDrawing
}

// noKitty explains why the terminal does not draw pictures itself; "" if it does.
func (p *picture) noKitty() string {
	if why := p.coloursImages(); why != "" {
		return why
	}
	if !p.graphics.Draws() {
		return p.graphics.Reason()
	}
	return ""
}

// coloursImages explains why pictures cannot be addressed, which is done by colour; "" if they
// can.
func (p *picture) coloursImages() string {
	switch {
	case p.Theme.ASCII:
		return "the screen is ASCII"
	case p.Theme.Depth < theme.Colors256:
		return "its places need 256 colours"
	}
	return ""
}

// Press handles v, which switches the view, + and -, which switch the scale, the arrow keys, which
// move a part of the picture, x, which switches the colours, and i, which switches the way of drawing.
func (p *picture) Press(key string) bool {
	switch {
	case key == "v" && p.of.truth != "":
		p.view = (p.view + 1) % numPictureViews
		if p.view == residualView && !p.of.residual {
			p.view = sideBySide
		}
		p.said = p.of.name + " pane: " + [numPictureViews]string{
			"side by side, as far as there is room", "the reconstruction", "the truth", "the difference from the truth",
			"the spectrum of the difference"}[p.view]
	case key == "+" || key == "=":
		p.rescale(1)
	case key == "-" || key == "_":
		p.rescale(-1)
	case key == "left":
		return p.panned(-1, 0)
	case key == "right":
		return p.panned(1, 0)
	case key == "up":
		return p.panned(0, -1)
	case key == "down":
		return p.panned(0, 1)
	case key == "x":
		p.recolour()
	case key == "i":
		p.wanted = (p.wanted + 1) % numDrawings
		way, refused := p.drawing()
		p.said = "pictures: " + drawingNames[p.wanted]
		switch {
		case refused != "":
			p.said = "no " + drawingNames[p.wanted] + ": " + refused + "; pictures: " + drawingNames[way]
		case p.wanted == autoDrawing:
			p.said += ", " + drawingNames[way]
		}
	default:
		return false
	}
	p.Stale = true
	return true
}

// panned moves the visible part; false leaves the key to others.
func (p *picture) panned(dx, dy int) bool {
	moved := p.pan(dx, dy)
	p.Stale = p.Stale || moved
	return moved
}

// recolour switches the colours: whether a difference shown alone is signed, otherwise the
// colour map.
func (p *picture) recolour() {
	way, _ := p.drawing()
	if !p.coloured(way) {
		p.said = "no colour maps: " + drawingNames[way] + " have no colours"
		return
	}
	if p.view == differenceView {
		p.size = !p.size
		p.said = "difference: blue below the truth, orange above"
		if p.size {
			p.said = "difference: its magnitude"
		}
		return
	}
	p.colors = (p.colors + 1) % theme.Diverging
	p.said = "colours: " + [2]string{"grey", "viridis"}[p.colors]
}

// Tell reports the effect of the last key, once.
func (p *picture) Tell() string {
	said := p.said
	p.said = ""
	return said
}

// Hints returns the keys of Press.
func (p *picture) Hints() []pane.Hint {
	var all []pane.Hint
	if p.of.truth != "" {
		all = append(all, pane.Hint{Key: "v", Does: "truth, error"})
	}
	all = append(all, pane.Hint{Key: "+-", Does: "scale"})
	if p.movable() {
		all = append(all, pane.Hint{Key: "←↑↓→", Does: "move"})
	}
	return append(all, pane.Hint{Key: "x", Does: "colours"}, pane.Hint{Key: "i", Does: "way of drawing"})
}

// Explain describes the pictures.
func (p *picture) Explain() []string {
	all := slices.Concat(explanations.Of(p.of.name), explanations.Of("pictures"))
	if p.of.truth != "" {
		all = append(all, explanations.Of("views")...)
	}
	if p.of.residual {
		all = append(all, explanations.Of("residual")...)
	}
	if p.Snap != nil {
		if c := p.Snap.Run.Caveat; c.Text != "" {
			all = append([]string{c.Text + "; " + c.Remedy + "."}, all...)
		}
	}
	return all
}
