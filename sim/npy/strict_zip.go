package npy

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"unicode"

	"prismtop/profiles/inputfile"
)

// The zip records are read here and not by archive/zip, which ignores local
// headers and would not notice changed bytes in them.

// Signatures and sizes of the zip records, and the bits of its flags.
const (
	localSignature     = 0x04034b50
	directorySignature = 0x02014b50
	endSignature       = 0x06054b50
	trailerSignature   = 0x08074b50

	localSize     = 30
	directorySize = 46
	endSize       = 22
	trailerSize   = 16

	encryptedFlag = 1 << 0
	trailerFlag   = 1 << 3 // sizes and checksum follow the data

	stored   = 0
	deflated = 8

	zip64Field = 1
	large      = 0xffffffff // the size is in the zip64 field
)

// entry is one array's record in the directory.
type entry struct {
	name                 string // without .npy
	fixed                [10]byte
	flags, method        uint16
	crc, packed, size    uint32
	extra                []byte
	made                 uint16
	internal, attributes uint32
	offset               int
}

// printable returns a name that is safe to display: names in a file may contain
// anything, even terminal control sequences.
func printable(name string) string {
	if strings.ContainsFunc(name, unprintable) {
		return strconv.Quote(name)
	}
	return name
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// parseDirectory reads the directory at the end of the file and returns its
// entries and its offset.
func parseDirectory(data []byte) (entries []entry, start int, err error) {
	if len(data) < endSize || binary.LittleEndian.Uint32(data[len(data)-endSize:]) != endSignature {
		return nil, 0, errors.New("not an NPZ file: no zip end record at its end")
	}
	end := data[len(data)-endSize:]
	u16 := func(i int) int { return int(binary.LittleEndian.Uint16(end[i:])) }
	size, start := int(binary.LittleEndian.Uint32(end[12:])), int(binary.LittleEndian.Uint32(end[16:]))
	count := u16(8)
	if u16(4) != 0 || u16(6) != 0 || u16(10) != count || u16(20) != 0 || start+size != len(data)-endSize {
		return nil, 0, errors.New("zip: the end record contradicts itself or the file's size")
	}
	rest := data[start : start+size]
	names := map[string]bool{}
	for range count {
		var e entry
		if e, rest, err = parseEntry(rest); err != nil {
			return nil, 0, err
		}
		if names[e.name] {
			return nil, 0, Damage{e.name, errors.New("is in the file twice")}
		}
		names[e.name] = true
		if first := entries; len(first) > 0 && !e.agrees(first[0]) {
			return nil, 0, Damage{e.name, errors.New("its directory entry has other attributes than the first one's")}
		}
		entries = append(entries, e)
	}
	if len(rest) != 0 {
		return nil, 0, errors.New("zip: the directory is longer than its entries")
	}
	return entries, start, nil
}

// parseEntry reads one directory entry and returns the rest.
func parseEntry(data []byte) (e entry, rest []byte, err error) {
	if len(data) < directorySize {
		return entry{}, nil, errors.New("zip: the directory is cut off")
	}
	u16 := func(i int) uint16 { return binary.LittleEndian.Uint16(data[i:]) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(data[i:]) }
	name, extra, comment := int(u16(28)), int(u16(30)), int(u16(32))
	if len(data) < directorySize+name+extra+comment {
		return entry{}, nil, errors.New("zip: a directory entry is cut off")
	}
	full := string(data[directorySize : directorySize+name])
	e = entry{
		name: strings.TrimSuffix(full, extension),
		made: u16(4), flags: u16(8), method: u16(10), crc: u32(16), packed: u32(20), size: u32(24),
		internal: uint32(u16(36)), attributes: u32(38), offset: int(u32(42)),
		extra: data[directorySize+name : directorySize+name+extra],
	}
	copy(e.fixed[:], data[6:16])
	switch {
	case u32(0) != directorySignature:
		return entry{}, nil, Damage{e.name, errors.New("its directory entry is damaged")}
	case !strings.HasSuffix(full, extension) || e.name == "" || strings.ContainsFunc(full, unprintable):
		return entry{}, nil, Damage{full, errors.New("is no .npy array")}
	case u16(34) != 0 || comment != 0:
		return entry{}, nil, Damage{e.name, errors.New("its directory entry has a comment or another disk")}
	case e.flags&encryptedFlag != 0:
		return entry{}, nil, Damage{e.name, errors.New("is encrypted")}
	}
	return e, data[directorySize+name+extra+comment:], nil
}

// agrees checks fields that a writer sets alike in all entries, and those that
// occur only in the directory.
func (e entry) agrees(f entry) bool {
	return e.made == f.made && e.internal == f.internal && e.attributes == f.attributes
}

// contents checks the local header at an offset against the directory entry and
// returns the entry's packed data and the offset after it.
func (e entry) contents(data []byte, at int) (packed []byte, next int, err error) {
	cut := errors.New("is cut off")
	if len(data)-at < localSize {
		return nil, 0, cut
	}
	h := data[at:]
	u16 := func(i int) int { return int(binary.LittleEndian.Uint16(h[i:])) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(h[i:]) }
	name, extra := u16(26), u16(28)
	body := localSize + name + extra
	if len(h) < body {
		return nil, 0, cut
	}
	// Version, flags, method, time and date are identical in both headers.
	if u32(0) != localSignature || !bytes.Equal(h[4:14], e.fixed[:]) || string(h[localSize:localSize+name]) != e.name+extension {
		return nil, 0, errors.New("its header differs from the directory")
	}
	if err := e.checkSizes(u32(14), u32(18), u32(22), h[localSize+name:body]); err != nil {
		return nil, 0, err
	}
	trailer := 0
	if e.flags&trailerFlag != 0 {
		trailer = trailerSize
	}
	if left := int64(len(h) - body - trailer); int64(e.packed) > left {
		return nil, 0, sizeDamage(uint64(e.packed), uint64(max(left, 0)))
	}
	stop := body + int(e.packed)
	if trailer > 0 {
		if err := e.checkTrailer(h[stop:]); err != nil {
			return nil, 0, err
		}
	}
	return h[body:stop], at + stop + trailer, nil
}

// sizeDamage describes how a size in the directory differs from the size that the
// file's own header, or its end, implies for the array.
func sizeDamage(directory, file uint64) error {
	return fmt.Errorf("is damaged: the directory says %d bytes, the file has %d", directory, file)
}

// checkTrailer compares the checksum and sizes after the data with the
// directory's.
func (e entry) checkTrailer(trailer []byte) error {
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(trailer[i:]) }
	if u32(0) != trailerSignature || u32(4) != e.crc || u32(8) != e.packed {
		return errors.New("its trailer differs from the directory")
	}
	if size := u32(12); size != e.size {
		return sizeDamage(uint64(e.size), uint64(size))
	}
	return nil
}

