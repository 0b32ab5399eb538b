// Package tiff is the program's one reader and writer of TIFF (TIFF 6.0 with Adobe's technical notes, and BigTIFF):
// of microscope stacks, of pictures, and of the Exif data in other pictures.
//
// A File has pages, each a Directory of tags. A Page is a directory whose tags say how its numbers are stored, in
// strips or tiles; Decode reads them as float32, a plane for each sample of a pixel. What the numbers mean (colours,
// channels, depths of a stack) is the caller's business. Nothing that a file claims is trusted: reading takes memory in
// proportion to its bytes, and an error names the page and the tag. An UnreadError is of a whole file in a variant that
// is not read; every other error is damage.
package tiff

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Tags of TIFF 6.0 and its supplements: those of a page's meaning, for callers, and those of its storage.
const (
	Description     = 270
	Photometric     = 262
	Orientation     = 274
	XResolution     = 282
	YResolution     = 283
	ColorMap        = 320
	ExtraSamples    = 338
	DNGVersion      = 50706
	tagSubfileType  = 254
	tagWidth        = 256
	tagLength       = 257
	tagBits         = 258
	tagCompression  = 259
	tagFillOrder    = 266
	tagStripOffsets = 273
	tagSamples      = 277
	tagRowsPerStrip = 278
	tagStripCounts  = 279
	tagPlanar       = 284
	tagT4Options    = 292
	tagT6Options    = 293
	tagUnit         = 296
	tagPredictor    = 317
	tagTileWidth    = 322
	tagTileLength   = 323
	tagTileOffsets  = 324
	tagTileCounts   = 325
	tagSampleFormat = 339
)

var tagNames = map[uint16]string{
	tagSubfileType: "NewSubfileType", tagWidth: "ImageWidth", tagLength: "ImageLength", tagBits: "BitsPerSample",
	tagCompression: "Compression",
	Photometric:    "PhotometricInterpretation", tagFillOrder: "FillOrder", Description: "ImageDescription",
	Orientation:     "Orientation",
	tagStripOffsets: "StripOffsets", tagSamples: "SamplesPerPixel", tagRowsPerStrip: "RowsPerStrip",
	tagStripCounts: "StripByteCounts",
	XResolution:    "XResolution", YResolution: "YResolution", tagPlanar: "PlanarConfiguration",
	tagT4Options: "T4Options", tagT6Options: "T6Options",
	tagPredictor: "Predictor", ColorMap: "ColorMap", tagTileWidth: "TileWidth", tagTileLength: "TileLength",
	tagTileOffsets: "TileOffsets",
	tagTileCounts:  "TileByteCounts", ExtraSamples: "ExtraSamples", tagSampleFormat: "SampleFormat",
}

// kindBytes is the size of a value of each of TIFF's field types.
var kindBytes = map[uint16]uint64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4,
	16: 8, 17: 8, 18: 8}

// kindRational is the type of a fraction of two numbers of 32 bits.
const kindRational = 5

// MaxPages bounds the number of pages of a file.
const MaxPages = 1 << 20

// Bounds of what a directory may claim.
const (
	maxFields      = 1 << 10 // of a page; writers use about 20
	maxDescription = 1 << 24 // bytes
)

// File is an open TIFF file, classic or BigTIFF.
type File struct {
	r       io.ReaderAt
	size    int64
	order   binary.ByteOrder
	big     bool
	first   uint64   // offset of the first page's directory
	pages   []uint64 // offsets of the directories, after Pages
	read    int64    // bytes read so far, each counted once
	budget  int64    // bytes that directories may still take
	decoder decoder
}

// field is an entry of a directory: count values of a kind, in value if they fit into it,
// or at the offset that value holds.
type field struct {
	kind  uint16
	count uint64
	value [8]byte
}

// Directory is the tags of one page.
type Directory struct {
	file   *File
	page   int   // counted from 1, as messages count
	size   int64 // bytes
	fields map[uint16]field
}

