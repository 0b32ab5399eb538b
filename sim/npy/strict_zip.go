package npy

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"prismtop/profiles/inputfile"
)

// Sizes and signatures of the zip records (PKWARE's APPNOTE 6.3), and bits of an entry's flags.
const (
	localSignature     = 0x04034b50
	directorySignature = 0x02014b50
	endSignature       = 0x06054b50
	trailerSignature   = 0x08074b50

	encryptedFlag = 1 << 0
	trailerFlag   = 1 << 3 // sizes and checksum follow the data
)

// strictEntry is an array's place in an archive.
type strictEntry struct {
	*zip.File
	name   string // without .npy
	packed []byte
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

// strictEntries finds the arrays by archive/zip, which ignores what an archive says twice. So each record is written
// again from what archive/zip read, and must have the bytes that the file has: an archive is its data and nothing but
// the records that NumPy or archive/zip write around them.
func strictEntries(data []byte) ([]strictEntry, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("not an NPZ file, or damaged: %w", err)
	}
	var entries []strictEntry
	var directory []byte
	names := map[string]bool{}
	at := 0
	for _, f := range archive.File {
		e := strictEntry{File: f, name: strings.TrimSuffix(f.Name, extension)}
		first := archive.File[0]
		switch {
		case e.name == f.Name || e.name == "" || strings.ContainsFunc(f.Name, unprintable):
			return nil, Damage{f.Name, errors.New("is no .npy array")}
		case names[e.name]:
			return nil, Damage{e.name, errors.New("is in the file twice")}
		case f.Flags&encryptedFlag != 0:
			return nil, Damage{e.name, errors.New("is encrypted")}
		case f.CreatorVersion != first.CreatorVersion || f.ExternalAttrs != first.ExternalAttrs:
			return nil, Damage{e.name, errors.New("its directory entry has other attributes than the first one's")}
		}
		names[e.name] = true
		directory = append(directory, e.directoryRecord(at)...)
		if at, err = e.find(data, at); err != nil {
			return nil, Damage{e.name, err}
		}
		entries = append(entries, e)
	}
	end := joined(uint32(endSignature), uint32(0), uint16(len(entries)), uint16(len(entries)), uint32(len(directory)),
		uint32(at), uint16(0))
	if !bytes.Equal(data[at:], append(directory, end...)) {
		return nil, errors.New("zip: the directory or the record at its end is damaged")
	}
	return entries, nil
}

// find reads the record in front of an array's data and the one behind them, if there is one, and returns the offset
// after.
func (e *strictEntry) find(data []byte, at int) (next int, err error) {
	record := -1
	for _, r := range e.localRecords() {
		if bytes.HasPrefix(data[at:], r) {
			record = len(r)
		}
	}
	if record < 0 {
		return 0, errors.New("is damaged: its header differs from the directory")
	}
	trailer := e.trailer()
	if left := len(data) - at - record - len(trailer); left < 0 || e.CompressedSize64 > uint64(left) {
		return 0, fmt.Errorf("is damaged: the directory says %d bytes, the file has %d", e.CompressedSize64,
			max(left, 0))
	}
	start := at + record
	stop := start + int(e.CompressedSize64)
	if !bytes.HasPrefix(data[stop:], trailer) {
		return 0, errors.New("is damaged: the record behind its data differs from the directory")
	}
	e.packed = data[start:stop]
	return stop + len(trailer), nil
}

// joined are numbers and bytes one behind the other, the numbers in little-endian order.
func joined(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		b, _ = binary.Append(b, binary.LittleEndian, f) // fails for no type used here
	}
	return b
}

// record is what an array's headers in front of the data and in the directory have in common.
type record struct {
	Version, Flags, Method, Time, Date uint16
	CRC, Packed, Size                  uint32
	Name, Extra                        uint16 // their lengths
}

func (e *strictEntry) record() record {
	return record{e.ReaderVersion, e.Flags, e.Method, e.ModifiedTime, e.ModifiedDate,
		e.CRC32, uint32(e.CompressedSize64), uint32(e.UncompressedSize64), uint16(len(e.Name)), uint16(len(e.Extra))}
}

// localRecords are the headers that may stand in front of the data: with the sizes, without them if they follow, or
// with NumPy's zip64 field, which repeats them and may be there instead of them.
func (e *strictEntry) localRecords() [][]byte {
	plain := e.record()
	if e.Flags&trailerFlag != 0 {
		plain.CRC, plain.Packed, plain.Size = 0, 0, 0
	}
	zip64 := joined(uint16(1), uint16(16), uint64(plain.Size), uint64(plain.Packed))
	repeated := plain
	repeated.Extra = uint16(len(zip64))
	instead := repeated
	instead.Packed, instead.Size = math.MaxUint32, math.MaxUint32
	return [][]byte{
		joined(uint32(localSignature), plain, []byte(e.Name), e.Extra),
		joined(uint32(localSignature), repeated, []byte(e.Name), zip64),
		joined(uint32(localSignature), instead, []byte(e.Name), zip64),
	}
}

// trailer is the record behind the data, if there is one.
func (e *strictEntry) trailer() []byte {
	if e.Flags&trailerFlag == 0 {
		return nil
	}
	return joined(uint32(trailerSignature), e.CRC32, uint32(e.CompressedSize64), uint32(e.UncompressedSize64))
}

// directoryRecord is the array's entry in the directory; its header is at an offset. It has no comment, is on the first
// disk and has no attributes of the format.
func (e *strictEntry) directoryRecord(at int) []byte {
	return joined(uint32(directorySignature), e.CreatorVersion, e.record(), [6]byte{}, e.ExternalAttrs, uint32(at),
		[]byte(e.Name), e.Extra)
}

// unpack returns the array's file after checking its length and checksum.
func (e *strictEntry) unpack(ctx context.Context) ([]byte, error) {
	raw := e.packed
	switch e.Method {
	case zip.Store:
	case zip.Deflate:
		source := bytes.NewReader(e.packed)
		reader := inputfile.Reader{Context: ctx, Source: flate.NewReader(source)}
		var err error
		if raw, err = io.ReadAll(io.LimitReader(reader, int64(e.UncompressedSize64)+1)); err != nil {
			return nil, fmt.Errorf("does not unpack: %w", err)
		}
		if source.Len() != 0 {
			return nil, errors.New("has bytes after its packed data")
		}
	default:
		return nil, fmt.Errorf("is packed by method %d, which is neither stored nor deflated", e.Method)
	}
	if uint64(len(raw)) != e.UncompressedSize64 {
		return nil, fmt.Errorf("has %d bytes, the directory says %d", len(raw), e.UncompressedSize64)
	}
	if sum := crc32.ChecksumIEEE(raw); sum != e.CRC32 {
		return nil, fmt.Errorf("checksum is %08x, the file says %08x: its bytes have changed", sum, e.CRC32)
	}
	return raw, nil
}