// checkSizes compares the local header's checksum and sizes with the
// directory's. They are zero if a trailer has them. NumPy repeats the sizes in a
// zip64 field.
func (e entry) checkSizes(crc, packed, size uint32, extra []byte) error {
	wantCRC, wantPacked, wantSize := e.crc, e.packed, e.size
	if e.flags&trailerFlag != 0 {
		wantCRC, wantPacked, wantSize = 0, 0, 0
	}
	if len(extra) == 20 && binary.LittleEndian.Uint16(extra) == zip64Field {
		if binary.LittleEndian.Uint16(extra[2:]) != 16 {
			return errors.New("its zip64 field is damaged")
		}
		if longSize := binary.LittleEndian.Uint64(extra[4:]); longSize != uint64(wantSize) {
			return sizeDamage(uint64(e.size), longSize)
		}
		if longPacked := binary.LittleEndian.Uint64(extra[12:]); longPacked != uint64(wantPacked) {
			return sizeDamage(uint64(e.packed), longPacked)
		}
		if packed == large && size == large {
			packed, size = wantPacked, wantSize
		}
		extra = nil
	}
	if size != wantSize {
		return sizeDamage(uint64(e.size), uint64(size))
	}
	if packed != wantPacked {
		return sizeDamage(uint64(e.packed), uint64(packed))
	}
	if crc != wantCRC || !bytes.Equal(extra, e.extra) {
		return errors.New("its header differs from the directory")
	}
	return nil
}

// unpack returns the array's file after checking its length and checksum.
func (e entry) unpack(ctx context.Context, packed []byte) ([]byte, error) {
	raw := packed
	switch e.method {
	case stored:
	case deflated:
		source := bytes.NewReader(packed)
		reader := inputfile.Reader{Context: ctx, Source: flate.NewReader(source)}
		var err error
		if raw, err = io.ReadAll(io.LimitReader(reader, int64(e.size)+1)); err != nil {
			return nil, fmt.Errorf("does not unpack: %w", err)
		}
		if source.Len() != 0 {
			return nil, errors.New("has bytes after its packed data")
		}
	default:
		return nil, fmt.Errorf("is packed by method %d, which is neither stored nor deflated", e.method)
	}
	if len(raw) != int(e.size) {
		return nil, fmt.Errorf("has %d bytes, the directory says %d", len(raw), e.size)
	}
	if sum := crc32.ChecksumIEEE(raw); sum != e.crc {
		return nil, fmt.Errorf("checksum is %08x, the file says %08x: its bytes have changed", sum, e.crc)
	}
	return raw, nil
}
