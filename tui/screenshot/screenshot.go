// Package screenshot draws a screen of terminal cells as a picture without a terminal: text in
// Go Mono, and lines, blocks and braille as shapes that join across cells. It is used by the
// documentation and the tests.
package screenshot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Cells is a screen, such as a buffer of ultraviolet or an emulator of x/vt.
type Cells interface {
	Bounds() uv.Rectangle
	CellAt(x, y int) *uv.Cell
}

// Size of a cell in pixels, and of the font in points at 72 dots per inch.
const (
	cellWidth, cellHeight = 10, 20
	fontSize              = 16.6
	baseline              = 15
	margin                = 12
)

// The colours of an unconfigured terminal.
var (
	darkGround  = color.RGBA{0x14, 0x16, 0x1b, 0xff}
	lightGround = color.RGBA{0xfa, 0xfa, 0xf7, 0xff}
	darkText    = color.RGBA{0xd6, 0xd8, 0xdc, 0xff}
	lightText   = color.RGBA{0x26, 0x28, 0x2c, 0xff}
)

// Ground holds the terminal's default colours.
type Ground struct{ text, back color.RGBA }

// The grounds.
var (
	Dark  = Ground{darkText, darkGround}
	Light = Ground{lightText, lightGround}
)

// PNG writes the cells as a PNG of 10x20 pixels per cell, with a palette if there are at most
// 256 colours. The notes are stored in the file as text (see Notes).
func PNG(w io.Writer, cells Cells, g Ground, notes ...Note) error {
	drawn, err := Draw(cells, g)
	if err != nil {
		return err
	}
	var img image.Image = drawn
	if p := paletted(drawn); p != nil {
		img = p
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	var encoded bytes.Buffer
	if err := encoder.Encode(&encoded, img); err != nil {
		return fmt.Errorf("encoding the screenshot: %w", err)
	}
	return annotate(w, encoded.Bytes(), notes)
}

// Draw draws the cells.
func Draw(cells Cells, g Ground) (*image.RGBA, error) {
	p := painter{ground: g}
	var err error
	if p.regular, err = face(gomono.TTF); err != nil {
		return nil, err
	}
	if p.bold, err = face(gomonobold.TTF); err != nil {
		return nil, err
	}
	b := cells.Bounds()
	p.img = image.NewRGBA(image.Rect(0, 0, b.Dx()*cellWidth+2*margin, b.Dy()*cellHeight+2*margin))
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(g.back), image.Point{}, draw.Src)
	for y := range b.Dy() {
		for x := range b.Dx() {
			if c := cells.CellAt(b.Min.X+x, b.Min.Y+y); c != nil && c.Width > 0 {
				p.cell(margin+x*cellWidth, margin+y*cellHeight, c)
			}
		}
	}
	return p.img, nil
}

// paletted converts a picture to one with a palette of its colours, in order of occurrence; nil
// if there are more than 256.
func paletted(img *image.RGBA) *image.Paletted {
	index := make(map[color.RGBA]uint8)
	p := image.NewPaletted(img.Rect, nil)
	for y := img.Rect.Min.Y; y < img.Rect.Max.Y; y++ {
		for x := img.Rect.Min.X; x < img.Rect.Max.X; x++ {
			c := img.RGBAAt(x, y)
			i, known := index[c]
			if !known {
				if len(index) == 256 {
					return nil
				}
				i = uint8(len(index))
				index[c] = i
				p.Palette = append(p.Palette, c)
			}
			p.Pix[p.PixOffset(x, y)] = i
		}
	}
	return p
}

// Draws reports whether a character has a shape or a glyph in the font.
func Draws(r rune) (bool, error) {
	if r == ' ' || shapeOf(r) != nil {
		return true, nil
	}
	f, err := opentype.Parse(gomono.TTF)
	if err != nil {
		return false, fmt.Errorf("reading the font: %w", err)
	}
	i, err := f.GlyphIndex(nil, r)
	return i != 0, err
}

func face(ttf []byte) (font.Face, error) {
	f, err := opentype.Parse(ttf)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	of, err := opentype.NewFace(f, &opentype.FaceOptions{Size: fontSize, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	return of, nil
}

type painter struct {
	img           *image.RGBA
	ground        Ground
	regular, bold font.Face
}

func (p *painter) cell(x, y int, c *uv.Cell) {
	text, back := p.ground.text, p.ground.back
	if c.Style.Fg != nil {
		text = rgba(c.Style.Fg)
	}
	if c.Style.Bg != nil {
		back = rgba(c.Style.Bg)
	}
	if c.Style.Attrs&uv.AttrReverse != 0 {
		text, back = back, text
	}
	if c.Style.Attrs&uv.AttrFaint != 0 {
		text = mix(text, back, 0.55)
	}
	area := image.Rect(x, y, x+cellWidth*c.Width, y+cellHeight)
	draw.Draw(p.img, area, image.NewUniform(back), image.Point{}, draw.Src)
	r, _ := utf8.DecodeRuneInString(c.Content)
	if c.Content == "" || r == ' ' {
		return
	}
	if s := shapeOf(r); s != nil {
		p.shape(x, y, s, text)
		return
	}
	f := p.regular
	if c.Style.Attrs&uv.AttrBold != 0 {
		f = p.bold
	}
	p.glyph(x, y, f, r, text)
}

// glyph draws a character of the font.
func (p *painter) glyph(x, y int, f font.Face, r rune, ink color.RGBA) {
	area, mask, from, _, ok := f.Glyph(fixed.P(x, y+baseline), r)
	if !ok {
		return
	}
	for j := range area.Dy() {
		for i := range area.Dx() {
			_, _, _, a := mask.At(from.X+i, from.Y+j).RGBA()
			p.ink(area.Min.X+i, area.Min.Y+j, ink, float64(a)/0xffff)
		}
	}
}

// edgeSteps is the number of shades at an edge between background and ink: enough for the eye,
// yet few enough for one palette per screen.
const edgeSteps = 6

// ink covers a fraction of a pixel with ink.
func (p *painter) ink(x, y int, ink color.RGBA, share float64) {
	steps := math.Round(share * edgeSteps)
	if steps > 0 {
		p.img.SetRGBA(x, y, mix(ink, p.img.RGBAAt(x, y), steps/edgeSteps))
	}
}

// shape fills a shape, with 4x4 samples per pixel.
func (p *painter) shape(x, y int, inside shape, ink color.RGBA) {
	const n = 4
	for j := range cellHeight {
		for i := range cellWidth {
			hits := 0
			for k := range n * n {
				sx := float64(i) + (float64(k%n)+0.5)/n
				sy := float64(j) + (float64(k/n)+0.5)/n
				if inside(sx, sy) {
					hits++
				}
			}
			p.ink(x+i, y+j, ink, float64(hits)/(n*n))
		}
	}
}

func rgba(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xff}
}

// mix blends a and b, with the given share of a.
func mix(a, b color.RGBA, share float64) color.RGBA {
	m := func(a, b uint8) uint8 { return uint8(float64(a)*share + float64(b)*(1-share) + 0.5) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 0xff}
}
