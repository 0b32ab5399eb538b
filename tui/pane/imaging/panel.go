package imaging

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
)

// The panels of a pane, one picture each: the samples that it draws, what of them a byte budget allows, and pictures
// that the terminal draws.

// The panels of a pane; each has its own slot in the terminal, from the first of the pane's
// subject on.
const (
	reconstructionPanel = iota
	truthPanel
	differencePanel
	residualPanel // the spectrum of the difference
	numPanels
)

var panelNames = [numPanels]string{"reconstruction", "truth", "difference", "spectrum of the residual"}

// panel is one picture of the pane, as displayed.
type panel struct {
	raster chart.Raster
	drawn  source
	behind bool // the raster has newer values than the screen
	bytes  int  // size of the last PNG, encoded for the terminal
}

// source identifies the pictures that a raster's values were taken from.
type source struct {
	of           [2]*profiles.Picture
	black, white float32
	part         window // the visible part
	at           time.Time
}

// bandStep is the ratio of one band to the next narrower one. The narrowest band that fits the
// byte budget is used, so that a slow line shows the large changes first.
const bandStep = 1.6

// paint draws the panels over the full height of the canvas, and returns the row after them.
func (p *picture) paint(c *chart.Canvas, all []placed, way drawing) (bottom int) {
	_, h := c.Size()
	top := func(v window) int { bottom = max(bottom, (h-v.rows)/2+v.rows); return (h - v.rows) / 2 }
	if way == kittyDrawing {
		for _, at := range all {
			v := p.partOf(at, h, way)
			p.reserve(c, at, v, top(v))
		}
		return bottom
	}
	waiting := 0
	for _, at := range all {
		if p.sample(at, p.partOf(at, h, way), way) {
			waiting++
		}
	}
	for _, at := range all {
		pn := &p.panels[at.slot]
		if pn.behind && p.due {
			p.follow(pn, waiting)
			waiting--
		}
		pn.raster.Draw(c, at.x, top(p.partOf(at, h, way)))
	}
	return bottom
}

// partOf returns the visible part of a panel's picture in h rows.
func (p *picture) partOf(at placed, h int, way drawing) window {
	iw, ih := p.sizeOf(at.slot)
	return p.window(iw, ih, at.w, h, way, p.scaleOf(at.slot))
}

// reserve writes the placeholders of a panel drawn by the terminal from a row on, and transmits its
// picture.
func (p *picture) reserve(c *chart.Canvas, at placed, v window, top int) {
	p.transmit(at.slot, v)
	for row := range v.rows {
		for column := range v.columns {
			c.Placeholder(at.x+column, top+row, column, row, theme.Image(p.graphics.ID(p.of.first+at.slot)))
		}
	}
}

// form returns the form of a panel drawn with characters.
func (p *picture) form(slot int, v window, way drawing) chart.Form {
	switch way {
	case brailleDrawing:
		return chart.Form{Way: chart.Dots, W: v.across, H: v.down}
	case asciiDrawing:
		return chart.Form{Way: chart.Ramp, W: v.across, H: v.down}
	}
	return chart.Form{Way: chart.HalfBlocks, Colors: p.mapOf(slot, way), Depth: p.Theme.Depth, W: v.across, H: v.down}
}

// sample passes a panel its picture, and reports whether the panel lags behind it. A panel whose
// form changed is drawn in full.
func (p *picture) sample(at placed, v window, way drawing) (behind bool) {
	pn := &p.panels[at.slot]
	img, from := p.visible(at.slot, v, way)
	if pn.sample(img, from, p.form(at.slot, v, way)) {
		p.pace.Spend(pn.raster.Whole())
		pn.behind = false
	}
	return pn.behind
}

// sample takes new values if there are any. A part that moved is drawn in full.
func (pn *panel) sample(img chart.Image, from source, form chart.Form) (fresh bool) {
	if pn.drawn == from && pn.raster.Form() == form {
		return false
	}
	if pn.drawn.part != from.part {
		pn.raster = chart.Raster{}
	}
	pn.drawn, pn.behind = from, true
	return pn.raster.Sample(img, form)
}

// follow updates the displayed levels as far as the byte budget, shared by among panels, allows.
// A run that is paused or over gets its full picture.
func (p *picture) follow(pn *panel, among int) {
	if p.Snap.State != profiles.Running {
		p.pace.Spend(pn.raster.Plan(chart.Sharp))
		pn.raster.Adopt()
		pn.behind = false
		return
	}
	band := pn.raster.Narrowest()
	cost := pn.raster.Plan(band)
	for !p.pace.Allows(cost*among) && band < pn.raster.Widest() {
		band *= bandStep
		cost = pn.raster.Plan(band)
	}
	if !p.pace.Allows(cost * among) { // as many rows as fit the budget
		cost = pn.raster.Limit(int(p.pace.Level()) / among)
	}
	pn.raster.Adopt()
	p.pace.Spend(cost)
}

