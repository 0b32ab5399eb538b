package half

import (
	"unsafe"

	"prismtop/sim/cpu/vec"
)

// PairRows interleaves rows of two matrices of bfloat16; see pairRows.
func PairRows(s vec.Set, y []float32, yPitch int, even, odd []uint16, pitch, rows, n int) {
	if s != vec.AVX512 || rows <= 0 || n <= 0 {
		pairRows(y, yPitch, even, odd, pitch, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+n-1], even[(rows-1)*pitch+n-1], odd[(rows-1)*pitch+n-1]
	pairRowsAVX512(&y[0], yPitch, &even[0], &odd[0], pitch, rows, n)
}

// PairTaps interleaves kernels of 4×4 taps; see pairTaps.
func PairTaps(s vec.Set, y []float32, even, odd []uint16, order *[taps]uint32) {
	kernels := len(y) / taps
	if s != vec.AVX512 || kernels == 0 {
		pairTaps(y, even, odd, order)
		return
	}
	_, _ = even[taps*kernels-1], odd[taps*kernels-1]
	pairTapsAVX512(&y[0], &even[0], &odd[0], &order[0], kernels)
}

// RoundPairs interleaves rows of two matrices, rounded to bfloat16; see roundPairs.
func RoundPairs(p vec.Pairs, y []float32, yPitch int, even, odd []float32, pitch, rows, n int) {
	if p != vec.BF16 || rows <= 0 || n <= 0 {
		roundPairs(y, yPitch, even, odd, pitch, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+n-1], even[(rows-1)*pitch+n-1], odd[(rows-1)*pitch+n-1]
	pairsBF16((*uint16)(unsafe.Pointer(&y[0])), 2*yPitch, &even[0], &odd[0], pitch, rows, n)
}

// LargestPairs computes the largest of four bfloat16; see largestPairs.
func LargestPairs(s vec.Set, y, above, below []uint16) {
	n := len(y)
	if s != vec.AVX512 || n == 0 {
		largestPairs(y, above, below)
		return
	}
	_, _ = above[2*n-1], below[2*n-1]
	largestPairsAVX512(&y[0], pairAt(above), pairAt(below), n)
}

func pairAt(x []uint16) *float32 { return (*float32)(unsafe.Pointer(&x[0])) }

// TilePairs lays out rows of two matrices for a TileProduct; see tilePairs.
func TilePairs(s vec.Set, y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	if s != vec.AVX512 || rows <= 0 || n <= 0 {
		tilePairs(y, yPitch, even, odd, pitch, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+2*n-1], even[(rows-1)*pitch+n-1], odd[(rows-1)*pitch+n-1]
	pairsAVX512(&y[0], yPitch, &even[0], &odd[0], pitch, rows, n)
}

// TilePairColumns lays out elements that lie a stride apart for a TileProduct; see
// tilePairColumns. Sixteen strides fit 32 bits.
func TilePairColumns(s vec.Set, y []uint16, even, odd []float32, stride, n int) {
	if s != vec.AVX512 || n <= 0 {
		tilePairColumns(y, even, odd, stride, n)
		return
	}
	_, _, _ = y[2*n-1], even[(n-1)*stride], odd[(n-1)*stride]
	pairColumnsAVX512(&y[0], &even[0], &odd[0], stride, n)
}
