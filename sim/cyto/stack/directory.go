package stack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Tags of TIFF 6.0 and its supplements that decide how a page is stored.
const (
	tagSubfileType     = 254
	tagWidth           = 256
	tagLength          = 257
	tagBits            = 258
	tagCompression     = 259
	tagPhotometric     = 262
	tagFillOrder       = 266
	tagDescription     = 270
	tagStripOffsets    = 273
	tagSamples         = 277
	tagRowsPerStrip    = 278
	tagStripCounts     = 279
	tagXResolution     = 282
	tagYResolution     = 283
	tagPlanar          = 284
	tagResolutionUnit  = 296
	tagPredictor       = 317
	tagTileWidth       = 322
	tagTileLength      = 323
	tagTileOffsets     = 324
	tagTileCounts      = 325
	tagSampleFormat    = 339
	reducedOrMaskPages = 1 | 4 // bits of NewSubfileType: not a full page of data
)

var tagNames = map[uint16]string{
	tagSubfileType: "NewSubfileType", tagWidth: "ImageWidth", tagLength: "ImageLength", tagBits: "BitsPerSample", tagCompression: "Compression",
	tagPhotometric: "PhotometricInterpretation", tagFillOrder: "FillOrder", tagDescription: "ImageDescription",
	tagStripOffsets: "StripOffsets", tagSamples: "SamplesPerPixel", tagRowsPerStrip: "RowsPerStrip", tagStripCounts: "StripByteCounts",
	tagXResolution: "XResolution", tagYResolution: "YResolution", tagPlanar: "PlanarConfiguration", tagPredictor: "Predictor",
	tagTileWidth: "TileWidth", tagTileLength: "TileLength", tagTileOffsets: "TileOffsets", tagTileCounts: "TileByteCounts",
	tagSampleFormat: "SampleFormat",
}

// kindBytes is the size of a value of each of TIFF's field types.
var kindBytes = map[uint16]uint64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}

// kindRational is the type of a fraction of two numbers of 32 bits.
const kindRational = 5

// Bounds of what a header may claim.
const (
	maxPages       = 1 << 20
	maxFields      = 1 << 10 // of a page; writers use about 20
	maxDescription = 1 << 24 // bytes
)

// tiff is an open TIFF file, classic or BigTIFF.
type tiff struct {
	r      io.ReaderAt
	size   int64
	order  binary.ByteOrder
	big    bool
	first  uint64 // offset of the first page's directory
	read   int64  // bytes read so far, each counted once
	budget int64  // bytes that directories may still take
}

// field is an entry of a directory: count values of a kind, in value if they fit into it,
// or at the offset that value holds.
type field struct {
	kind  uint16
	count uint64
	value [8]byte
}

// directory is the tags of one page.
type directory struct {
	file   *tiff
	page   int // counted from 1, as messages count
	fields map[uint16]field
}

