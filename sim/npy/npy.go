// Package npy reads and writes NumPy's NPY arrays and NPZ archives.
//
// Arrays from anywhere are read with ReadHeader, ElementOf and OpenArchive:
// archives may be packed by any zip tool. ReadStrict is for archives whose every
// byte matters, such as reference vectors: it accepts only files as written by
// NumPy and archive/zip, and rejects a file in which any byte has changed.
package npy

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// magic begins every NPY file; its version follows.
const magic = "\x93NUMPY"

// extension is the suffix that NPZ adds to an array's name.
const extension = ".npy"

// IsArray reports whether a file that begins with head is an NPY array.
func IsArray(head []byte) bool { return strings.HasPrefix(string(head), magic) }

// IsArchive reports whether a file that begins with head is a zip archive.
func IsArchive(head []byte) bool {
	return strings.HasPrefix(string(head), "PK\x03\x04") || strings.HasPrefix(string(head), "PK\x05\x06")
}

// Encode returns an NPY file, version 1.0, of rows×columns float32, row by row and
// bit for bit. If ctx ends first, its error is returned.
func Encode(ctx context.Context, values []float32, rows, columns int) ([]byte, error) {
	out := header("<f4", []int{rows, columns})
	out = slices.Grow(out, 4*len(values))
	for i, v := range values {
		if i%columns == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out, nil
}

// Element reads numbers of one type.
type Element struct {
	Complex bool                 // two numbers per element, real and imaginary part
	Size    int                  // bytes of a number
	Read    func([]byte) float64 // the number at the start of the bytes
}

// ElementOf returns the element type of NumPy's name for it, such as "<f4".
// It supports booleans, integers, and real and complex floating point numbers of
// up to 64 bits. All values fit a float64, 64-bit integers within ±2^53.
func ElementOf(kind string) (e Element, known bool) {
	var order binary.ByteOrder = binary.LittleEndian
	if len(kind) > 0 && strings.ContainsRune("<>|=", rune(kind[0])) {
		if kind[0] == '>' {
			order = binary.BigEndian
		}
		kind = kind[1:]
	}
	float32s := func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }
	float64s := func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }
	switch kind {
	case "b1", "u1":
		return Element{false, 1, func(b []byte) float64 { return float64(b[0]) }}, true
	case "i1":
		return Element{false, 1, func(b []byte) float64 { return float64(int8(b[0])) }}, true
	case "u2":
		return Element{false, 2, func(b []byte) float64 { return float64(order.Uint16(b)) }}, true
	case "i2":
		return Element{false, 2, func(b []byte) float64 { return float64(int16(order.Uint16(b))) }}, true
	case "u4":
		return Element{false, 4, func(b []byte) float64 { return float64(order.Uint32(b)) }}, true
	case "i4":
		return Element{false, 4, func(b []byte) float64 { return float64(int32(order.Uint32(b))) }}, true
	case "u8":
		return Element{false, 8, func(b []byte) float64 { return float64(order.Uint64(b)) }}, true
	case "i8":
		return Element{false, 8, func(b []byte) float64 { return float64(int64(order.Uint64(b))) }}, true
	case "f4":
		return Element{false, 4, float32s}, true
	case "f8":
		return Element{false, 8, float64s}, true
	case "c8":
		return Element{true, 4, float32s}, true
	case "c16":
		return Element{true, 8, float64s}, true
	}
	return Element{}, false
}

// JoinShape formats a shape as NumPy does, without the parentheses; beyond eight
// axes, only the first eight.
func JoinShape(shape []int64) string {
	parts := make([]string, len(shape))
	for i, v := range shape {
		parts[i] = strconv.FormatInt(v, 10)
		if i == 8 {
			return strings.Join(append(parts[:8], "…"), ", ")
		}
	}
	return strings.Join(parts, ", ")
}
