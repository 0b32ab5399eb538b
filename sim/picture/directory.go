package picture

import (
	"encoding/binary"
	"io"
)

// directory is the first image file directory of a TIFF file, also the format of
// Exif data (TIFF 6.0, page 14): tags with their values.
type directory struct {
	r       io.ReaderAt
	order   binary.ByteOrder
	entries map[uint16]tiffEntry
	sorted  bool // sorted by tag, as the specification requires
	more    bool // another directory follows
}

// tiffEntry is a tag's value: count numbers of a kind, in field when they fit in
// it, otherwise at the offset that field holds.
type tiffEntry struct {
	kind  uint16
	count uint32
	field [4]byte
}

// readDirectory reads the first directory; ok is false if there is none.
func readDirectory(r io.ReaderAt) (d directory, ok bool) {
	var head [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return d, false
	}
	switch string(head[:4]) {
	case "II*\x00":
		d.order = binary.LittleEndian
	case "MM\x00*":
		d.order = binary.BigEndian
	default:
		return d, false
	}
	d.r = r
	at := int64(d.order.Uint32(head[4:]))
	if _, err := r.ReadAt(head[:2], at); err != nil {
		return d, false
	}
	// 786 KB at most.
	table := make([]byte, 12*int(d.order.Uint16(head[:])))
	n, _ := r.ReadAt(table, at+2)
	if n < len(table) {
		return d, false
	}
	d.read(table)
	if n, _ := r.ReadAt(head[:4], at+2+int64(len(table))); n == 4 {
		d.more = d.order.Uint32(head[:]) != 0
	}
	return d, true
}

// read reads the entries of the table, keeping the first of each tag.
func (d *directory) read(table []byte) {
	d.entries, d.sorted = map[uint16]tiffEntry{}, true
	last := -1
	for ; len(table) > 0; table = table[12:] {
		tag := d.order.Uint16(table)
		if int(tag) <= last {
			d.sorted = false
		}
		last = int(tag)
		if _, seen := d.entries[tag]; !seen {
			e := tiffEntry{kind: d.order.Uint16(table[2:]), count: d.order.Uint32(table[4:])}
			copy(e.field[:], table[8:])
			d.entries[tag] = e
		}
	}
}

func (d *directory) has(tag uint16) bool {
	_, ok := d.entries[tag]
	return ok
}

// numbers returns the first 16 values of a tag, enough for tags with one value
// per sample of a pixel.
func (d *directory) numbers(tag uint16) []uint32 { return d.values(tag, 16) }

// values returns at most limit values of a tag that holds unsigned integers; none
// if the tag is missing or its values lie outside the file.
func (d *directory) values(tag uint16, limit uint32) []uint32 {
	e := d.entries[tag]
	size := 0
	switch e.kind {
	case 1: // BYTE
		size = 1
	case 3: // SHORT
		size = 2
	case 4: // LONG
		size = 4
	default:
		return nil
	}
	raw := e.field[:]
	values := make([]uint32, min(e.count, limit))
	if uint64(e.count)*uint64(size) > uint64(len(raw)) {
		raw = make([]byte, len(values)*size)
		if n, _ := d.r.ReadAt(raw, int64(d.order.Uint32(e.field[:]))); n < len(raw) {
			return nil
		}
	}
	for i := range values {
		switch size {
		case 1:
			values[i] = uint32(raw[i])
		case 2:
			values[i] = uint32(d.order.Uint16(raw[2*i:]))
		case 4:
			values[i] = d.order.Uint32(raw[4*i:])
		}
	}
	return values
}

// number returns the first value of a tag, or otherwise if there is none.
func (d *directory) number(tag uint16, otherwise uint32) uint32 {
	if values := d.numbers(tag); len(values) > 0 {
		return values[0]
	}
	return otherwise
}