// Sizes of the pictures drawn by the terminal: the longest side in pixels. A pixel of the levels
// takes slightly less than pixelBytes in a PNG.
const (
	longestSide   = 128
	shortestSide  = 32
	pixelBytes    = 0.7
	pngsPerSecond = 2
)

// side returns the longest side that fits the budget of a picture.
func (p *picture) side() int {
	if p.pace.Rate() <= 0 {
		return longestSide
	}
	n := int(math.Sqrt(p.pace.Rate() / pngsPerSecond / pixelBytes))
	return min(max(n, shortestSide), longestSide)
}

// transmit sends the terminal a panel's picture unless it already has it.
func (p *picture) transmit(slot int, v window) {
	pn, colors := &p.panels[slot], p.mapOf(slot, kittyDrawing)
	img, from := p.visible(slot, v, kittyDrawing)
	size := terminal.Size{W: v.columns, H: v.rows}
	fresh := pn.sample(img, from, chart.Form{Way: chart.Values, Colors: colors, W: v.across, H: v.down}) ||
		!p.graphics.Holds(p.of.first+slot, size)
	still := p.Snap.State != profiles.Running
	if !fresh && (!pn.behind || !p.due || !still && !p.pace.Allows(pn.bytes) && !p.pace.Full()) {
		return
	}
	pn.behind = false
	if pn.raster.Plan(chart.Sharp); !pn.raster.Changes() && !fresh {
		return
	}
	pn.raster.Adopt()
	data, err := encode(&pn.raster, colors)
	if err != nil {
		p.graphics.Refuse("encoding the picture: " + err.Error())
		p.Stale = true
		return
	}
	pn.bytes = p.graphics.Show(p.of.first+slot, data, size)
	p.pace.Spend(pn.bytes)
}

// encode encodes the raster's levels as a PNG: 8-bit grey, or a palette of the map's colours.
func encode(r *chart.Raster, colors theme.Map) ([]byte, error) {
	w, h := r.Size()
	levels, top := r.Levels()
	frame := image.Rect(0, 0, w, h)
	var img image.Image
	if colors == theme.Greys {
		grey := image.NewGray(frame)
		for i, v := range levels {
			grey.Pix[i] = uint8(int(v) * 255 / top)
		}
		img = grey
	} else {
		palette := make(color.Palette, top+1)
		for i := range palette {
			palette[i] = colors.Color(float64(i) / float64(top))
		}
		paletted := image.NewPaletted(frame, palette)
		copy(paletted.Pix, levels)
		img = paletted
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	return b.Bytes(), err
}

// visible returns the visible part of a panel's picture, and its source.
func (p *picture) visible(slot int, v window, way drawing) (chart.Image, source) {
	img, from := p.image(slot, way)
	if v.w > img.Width || v.h > img.Height { // the picture changed its size
		return img, from
	}
	from.part = v
	return img.Crop(v.x, v.y, v.w, v.h), from
}

// image returns the picture of a panel and its source.
func (p *picture) image(slot int, way drawing) (chart.Image, source) {
	shown, truth := p.shown, p.Snap.Picture(p.of.truth)
	switch slot {
	case truthPanel:
		return chart.Image{Width: truth.Width, Height: truth.Height, Pixels: truth.Pixels, White: p.scale.white},
			source{of: [2]*profiles.Picture{truth}, white: p.scale.white}
	case differencePanel:
		d := p.scale.difference
		img := chart.Image{Width: shown.Width, Height: shown.Height, Pixels: p.scale.signed, Black: -d,
			White: d, Peak: true}
		if !p.signed(way) {
			img.Pixels, img.Black = p.scale.magnitude(), 0
		}
		return img, source{of: [2]*profiles.Picture{shown, truth}, black: img.Black, white: d}
	}
	if slot == residualPanel {
		return chart.Image{Width: p.errors.side, Height: p.errors.side, Pixels: p.errors.pixels, Black: darkestResidual,
				White: brightestResidual},
			source{of: [2]*profiles.Picture{shown, truth}, at: p.errors.at}
	}
	return chart.Image{Width: shown.Width, Height: shown.Height, Pixels: shown.Pixels, White: p.scale.white},
		source{of: [2]*profiles.Picture{shown}, white: p.scale.white}
}

// magnitude returns the absolute difference.
func (a *amplitudes) magnitude() []float32 {
	m := make([]float32, len(a.signed))
	for i, v := range a.signed {
		m[i] = float32(math.Abs(float64(v)))
	}
	return m
}

// coloured reports whether a way of drawing uses colours.
func (p *picture) coloured(way drawing) bool { return way == kittyDrawing || way == halfDrawing }

// signed reports whether differences are drawn with their sign, which requires colours.
func (p *picture) signed(way drawing) bool { return !p.size && p.coloured(way) }

// mapOf returns the colour map of a panel.
func (p *picture) mapOf(slot int, way drawing) theme.Map {
	switch {
	case slot == differencePanel && p.signed(way):
		return theme.Diverging
	case !p.coloured(way):
		return theme.Greys
	}
	return p.colors
}
