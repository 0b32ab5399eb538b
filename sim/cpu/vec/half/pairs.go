package half

import (
	"math"
	"unsafe"

	"prismtop/sim/tensor"
)

// Pair returns the pair of two numbers, given by their bits.
func Pair(first, second uint16) float32 {
	return math.Float32frombits(uint32(first) | uint32(second)<<16)
}

// RoundPair rounds numbers to a pair.
func RoundPair(first, second float32) float32 {
	return Pair(tensor.F32ToBF16(first), tensor.F32ToBF16(second))
}

// PairsOf returns the memory of neighbouring 16-bit numbers, even in number and at least two, as pairs.
func PairsOf(x []uint16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&x[0])), len(x)/2)
}

// HalvesOf returns the memory of pairs, at least one, as 16-bit numbers.
func HalvesOf(x []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(&x[0])), 2*len(x))
}

// pairRows interleaves n elements of rows of two matrices of bfloat16:
//
//	y[r·yPitch + i] = (even[r·pitch + i], odd[r·pitch + i])
func pairRows(y []float32, yPitch int, even, odd []uint16, pitch, rows, n int) {
	for r := range rows {
		for i := range n {
			y[r*yPitch+i] = Pair(even[r*pitch+i], odd[r*pitch+i])
		}
	}
}

// taps is the number of taps of a 4×4 kernel.
const taps = 16

// pairTaps interleaves the 4×4 taps of kernels of two rows of weights in an order:
//
//	y[16·k + i] = (even[16·k + order[i]], odd[16·k + order[i]])
func pairTaps(y []float32, even, odd []uint16, order *[taps]uint32) {
	for k := 0; k+taps <= len(y); k += taps {
		for i, tap := range order {
			y[k+i] = Pair(even[k+int(tap)], odd[k+int(tap)])
		}
	}
}

// roundPairs is pairRows for float32, which is rounded to bfloat16.
func roundPairs(y []float32, yPitch int, even, odd []float32, pitch, rows, n int) {
	for r := range rows {
		for i := range n {
			y[r*yPitch+i] = Pair(tensor.F32ToBF16(even[r*pitch+i]), tensor.F32ToBF16(odd[r*pitch+i]))
		}
	}
}

// largestPairs computes the largest of four bfloat16:
//
//	y[i] = max(above[2i], above[2i+1], below[2i], below[2i+1])
func largestPairs(y, above, below []uint16) {
	above, below = above[:2*len(y)], below[:2*len(y)]
	for i := range y {
		y[i] = tensor.F32ToBF16(max(tensor.BF16ToF32(above[2*i]), tensor.BF16ToF32(above[2*i+1]),
			tensor.BF16ToF32(below[2*i]), tensor.BF16ToF32(below[2*i+1])))
	}
}

// tilePairs rounds n elements of rows of two matrices to bfloat16 and lays them out as
// the b of a TileProduct:
//
//	y[r·yPitch + 2·i] = bf16(even[r·pitch + i]);  y[r·yPitch + 2·i + 1] = bf16(odd[r·pitch + i])
func tilePairs(y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	for r := range rows {
		for i := range n {
			y[r*yPitch+2*i] = tensor.F32ToBF16(even[r*pitch+i])
			y[r*yPitch+2*i+1] = tensor.F32ToBF16(odd[r*pitch+i])
		}
	}
}

// tilePairColumns rounds elements that lie a stride apart to bfloat16:
//
//	y[2·i] = bf16(even[i·stride]);  y[2·i + 1] = bf16(odd[i·stride])
func tilePairColumns(y []uint16, even, odd []float32, stride, n int) {
	for i := range n {
		y[2*i] = tensor.F32ToBF16(even[i*stride])
		y[2*i+1] = tensor.F32ToBF16(odd[i*stride])
	}
}
