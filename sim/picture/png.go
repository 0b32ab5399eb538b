package picture

import (
	"encoding/binary"
	"io"
)

// What image/png leaves out: the orientation, and whether frames follow.

// maxChunks bounds the number of chunks of a PNG or WebP that are examined: a PNG
// of a hundred megapixels has about ten thousand.
const maxChunks = 1 << 20

// inspectPNG reads chunks that image/png ignores: the orientation, and whether
// frames follow.
func inspectPNG(r *io.SectionReader) (inspection, error) {
	in := inspection{orientation: 1}
	var head [8]byte
	at := int64(8)
	for range maxChunks {
		if n, _ := r.ReadAt(head[:], at); n < len(head) {
			return in, nil
		}
		length := int64(binary.BigEndian.Uint32(head[:]))
		switch string(head[4:]) {
		case "CgBI":
			return in, unsupported("PNG", "Apple's own variant (CgBI)")
		case "acTL":
			in.notes = []string{"several frames: taking the still picture"}
		case "eXIf":
			in.orientation = exifOrientation(io.NewSectionReader(r, at+8, length))
		case "IEND":
			return in, nil
		}
		at += 8 + length + 4 // and a checksum
	}
	return in, nil
}
