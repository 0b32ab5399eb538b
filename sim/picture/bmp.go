package picture

import (
	"encoding/binary"
	"fmt"
	"image"
	"io"
)

// A BMP consists of a file header of 14 bytes, an information header that begins
// with its length, masks, palette, and pixels.
const (
	bmpFileHeader = 14
	bmpInfoHeader = 40 // BITMAPINFOHEADER; 108 and 124 with masks and colour space
	bitFields     = 3
)

// inspectBMP rejects variants that golang.org/x/image/bmp does not decode.
func inspectBMP(r *io.SectionReader) (inspection, error) {
	var head [bmpFileHeader + bmpInfoHeader + 16]byte
	n, _ := r.ReadAt(head[:], 0)
	if n < bmpFileHeader+4 {
		return inspection{}, nil // the decoder reports the damage
	}
	switch length := binary.LittleEndian.Uint32(head[14:]); length {
	case bmpInfoHeader, 108, 124:
	case 12, 16, 64:
		return inspection{}, unsupported("BMP", fmt.Sprintf("a header of %d bytes (OS/2)", length))
	default:
		return inspection{}, unsupported("BMP", fmt.Sprintf("a header of %d bytes", length))
	}
	if n < bmpFileHeader+bmpInfoHeader {
		return inspection{}, nil
	}
	bits, compression := binary.LittleEndian.Uint16(head[28:]), binary.LittleEndian.Uint32(head[30:])
	if fault := unreadBMP(&head, bits, compression); fault != "" {
		return inspection{}, unsupported("BMP", fault)
	}
	in := inspection{orientation: 1}
	if bits == 32 && compression == 0 {
		in.correct = opaque
	}
	return in, nil
}

func unreadBMP(head *[bmpFileHeader + bmpInfoHeader + 16]byte, bits uint16, compression uint32) string {
	field := func(at int) uint32 { return binary.LittleEndian.Uint32(head[at:]) }
	masks := [4]uint32{field(54), field(58), field(62), field(66)}
	length, used := field(14), field(46)
	name := map[uint32]string{1: "run lengths of 8 bits", 2: "run lengths of 4 bits", 4: "JPEG", 5: "PNG", 6: "colour masks with alpha"}[compression]
	palette := uint32(0)
	if bits <= 8 {
		palette = used
		if used == 0 {
			palette = 1 << bits
		}
	}
	switch {
	case compression == bitFields && length == bmpInfoHeader:
		return "colour masks behind the header"
	case compression == bitFields && (bits != 32 || masks != [4]uint32{0xff0000, 0xff00, 0xff, 0xff000000}):
		return fmt.Sprintf("%d bits per pixel with colour masks %06x, %06x, %06x and %08x", bits, masks[0], masks[1], masks[2], masks[3])
	case compression != 0 && compression != bitFields && name != "":
		return fmt.Sprintf("compression %d (%s)", compression, name)
	case compression != 0 && compression != bitFields:
		return fmt.Sprintf("compression %d", compression)
	case bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 24 && bits != 32:
		return fmt.Sprintf("%d bits per pixel", bits)
	case bits <= 8 && used > 1<<bits:
		return fmt.Sprintf("a palette of %d colours with %d bits per pixel", used, bits)
	case binary.LittleEndian.Uint16(head[26:]) != 1:
		return fmt.Sprintf("%d planes", binary.LittleEndian.Uint16(head[26:]))
	case field(10) != bmpFileHeader+length+4*palette:
		return "a gap before the pixels"
	}
	return ""
}

// opaque makes 32-bit pixels without colour masks opaque: their fourth byte is
// unused.
func opaque(img image.Image) image.Image {
	if m, ok := img.(*image.NRGBA); ok {
		for i := 3; i < len(m.Pix); i += 4 {
			m.Pix[i] = 255
		}
	}
	return img
}