// isTIFF reports whether a file that begins with head is TIFF or BigTIFF.
func isTIFF(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	switch string(head[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+":
		return true
	}
	return false
}

// openTIFF reads the header.
func openTIFF(r io.ReaderAt, size int64) (*tiff, error) {
	// Directories that do not overlap take no more than the file; each is read twice at most.
	t := &tiff{r: r, size: size, order: binary.LittleEndian, read: 8, budget: 2 * size}
	head, err := t.bytes(0, 8, nil)
	if err != nil {
		return nil, err
	}
	if head[0] == 'M' {
		t.order = binary.BigEndian
	}
	t.big = t.order.Uint16(head[2:]) == 43
	if !t.big {
		t.first = uint64(t.order.Uint32(head[4:]))
		return t, nil
	}
	if n := t.order.Uint16(head[4:]); n != 8 {
		return nil, fmt.Errorf("BigTIFF with offsets of %d bytes: must be 8", n)
	}
	head, err = t.bytes(8, 8, nil)
	if err != nil {
		return nil, err
	}
	t.first = t.order.Uint64(head)
	return t, nil
}

// bytes reads n bytes into buf, or into a new slice if that is too short.
func (t *tiff) bytes(at, n uint64, buf []byte) ([]byte, error) {
	if at > uint64(t.size) || n > uint64(t.size)-at {
		return nil, fmt.Errorf("%d bytes at %d are outside the file of %d bytes: is it truncated?", n, at, t.size)
	}
	if uint64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	got, err := t.r.ReadAt(buf, int64(at))
	if got == len(buf) {
		return buf, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// spend counts bytes of directories, so that a short file cannot claim many long ones.
func (t *tiff) spend(n uint64) error {
	if n > uint64(t.budget) {
		return errors.New("directories that overlap: the file is damaged")
	}
	t.budget -= int64(n)
	return nil
}

// number reads an unsigned number of a field type from the start of b.
func (t *tiff) number(kind uint16, b []byte) (uint64, bool) {
	switch kind {
	case 1:
		return uint64(b[0]), true
	case 3:
		return uint64(t.order.Uint16(b)), true
	case 4, 13:
		return uint64(t.order.Uint32(b)), true
	case 16, 18:
		return t.order.Uint64(b), true
	}
	return 0, false
}

// shape is the sizes of a directory's parts, in bytes.
type shape struct{ count, entry, offset uint64 }

func (t *tiff) shape() shape {
	if t.big {
		return shape{8, 20, 8}
	}
	return shape{2, 12, 4}
}

// tags reads the number of tags of a page's directory.
func (t *tiff) tags(at uint64) (uint64, error) {
	head, err := t.bytes(at, t.shape().count, nil)
	if err != nil {
		return 0, err
	}
	n := uint64(t.order.Uint16(head))
	if t.big {
		n = t.order.Uint64(head)
	}
	if n > maxFields {
		return 0, fmt.Errorf("%d tags: must be %d at most", n, maxFields)
	}
	return n, nil
}

// offset reads an offset in the size of the file's kind.
func (t *tiff) offset(b []byte) uint64 {
	if t.big {
		return t.order.Uint64(b)
	}
	return uint64(t.order.Uint32(b))
}

// next reads where the directory after the one at an offset is, 0 after the last one.
func (t *tiff) next(at uint64) (uint64, error) {
	n, err := t.tags(at)
	if err != nil {
		return 0, err
	}
	s := t.shape()
	b, err := t.bytes(at+s.count+n*s.entry, s.offset, nil)
	if err != nil {
		return 0, err
	}
	t.read += int64(s.count + s.offset)
	return t.offset(b), nil
}

// directory reads the tags of the page at an offset. Pages are counted from 1.
func (t *tiff) directory(page int, at uint64) (*directory, error) {
	n, err := t.tags(at)
	s := t.shape()
	if err == nil {
		err = t.spend(s.count + n*s.entry)
	}
	var table []byte
	if err == nil {
		table, err = t.bytes(at+s.count, n*s.entry, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", page, err)
	}
	t.read += int64(len(table))
	d := &directory{file: t, page: page, fields: make(map[uint16]field, n)}
	for ; len(table) > 0; table = table[s.entry:] {
		tag := t.order.Uint16(table)
		if _, twice := d.fields[tag]; twice {
			continue // the first one counts, as in libtiff
		}
		f := field{kind: t.order.Uint16(table[2:]), count: t.offset(table[4:])}
		copy(f.value[:], table[4+s.offset:s.entry])
		d.fields[tag] = f
	}
	return d, nil
}

// fault is an error about a tag of the page.
func (d *directory) fault(tag uint16, format string, args ...any) error {
	return fmt.Errorf("page %d: %s (tag %d): %w", d.page, tagNames[tag], tag, fmt.Errorf(format, args...))
}

// data returns the bytes of a tag's values, nil if the page has no such tag.
func (d *directory) data(tag uint16) (field, []byte, error) {
	f, ok := d.fields[tag]
	if !ok || f.count == 0 {
		return field{}, nil, nil
	}
	size := kindBytes[f.kind]
	if size == 0 {
		return f, nil, d.fault(tag, "field type %d: must be one of TIFF's", f.kind)
	}
	if f.count <= d.file.shape().offset/size {
		return f, f.value[:f.count*size], nil
	}
	if f.count > uint64(d.file.size)/size {
		return f, nil, d.fault(tag, "%d values in a file of %d bytes: is it truncated?", f.count, d.file.size)
	}
	if err := d.file.spend(f.count * size); err != nil {
		return f, nil, d.fault(tag, "%w", err)
	}
	b, err := d.file.bytes(d.file.offset(f.value[:]), f.count*size, nil)
	if err != nil {
		return f, nil, d.fault(tag, "%w", err)
	}
	d.file.read += int64(len(b))
	return f, b, nil
}

// numbers returns a tag's unsigned numbers, none if the page has no such tag.
func (d *directory) numbers(tag uint16) ([]uint64, error) {
	f, b, err := d.data(tag)
	if err != nil || b == nil {
		return nil, err
	}
	values := make([]uint64, f.count)
	size := kindBytes[f.kind]
	for i := range values {
		v, ok := d.file.number(f.kind, b[uint64(i)*size:])
		if !ok {
			return nil, d.fault(tag, "field type %d: must be whole numbers", f.kind)
		}
		values[i] = v
	}
	return values, nil
}

// number returns a tag's first number, or a default if the page has no such tag.
func (d *directory) number(tag uint16, missing uint64) (uint64, error) {
	values, err := d.numbers(tag)
	if err != nil || len(values) == 0 {
		return missing, err
	}
	return values[0], nil
}

// text returns a tag's text, without the zeros that end it.
func (d *directory) text(tag uint16) (string, error) {
	if f := d.fields[tag]; f.count > maxDescription {
		return "", d.fault(tag, "%d bytes: must be %d at most", f.count, maxDescription)
	}
	_, b, err := d.data(tag)
	if err != nil {
		return "", err
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return string(b), nil
}

// fraction returns a tag's first fraction, 0 if it has none that is finite and positive.
func (d *directory) fraction(tag uint16) (float64, error) {
	f, b, err := d.data(tag)
	if err != nil || b == nil || f.kind != kindRational {
		return 0, err
	}
	v := float64(d.file.order.Uint32(b)) / float64(d.file.order.Uint32(b[4:]))
	if !(v > 0) || math.IsInf(v, 0) {
		return 0, nil
	}
	return v, nil
}
