package vec

import (
	"math"
	"unsafe"

	"prismtop/sim/cpu/vec/internal/plain"
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

// outerPairs is outer for pairs in a and b.
func outerPairs(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	for m := range rows {
		for v := range panels {
			y := c[m*cm+v*cv:][:PatchFloats]
			if !add {
				clear(y)
			}
			for t := range k {
				plain.AxpyPairs(y, b[t*bk+v*bv:][:PatchFloats], a[m*am+t*ak])
			}
		}
	}
}

// dotsPairs is dots for pairs in a and x.
func dotsPairs(out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	for r := range rows {
		for k, s := range segments {
			total, run := float32(0), x[s:][:n]
			for i, v := range a[r*stride:][:n] {
				total = plain.PairProduct(total, v, run[i])
			}
			out[r*pitch+k] += total
		}
	}
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

// pairTaps interleaves the 4×4 taps of kernels of two rows of weights in an order:
//
//	y[16·k + i] = (even[16·k + order[i]], odd[16·k + order[i]])
func pairTaps(y []float32, even, odd []uint16, order *[PatchFloats]uint32) {
	for k := 0; k+PatchFloats <= len(y); k += PatchFloats {
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
