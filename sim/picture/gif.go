package picture

import (
	"bufio"
	"encoding/binary"
	"image"
	"image/color"
	"io"
)

// What image/gif leaves out: where the first frame is on the screen, and whether others follow.

// inspectGIF reads what image/gif drops: the position of the frame on its screen,
// and whether others follow.
func inspectGIF(r *io.SectionReader) (inspection, error) {
	in := inspection{orientation: 1}
	b := bufio.NewReader(r)
	var head [13]byte
	if _, err := io.ReadFull(b, head[:]); err != nil {
		return in, nil // the decoder reports the damage
	}
	screen := screened{screen: image.Rect(0, 0, int(binary.LittleEndian.Uint16(head[6:])),
		int(binary.LittleEndian.Uint16(head[8:])))}
	in.correct = screen.place
	skipPalette(b, head[10])
	frames := 0
	for frames < 2 {
		kind, err := b.ReadByte()
		if err != nil || kind != 0x21 && kind != 0x2c {
			break
		}
		if kind == 0x21 { // an extension: its label
			_, _ = b.ReadByte()
		} else {
			frames++
			var frame [9]byte
			if _, err := io.ReadFull(b, frame[:]); err != nil {
				break
			}
			if frames == 1 && (head[10]|frame[8])&0x80 == 0 {
				return in, unsupported("GIF", "no palette")
			}
			skipPalette(b, frame[8])
			_, _ = b.ReadByte() // the width of the first codes
		}
		skipBlocks(b)
	}
	if frames > 1 {
		in.notes = append(in.notes, "several frames: taking the first")
	}
	return in, nil
}

// skipPalette skips the palette announced by the flags: three bytes for each of 2
// to 256 colours.
func skipPalette(b *bufio.Reader, flags byte) {
	if flags&0x80 != 0 {
		_, _ = b.Discard(3 << (flags&7 + 1))
	}
}

// skipBlocks skips length-prefixed blocks up to and including the empty one.
func skipBlocks(b *bufio.Reader) {
	for {
		length, err := b.ReadByte()
		if err != nil || length == 0 {
			return
		}
		if _, err := b.Discard(int(length)); err != nil {
			return
		}
	}
}

// screened is a frame on the screen of its GIF. The screen around it is filled as
// by Pillow, which PRISM uses to read pictures: with nothing if the frame has a
// transparent colour, otherwise with the first colour of its palette.
type screened struct {
	image.RGBA64Image
	screen image.Rectangle
	around color.RGBA64
}

// place puts the decoded frame on the screen.
func (s screened) place(img image.Image) image.Image {
	frame, ok := img.(*image.Paletted)
	if !ok || frame.Rect == s.screen || len(frame.Palette) == 0 {
		return img
	}
	s.RGBA64Image = frame
	s.around = color.RGBA64Model.Convert(frame.Palette[0]).(color.RGBA64)
	for _, c := range frame.Palette {
		if _, _, _, alpha := c.RGBA(); alpha == 0 {
			s.around = color.RGBA64{}
		}
	}
	return s
}

// Bounds returns the bounds of the screen.
func (s screened) Bounds() image.Rectangle { return s.screen }

// At calls RGBA64At.
func (s screened) At(x, y int) color.Color { return s.RGBA64At(x, y) }

// RGBA64At returns the colour of the frame, or of the screen around it.
func (s screened) RGBA64At(x, y int) color.RGBA64 {
	if !(image.Point{X: x, Y: y}).In(s.RGBA64Image.Bounds()) {
		return s.around
	}
	return s.RGBA64Image.RGBA64At(x, y)
}
