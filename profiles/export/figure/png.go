package figure

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// A drawing as PNG.

// scale is the number of pixels of a PNG per pixel of a drawing: enough for paper at 18 cm.
const scale = 2

// painter draws on an image.
type painter struct {
	to     *image.RGBA
	raster vector.Rasterizer
	faces  map[faceOf]font.Face
}

type faceOf struct {
	size float64
	bold bool
}

// WritePNG writes the drawing as a PNG in light colours, of scale pixels per pixel.
func (d *Drawing) WritePNG(w io.Writer) error {
	p := painter{to: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(d.Width*scale)), int(math.Ceil(d.Height*scale)))),
		faces: map[faceOf]font.Face{}}
	for i := range d.shapes {
		s := &d.shapes[i]
		switch {
		case s.text != "":
			if err := p.text(s); err != nil {
				return err
			}
		case s.stroke != None:
			p.stroke(s)
		default:
			p.fill([][]point{slices.Clone(s.points)}, s.fill)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.to); err != nil {
		return err
	}
	_, err := w.Write(printed(b.Bytes(), float64(p.to.Rect.Dx())/paper))
	return err
}

// paper is the width of a figure in print, in metres.
const paper = 0.18

// printed returns a PNG with its pixels per metre (chunk pHYs), by which programs choose its size on paper, and the
// program that made it (chunk tEXt, keyword Software).
func printed(file []byte, density float64) []byte {
	const header = 8 + 4 + 4 + 13 + 4 // the signature and IHDR
	var size []byte
	for range 2 {
		size = binary.BigEndian.AppendUint32(size, uint32(math.Round(density)))
	}
	// 1: the metre
	return slices.Concat(file[:header], chunk("pHYs", append(size, 1)), chunk("tEXt", []byte(software)), file[header:])
}

// chunk returns a chunk of a PNG file.
func chunk(kind string, content []byte) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), kind...)
	b = append(b, content...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// text draws a text.
func (p *painter) text(s *shape) error {
	of := faceOf{s.size, s.bold}
	face := p.faces[of]
	if face == nil {
		f := fonts().regular
		if s.bold {
			f = fonts().bold
		}
		var err error
		if face, err = opentype.NewFace(f,
			&opentype.FaceOptions{Size: s.size * scale, DPI: 72, Hinting: font.HintingNone}); err != nil {
			return err
		}
		p.faces[of] = face
	}
	x := fixed.Int26_6(math.Round(s.points[0].X * scale * 64))
	if width := font.MeasureString(face, s.text); s.anchor == Middle {
		x -= width / 2
	} else if s.anchor == End {
		x -= width
	}
	drawer := font.Drawer{Dst: p.to, Src: image.NewUniform(Light.rgba(s.fill)), Face: face,
		Dot: fixed.Point26_6{X: x, Y: fixed.Int26_6(math.Round(s.points[0].Y * scale * 64))}}
	drawer.DrawString(s.text)
	return nil
}

// stroke draws a line: a rectangle for each dash of a segment, and discs where segments meet.
func (p *painter) stroke(s *shape) {
	var outlines [][]point
	half := s.width / 2
	pattern, at, left, on := s.dash, 0, math.Inf(1), true
	if len(pattern) > 0 {
		left = pattern[0]
	}
	for i := 1; i < len(s.points); i++ {
		a, b := s.points[i-1], s.points[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		dx, dy := (b.X-a.X)/length, (b.Y-a.Y)/length
		nx, ny := -dy*half, dx*half
		for from := 0.0; from < length; {
			to := min(length, from+left)
			if on {
				x1, y1, x2, y2 := a.X+dx*from, a.Y+dy*from, a.X+dx*to, a.Y+dy*to
				outlines = append(outlines, []point{{x1 + nx, y1 + ny}, {x2 + nx, y2 + ny}, {x2 - nx, y2 - ny},
					{x1 - nx, y1 - ny}})
				if to == length && i+1 < len(s.points) && half > 0.5 {
					outlines = append(outlines, disc(b, half))
				}
			}
			left -= to - from
			if from = to; left <= 1e-9 {
				at++
				left, on = pattern[at%len(pattern)], !on
			}
		}
	}
	p.fill(outlines, s.stroke)
}

// disc returns a polygon that runs round as the rectangles of a stroke do: areas of different directions
// would cancel each other.
func disc(centre point, radius float64) (outline []point) {
	const corners = 8
	for i := range corners {
		sin, cos := math.Sincos(-2 * math.Pi * float64(i) / corners)
		outline = append(outline, point{centre.X + radius*cos, centre.Y + radius*sin})
	}
	return outline
}

// fill draws polygons as one area. It moves points beyond the edges of the image to them.
func (p *painter) fill(outlines [][]point, paint Paint) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	size := p.to.Bounds().Max
	for _, o := range outlines {
		for i := range o {
			v := &o[i]
			v.X, v.Y = min(max(v.X, 0), float64(size.X)/scale), min(max(v.Y, 0), float64(size.Y)/scale)
			low, high = point{min(low.X, v.X), min(low.Y, v.Y)}, point{max(high.X, v.X), max(high.Y, v.Y)}
		}
	}
	if !(low.X <= high.X) {
		return
	}
	box := image.Rect(int(math.Floor(low.X*scale)), int(math.Floor(low.Y*scale)), int(math.Ceil(high.X*scale)),
		int(math.Ceil(high.Y*scale)))
	if box.Empty() {
		return
	}
	p.raster.Reset(box.Dx(), box.Dy())
	p.raster.DrawOp = draw.Over
	place := func(v point) (x, y float32) {
		return float32(v.X*scale - float64(box.Min.X)), float32(v.Y*scale - float64(box.Min.Y))
	}
	for _, o := range outlines {
		for i, v := range o {
			if x, y := place(v); i == 0 {
				p.raster.MoveTo(x, y)
			} else {
				p.raster.LineTo(x, y)
			}
		}
		p.raster.ClosePath()
	}
	p.raster.Draw(p.to, box, image.NewUniform(Light.rgba(paint)), image.Point{})
}

// software is what a figure says of the program that drew it, and MarkPNG tells a file of prismtop by it.
const (
	software = "Software\x00prismtop"
	MarkPNG  = "tEXt" + software
)
