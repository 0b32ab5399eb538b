package picture

import (
	"encoding/binary"
	"image"
	"io"
)

// What golang.org/x/image/webp leaves out: the orientation, animations, and the range of lossy luma and chroma.

// Flags of a WebP's VP8X chunk.
const (
	webpAnimation = 1 << 1
	webpAlpha     = 1 << 4
)

// inspectWebP reads the chunks: the orientation, and variants that
// golang.org/x/image/webp does not decode.
func inspectWebP(r *io.SectionReader) (inspection, error) {
	in := inspection{orientation: 1, correct: fullRange}
	var head [9]byte
	if n, _ := r.ReadAt(head[:8], 0); n < 8 {
		return in, nil
	}
	end := 8 + int64(binary.LittleEndian.Uint32(head[4:]))
	flags, extended, alpha, seen := byte(0), false, false, false
	at := int64(12)
	for range maxChunks {
		n, _ := r.ReadAt(head[:], at)
		if n < 8 || at+8 > end {
			break
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		switch string(head[:4]) {
		case "VP8X":
			extended, flags = true, head[8]
		case "ALPH":
			alpha = true
		case "ANIM", "ANMF":
			return in, unsupported("WebP", "animation")
		case "VP8 ":
			if extended && !seen && alpha != (flags&webpAlpha != 0) {
				return in, unsupported("WebP", "an alpha flag that the chunks contradict")
			}
			seen = true
		case "EXIF":
			if extended {
				in.orientation = exifOrientation(io.NewSectionReader(r, at+8, length))
			}
		}
		at += 8 + length + length&1
	}
	if flags&webpAnimation != 0 {
		return in, unsupported("WebP", "animation")
	}
	return in, nil
}

// fullRange corrects lossy pictures: VP8's luma goes from 16 to 235 and its chroma
// from 16 to 240, by ITU-R BT.601, whereas the image types assume JPEG's 0 to 255.
func fullRange(img image.Image) image.Image {
	switch m := img.(type) {
	case *image.YCbCr:
		return newYCbCr(m, nil, true)
	case *image.NYCbCrA:
		return newYCbCr(&m.YCbCr, m, true)
	}
	return img
}