// Is reports whether a file that begins with head is TIFF or BigTIFF.
func Is(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch string(head[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+":
		return true
	}
	return false
}

// Open reads the header of a file of size bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	// Directories that do not overlap take no more than the file; each is read twice at most.
	t := &File{r: r, size: size, order: binary.LittleEndian, read: 8, budget: 2 * size}
	head, err := t.bytes(0, 8)
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
	head, err = t.bytes(8, 8)
	if err != nil {
		return nil, err
	}
	t.first = t.order.Uint64(head)
	return t, nil
}

// bytes reads n bytes.
func (t *File) bytes(at, n uint64) ([]byte, error) {
	if at > uint64(t.size) || n > uint64(t.size)-at {
		return nil, fmt.Errorf("%d bytes at %d are outside the file of %d bytes: is it truncated?", n, at, t.size)
	}
	buf := make([]byte, n)
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
func (t *File) spend(n uint64) error {
	if n > uint64(t.budget) {
		return errors.New("directories that overlap: the file is damaged")
	}
	t.budget -= int64(n)
	return nil
}

// number reads an unsigned number of a field type from the start of b.
func (t *File) number(kind uint16, b []byte) (uint64, bool) {
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

func (t *File) shape() shape {
	if t.big {
		return shape{8, 20, 8}
	}
	return shape{2, 12, 4}
}

// tags reads the number of tags of a page's directory.
func (t *File) tags(at uint64) (uint64, error) {
	head, err := t.bytes(at, t.shape().count)
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
func (t *File) offset(b []byte) uint64 {
	if t.big {
		return t.order.Uint64(b)
	}
	return uint64(t.order.Uint32(b))
}

// next reads where the directory after the one at an offset is, 0 after the last one.
func (t *File) next(at uint64) (uint64, error) {
	n, err := t.tags(at)
	if err != nil {
		return 0, err
	}
	s := t.shape()
	b, err := t.bytes(at+s.count+n*s.entry, s.offset)
	if err != nil {
		return 0, err
	}
	t.read += int64(s.count + s.offset)
	return t.offset(b), nil
}

// Pages finds the pages and returns their number.
func (t *File) Pages(ctx context.Context) (int, error) {
	t.pages = nil
	seen := make(map[uint64]bool)
	for at := t.first; at != 0; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if seen[at] {
			return 0, fmt.Errorf("page %d follows itself: the file is damaged", len(t.pages)+1)
		}
		if len(t.pages) == MaxPages {
			return 0, fmt.Errorf("more than %d pages", MaxPages)
		}
		seen[at] = true
		t.pages = append(t.pages, at)
		next, err := t.next(at)
		if err != nil {
			return 0, fmt.Errorf("page %d: %w", len(t.pages), err)
		}
		at = next
	}
	if len(t.pages) == 0 {
		return 0, errors.New("no pages")
	}
	return len(t.pages), nil
}

// BytesRead is how much of the file was read, each byte counted once.
func (t *File) BytesRead() int64 { return t.read }

// First reads the tags of the first page, and whether others follow. It needs no call of Pages.
func (t *File) First() (d *Directory, more bool, err error) {
	if d, err = t.directory(1, t.first); err != nil {
		return nil, false, err
	}
	next, err := t.next(t.first)
	return d, err == nil && next != 0, nil
}

// Directory reads the tags of a page, counted from 0.
func (t *File) Directory(index int) (*Directory, error) {
	return t.directory(index+1, t.pages[index])
}

// Page reads how a page is stored, counted from 0.
func (t *File) Page(index int) (*Page, error) {
	d, err := t.Directory(index)
	if err != nil {
		return nil, err
	}
	return d.Layout()
}

// directory reads the tags of the page at an offset, counted from 1.
func (t *File) directory(page int, at uint64) (*Directory, error) {
	n, err := t.tags(at)
	s := t.shape()
	if err == nil {
		err = t.spend(s.count + n*s.entry)
	}
	var table []byte
	if err == nil {
		table, err = t.bytes(at+s.count, n*s.entry)
	}
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", page, err)
	}
	d := &Directory{file: t, page: page, size: int64(len(table)), fields: make(map[uint16]field, n)}
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

// UnreadError is a tag whose value is no damage, but none of those that are read.
type UnreadError struct {
	Page  int // from 1
	Tag   uint16
	Value string
	Must  string // what is read
}

// Name is the name of the tag in TIFF's specification.
func (e *UnreadError) Name() string { return tagNames[e.Tag] }

func (e *UnreadError) Error() string {
	return fmt.Sprintf("page %d: %s (tag %d): %s: must be %s", e.Page, e.Name(), e.Tag, e.Value, e.Must)
}

// unread is an UnreadError about a tag of the page.
func (d *Directory) unread(tag uint16, must, format string, args ...any) error {
	return &UnreadError{Page: d.page, Tag: tag, Value: fmt.Sprintf(format, args...), Must: must}
}

// Fault is an error about a tag of the page.
func (d *Directory) Fault(tag uint16, format string, args ...any) error {
	return fmt.Errorf("page %d: %s (tag %d): %w", d.page, tagNames[tag], tag, fmt.Errorf(format, args...))
}

// data returns the bytes of a tag's values, nil if the page has no such tag.
func (d *Directory) data(tag uint16) (field, []byte, error) {
	f, ok := d.fields[tag]
	if !ok || f.count == 0 {
		return field{}, nil, nil
	}
	size := kindBytes[f.kind]
	if size == 0 {
		return f, nil, d.Fault(tag, "field type %d: must be one of TIFF's", f.kind)
	}
	if f.count <= d.file.shape().offset/size {
		return f, f.value[:f.count*size], nil
	}
	if f.count > uint64(d.file.size)/size {
		return f, nil, d.Fault(tag, "%d values in a file of %d bytes: is it truncated?", f.count, d.file.size)
	}
	if err := d.file.spend(f.count * size); err != nil {
		return f, nil, d.Fault(tag, "%w", err)
	}
	b, err := d.file.bytes(d.file.offset(f.value[:]), f.count*size)
	if err != nil {
		return f, nil, d.Fault(tag, "%w", err)
	}
	d.file.read += int64(len(b))
	return f, b, nil
}

// Has reports whether the page has a tag.
func (d *Directory) Has(tag uint16) bool {
	_, has := d.fields[tag]
	return has
}

// Reduced reports whether the page is a thumbnail or a mask of another one.
func (d *Directory) Reduced() (bool, error) {
	kind, err := d.Number(tagSubfileType, 0)
	return kind&(1|4) != 0, err
}

// Numbers returns a tag's unsigned numbers, none if the page has no such tag.
func (d *Directory) Numbers(tag uint16) ([]uint64, error) {
	f, b, err := d.data(tag)
	if err != nil || b == nil {
		return nil, err
	}
	values := make([]uint64, f.count)
	size := kindBytes[f.kind]
	for i := range values {
		v, ok := d.file.number(f.kind, b[uint64(i)*size:])
		if !ok {
			return nil, d.Fault(tag, "field type %d: must be whole numbers", f.kind)
		}
		values[i] = v
	}
	return values, nil
}

// Number returns a tag's first number, or a default if the page has no such tag.
func (d *Directory) Number(tag uint16, missing uint64) (uint64, error) {
	values, err := d.Numbers(tag)
	if err != nil || len(values) == 0 {
		return missing, err
	}
	return values[0], nil
}

// Text returns a tag's text, without the zeros that end it.
func (d *Directory) Text(tag uint16) (string, error) {
	if f := d.fields[tag]; f.count > maxDescription {
		return "", d.Fault(tag, "%d bytes: must be %d at most", f.count, maxDescription)
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

// Fraction returns a tag's first fraction, 0 if it has none that is finite and positive.
func (d *Directory) Fraction(tag uint16) (float64, error) {
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
