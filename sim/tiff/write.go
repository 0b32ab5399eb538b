package tiff

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Pages are planes of bytes or float32 to be written, one a page.
type Pages[T uint8 | float32] struct {
	Width, Height           int
	Description             string  // of the first page
	PixelWidth, PixelHeight float64 // in the unit that Description names, 0 if unknown
	Planes                  [][]T
}

// Resolutions returns the values of XResolution and YResolution, pixels per unit as fractions, nil if unknown.
func Resolutions(pixelWidth, pixelHeight float64) []byte {
	var b []byte
	for _, v := range []float64{pixelWidth, pixelHeight} {
		below := math.Round(v * 1e6)
		if !(below >= 1 && below <= math.MaxUint32) {
			return nil
		}
		b = binary.LittleEndian.AppendUint32(b, 1e6)
		b = binary.LittleEndian.AppendUint32(b, uint32(below))
	}
	return b
}

// entry is a tag of a page: a number, or the offset of values elsewhere.
type entry struct {
	tag, kind    uint16
	count, value uint32
}

// Field types of TIFF.
const (
	kindText  = 2
	kindShort = 3
	kindLong  = 4
)

// Write writes a classic TIFF file in little-endian order, uncompressed, a strip per
// page: the header, the description and resolutions of the first page, the directories,
// and the planes.
func Write[T uint8 | float32](w io.Writer, p Pages[T]) error {
	description, planes := p.Description, p.Planes
	if description != "" {
		description += "\x00"
	}
	resolutions := Resolutions(p.PixelWidth, p.PixelHeight)
	extra := append([]byte(description), resolutions...)
	if len(extra)%2 == 1 {
		extra = append(extra, 0) // directories begin at even offsets
	}
	bits, format := uint32(8), uint32(Unsigned)
	if _, ok := any(planes).([][]float32); ok {
		bits, format = 32, Float
	}
	planeBytes := int64(len(planes[0])) * int64(bits/8)
	entries := func(page int, data int64) []entry {
		height := uint32(p.Height)
		list := []entry{{tagWidth, kindLong, 1, uint32(p.Width)}, {tagLength, kindLong, 1, height},
			{tagBits, kindShort, 1, bits},
			{tagCompression, kindShort, 1, compressionNone}, {Photometric, kindShort, 1, 1}}
		if page == 0 && description != "" {
			list = append(list, entry{Description, kindText, uint32(len(description)), 8})
		}
		list = append(list, entry{tagStripOffsets, kindLong, 1, uint32(data)}, entry{tagSamples, kindShort, 1, 1},
			entry{tagRowsPerStrip, kindLong, 1, height}, entry{tagStripCounts, kindLong, 1, uint32(planeBytes)})
		if page == 0 && resolutions != nil {
			at := 8 + uint32(len(description))
			list = append(list, entry{XResolution, kindRational, 1, at}, entry{YResolution, kindRational, 1, at + 8},
				entry{tagUnit, kindShort, 1, 1})
		}
		return append(list, entry{tagSampleFormat, kindShort, 1, format})
	}
	data := 8 + int64(len(extra))
	for i := range planes {
		data += directoryBytes(entries(i, 0))
	}
	if total := data + planeBytes*int64(len(planes)); total > math.MaxUint32 {
		return fmt.Errorf("%d bytes: must be %d at most in TIFF, write .npy instead", total, math.MaxUint32)
	}
	head := binary.LittleEndian.AppendUint32([]byte("II*\x00"), 8+uint32(len(extra)))
	head = append(head, extra...)
	for i := range planes {
		list := entries(i, data+int64(i)*planeBytes)
		next := uint32(int64(len(head)) + directoryBytes(list))
		if i == len(planes)-1 {
			next = 0
		}
		head = appendDirectory(head, list, next)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return writePlanes(w, planes)
}

// directoryBytes is the size of a directory.
func directoryBytes(list []entry) int64 { return 2 + 12*int64(len(list)) + 4 }

// appendDirectory appends a directory, and the offset of the next one.
func appendDirectory(head []byte, list []entry, next uint32) []byte {
	head = binary.LittleEndian.AppendUint16(head, uint16(len(list)))
	for _, e := range list {
		head = binary.LittleEndian.AppendUint16(head, e.tag)
		head = binary.LittleEndian.AppendUint16(head, e.kind)
		head = binary.LittleEndian.AppendUint32(head, e.count)
		head = binary.LittleEndian.AppendUint32(head, e.value)
	}
	return binary.LittleEndian.AppendUint32(head, next)
}

// writePlanes writes planes one after another in little-endian order.
func writePlanes[T uint8 | float32](w io.Writer, planes [][]T) error {
	var buffer []byte
	for _, plane := range planes {
		data := buffer[:0]
		switch plane := any(plane).(type) {
		case []uint8:
			data = plane
		case []float32:
			for _, v := range plane {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
			}
			buffer = data
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}
