//go:build !amd64 || noasm

package half

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/tensor"
)

// Widen converts elements of a 16-bit type to float32; see tensor.Widen.
func Widen(_ vec.Set, d tensor.DType, y []float32, x []uint16) { tensor.Widen(d, y, x) }

// Narrow rounds float32 values to a 16-bit type; see tensor.Narrow.
func Narrow(_ vec.Set, d tensor.DType, y []uint16, x []float32) { tensor.Narrow(d, y, x) }

// Split splits float32 values into two bfloat16 values each; see split.
func Split(_ vec.Set, high, low, x []float32) { split(high, low, x) }

// SplitSum is Split with the sum of both parts in place of the low part; see
// splitSum.
func SplitSum(_ vec.Set, high, sum, x []float32) { splitSum(high, sum, x) }

// PairRows interleaves rows of two matrices of bfloat16; see pairRows.
func PairRows(_ vec.Set, y []float32, yPitch int, even, odd []uint16, pitch, rows, n int) {
	pairRows(y, yPitch, even, odd, pitch, rows, n)
}

// PairTaps interleaves kernels of 4×4 taps; see pairTaps.
func PairTaps(_ vec.Set, y []float32, even, odd []uint16, order *[taps]uint32) {
	pairTaps(y, even, odd, order)
}

// RoundPairs interleaves rows of two matrices, rounded to bfloat16; see roundPairs.
func RoundPairs(_ vec.Pairs, y []float32, yPitch int, even, odd []float32, pitch, rows, n int) {
	roundPairs(y, yPitch, even, odd, pitch, rows, n)
}

// LargestPairs computes the largest of four bfloat16; see largestPairs.
func LargestPairs(_ vec.Set, y, above, below []uint16) { largestPairs(y, above, below) }

// TilePairs lays out rows of two matrices for a TileProduct; see tilePairs.
func TilePairs(_ vec.Set, y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	tilePairs(y, yPitch, even, odd, pitch, rows, n)
}

// TilePairColumns lays out elements that lie a stride apart for a TileProduct; see
// tilePairColumns.
func TilePairColumns(_ vec.Set, y []uint16, even, odd []float32, stride, n int) {
	tilePairColumns(y, even, odd, stride, n)
}
