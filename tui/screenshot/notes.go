package screenshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Note is a line of text inside a PNG file: a tEXt chunk (PNG specification, third
// edition, §11.3.3.2). The keyword and the text are Latin-1 without zero bytes.
type Note struct{ Keyword, Text string }

// Sizes of a PNG's parts in bytes.
const (
	signatureSize = 8
	headerSize    = 8      // of a chunk: length and type
	checksumSize  = 4      // of a chunk
	firstChunk    = 4 + 13 // IHDR, which comes first: type and data
)

// errNoPNG rejects a file that is not a PNG or is truncated.
var errNoPNG = errors.New("not a whole PNG file")

// annotate writes a PNG with notes after its first chunk.
func annotate(w io.Writer, png []byte, notes []Note) error {
	const end = signatureSize + 4 + firstChunk + checksumSize
	parts := [][]byte{png[:end]}
	for _, n := range notes {
		parts = append(parts, n.chunk())
	}
	for _, part := range append(parts, png[end:]) {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("writing the screenshot: %w", err)
		}
	}
	return nil
}

// chunk encodes the note as a tEXt chunk.
func (n Note) chunk() []byte {
	body := "tEXt" + n.Keyword + "\x00" + n.Text
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4))
	b = append(b, body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(body)))
}

// Notes returns the notes of a PNG file in order, or an error if the file is not a PNG or is
// truncated.
func Notes(png []byte) ([]Note, error) {
	if len(png) < signatureSize || !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) {
		return nil, errNoPNG
	}
	var notes []Note
	for rest := png[signatureSize:]; len(rest) > 0; {
		if len(rest) < headerSize {
			return nil, errNoPNG
		}
		n := int64(binary.BigEndian.Uint32(rest))
		if int64(len(rest)) < headerSize+n+checksumSize {
			return nil, errNoPNG
		}
		if string(rest[4:headerSize]) == "tEXt" {
			if keyword, text, ok := bytes.Cut(rest[headerSize:headerSize+n], []byte{0}); ok {
				notes = append(notes, Note{string(keyword), string(text)})
			}
		}
		rest = rest[headerSize+n+checksumSize:]
	}
	return notes, nil
}
