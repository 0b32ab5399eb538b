package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"io"
)

// jpegCodings names the codings that image/jpeg does not decode, by frame marker.
var jpegCodings = map[byte]string{
	0xc3: "lossless coding", 0xc5: "hierarchical coding", 0xc6: "hierarchical coding", 0xc7: "hierarchical coding",
	0xc9: "arithmetic coding", 0xca: "arithmetic coding", 0xcb: "arithmetic coding", 0xcd: "hierarchical coding",
	0xce: "hierarchical coding", 0xcf: "hierarchical coding", 0xde: "hierarchical coding", 0xf7: "JPEG-LS",
}

// inspectJPEG reads the segments before the first scan: the orientation, and
// codings that image/jpeg does not decode.
func inspectJPEG(r *io.SectionReader) (inspection, error) {
	in := inspection{orientation: 1, correct: smoothChroma}
	b := bufio.NewReader(r)
	_, _ = b.Discard(2)
	adobe, exif, components := false, false, 0
	for {
		marker, ok := nextMarker(b)
		if !ok || marker == 0xda || marker == 0xd9 {
			break
		}
		if coding := jpegCodings[marker]; coding != "" {
			return in, unsupported("JPEG", coding)
		}
		segment, ok := readSegment(b)
		if !ok {
			return in, nil // the decoder reports the damage
		}
		switch {
		case marker >= 0xc0 && marker <= 0xc2:
			fault := ""
			if components, fault = unreadFrame(segment); fault != "" {
				return in, unsupported("JPEG", fault)
			}
		case marker == 0xee && bytes.HasPrefix(segment, []byte("Adobe")):
			adobe = true
		case marker == 0xe1 && !exif && bytes.HasPrefix(segment, []byte(exifPrefix)):
			exif = true
			in.orientation = exifOrientation(io.NewSectionReader(bytes.NewReader(segment), 0, int64(len(segment))))
		}
	}
	if components == 4 && !adobe {
		return in, unsupported("JPEG", "four components without Adobe's marker, which says what they mean")
	}
	return in, nil
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

// unreadFrame counts a frame's components and names a coding that is not decoded.
func unreadFrame(frame []byte) (components int, fault string) {
	if len(frame) < 6 || len(frame) < 6+3*int(frame[5]) {
		return 0, ""
	}
	components = int(frame[5])
	switch {
	case frame[0] != 8:
		return components, fmt.Sprintf("%d bits per sample", frame[0])
	case components != 1 && components != 3 && components != 4:
		return components, fmt.Sprintf("%d components", components)
	}
	return components, ""
}
