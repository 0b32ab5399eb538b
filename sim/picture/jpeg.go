package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"image"
	"io"
)

// What image/jpeg leaves out: the orientation, and chroma that is interpolated as libjpeg does.

// jpegCodings names the codings that image/jpeg does not decode, by frame marker (ITU-T T.81, table B.1).
var jpegCodings = map[byte]string{
	0xc3: "lossless coding", 0xc5: "hierarchical coding", 0xc6: "hierarchical coding", 0xc7: "hierarchical coding",
	0xc9: "arithmetic coding", 0xca: "arithmetic coding", 0xcb: "arithmetic coding", 0xcd: "hierarchical coding",
	0xce: "hierarchical coding", 0xcf: "hierarchical coding", 0xde: "hierarchical coding", 0xf7: "JPEG-LS",
}

// inspectJPEG finds the orientation in the segments before the first scan, and codings by their name.
func inspectJPEG(r *io.SectionReader) (inspection, error) {
	in := inspection{orientation: 1, correct: smoothChroma}
	b := bufio.NewReader(r)
	_, _ = b.Discard(2)
	exif := false
	for {
		marker, ok := nextMarker(b)
		if !ok || marker == 0xda || marker == 0xd9 {
			return in, nil
		}
		if coding := jpegCodings[marker]; coding != "" {
			return in, unsupported("JPEG", coding)
		}
		segment, ok := readSegment(b)
		if !ok {
			return in, nil // the decoder reports the damage
		}
		if marker == 0xe1 && !exif && bytes.HasPrefix(segment, []byte(exifPrefix)) {
			exif = true
			in.orientation = exifOrientation(io.NewSectionReader(bytes.NewReader(segment), 0, int64(len(segment))))
		}
	}
}

// smoothChroma interpolates chroma as libjpeg does.
func smoothChroma(img image.Image) image.Image {
	if m, ok := img.(*image.YCbCr); ok {
		return newYCbCr(m, nil, false)
	}
	return img
}

// nextMarker reads up to the next marker that begins a segment or ends the file.
func nextMarker(b *bufio.Reader) (byte, bool) {
	for {
		c, err := b.ReadByte()
		if err != nil {
			return 0, false
		}
		if c != 0xff {
			continue
		}
		for c == 0xff {
			if c, err = b.ReadByte(); err != nil {
				return 0, false
			}
		}
		// A stuffed byte, TEM and the restart markers have no segment.
		if c != 0 && c != 1 && (c < 0xd0 || c > 0xd8) {
			return c, true
		}
	}
}

// readSegment reads a segment after its marker: two bytes of length, which
// include themselves, and at most 65,533 more.
func readSegment(b *bufio.Reader) ([]byte, bool) {
	var length [2]byte
	if _, err := io.ReadFull(b, length[:]); err != nil {
		return nil, false
	}
	segment := make([]byte, max(0, int(binary.BigEndian.Uint16(length[:]))-2))
	_, err := io.ReadFull(b, segment)
	return segment, err == nil
}
