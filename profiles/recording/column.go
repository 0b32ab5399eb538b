package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A column holds one number of each iteration of a block. It is written as one of three forms,
// named by its first byte:
//
//	0        every value is 0
//	1        a varint: every value is that
//	2 to 9   a varint, the smallest value; then the lowest byte of each value's distance from it,
//	         then the next byte of each, up to 1 to 8 bytes
//
// Bytes of equal weight stand together because the high ones, which hardly differ, then compress to
// almost nothing.
const (
	allZero    = 0
	allEqual   = 1
	planesFrom = 2 // with one byte per value
)

// widestColumn is the most bytes of a column beside those of its values: whether its numbers are
// narrow, its form, and the smallest value.
const widestColumn = 2 + binary.MaxVarintLen64

// errShort reports a block that ends too early.
var errShort = errors.New("the block ends too early")

// putColumn appends a column.
func putColumn(to []byte, values []int64) []byte {
	low, high := values[0], values[0]
	for _, v := range values[1:] {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		if low == 0 {
			return append(to, allZero)
		}
		return binary.AppendVarint(append(to, allEqual), low)
	}
	width := (bits.Len64(uint64(high)-uint64(low)) + 7) / 8
	to = binary.AppendVarint(append(to, byte(planesFrom+width-1)), low)
	to = slices.Grow(to, width*len(values))
	for plane := range width {
		shift := 8 * plane
		for _, v := range values {
			to = append(to, byte((uint64(v)-uint64(low))>>shift))
		}
	}
	return to
}

// takeColumn fills values from the beginning of data and returns the rest.
func takeColumn(data []byte, values []int64) ([]byte, error) {
	if len(data) == 0 {
		return nil, errShort
	}
	form, data := data[0], data[1:]
	if form == allZero {
		clear(values)
		return data, nil
	}
	low, n := binary.Varint(data)
	if n <= 0 {
		return nil, errShort
	}
	data = data[n:]
	for i := range values {
		values[i] = low
	}
	if form == allEqual {
		return data, nil
	}
	width := int(form) - planesFrom + 1
	if width > 8 {
		return nil, fmt.Errorf("a column has the unknown form %d", form)
	}
	if len(data) < width*len(values) {
		return nil, errShort
	}
	for plane := range width {
		shift := 8 * plane
		for i, b := range data[:len(values)] {
			values[i] += int64(uint64(b) << shift)
		}
		data = data[len(values):]
	}
	return data, nil
}

// The following functions convert a float64 to an integer whose differences are small where those
// of the numbers are: the bits of the number. Numbers that are float32 in truth, as the losses of a
// network, take the bits of those.

func single(v float64) bool { return float64(float32(v)) == v }

func wideBits(v float64) int64   { return int64(math.Float64bits(v)) }
func singleBits(v float64) int64 { return int64(math.Float32bits(float32(v))) }

func fromWide(b int64) float64   { return math.Float64frombits(uint64(b)) }
func fromSingle(b int64) float64 { return float64(math.Float32frombits(uint32(b))) }
