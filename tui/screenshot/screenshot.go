// Package screenshot draws a screen of terminal cells as a picture, without a
// terminal: text in Go Mono, and lines, blocks and braille as shapes that join
// across cells. It serves the documentation and the tests.
package screenshot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Cells is a screen: ultraviolet's buffers are, and x/vt's emulators.
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

// The colours of a terminal that nothing was told.
var (
	darkGround  = color.RGBA{0x14, 0x16, 0x1b, 0xff}
	lightGround = color.RGBA{0xfa, 0xfa, 0xf7, 0xff}
	darkText    = color.RGBA{0xd6, 0xd8, 0xdc, 0xff}
	lightText   = color.RGBA{0x26, 0x28, 0x2c, 0xff}
)

// Ground is the terminal's default colours.
type Ground struct{ text, back color.RGBA }

// The grounds.
var (
	Dark  = Ground{darkText, darkGround}
	Light = Ground{lightText, lightGround}
)

// PNG draws the cells and writes them as a PNG of 10x20 pixels a cell.
func PNG(w io.Writer, cells Cells, g Ground) error {
	img, err := Draw(cells, g)
	if err != nil {
		return err
	}
	if err := png.Encode(w, img); err != nil {
		return fmt.Errorf("encoding the screenshot: %w", err)
	}
	return nil
}

// Draw is the picture of the cells.
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
	d := font.Drawer{Dst: p.img, Src: image.NewUniform(text), Face: f, Dot: fixed.P(x, y+baseline)}
	d.DrawString(c.Content)
}

// shape fills a shape with 4x4 samples a pixel.
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
			if hits > 0 {
				under := p.img.RGBAAt(x+i, y+j)
				p.img.SetRGBA(x+i, y+j, mix(ink, under, float64(hits)/(n*n)))
			}
		}
	}
}

func rgba(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xff}
}

// mix is share of a and the rest of b.
func mix(a, b color.RGBA, share float64) color.RGBA {
	m := func(a, b uint8) uint8 { return uint8(float64(a)*share + float64(b)*(1-share) + 0.5) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 0xff}
}
