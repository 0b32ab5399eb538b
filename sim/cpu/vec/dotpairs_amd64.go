//go:build !noasm

package vec

import "unsafe"

// Outer is Set's Outer for pairs in a and b.
func (p Pairs) Outer(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	if p != BF16 || rows <= 0 || panels <= 0 || k <= 0 {
		outerPairs(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
		return
	}
	checkOuter(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k)
	outerPanels(&outerPairKernels, c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// outerPairKernels are Outer's kernels for pairs.
var outerPairKernels = outerKernels{
	two: []outerTile{{8, outer8x2BF16}, {4, outer4x2BF16}, {2, outer2x2BF16}, {1, outer1x2BF16}},
	one: []outerTile{{16, outer16x1BF16}, {8, outer8x1BF16}, {4, outer4x1BF16}, {2, outer2x1BF16}, {1, outer1x1BF16}},
}

// Dots is Set's Dots for pairs in a and x.
func (p Pairs) Dots(out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	if p != BF16 || rows <= 0 || n <= 0 || len(segments) == 0 {
		dotsPairs(out, pitch, rows, a, stride, n, x, segments)
		return
	}
	AVX512.dotRuns(true, out, pitch, rows, a, stride, n, x, segments)
}

// PairRows interleaves rows of two matrices of bfloat16; see pairRows.
func (s Set) PairRows(y []float32, yPitch int, even, odd []uint16, pitch, rows, n int) {
	if s != AVX512 || rows <= 0 || n <= 0 {
		pairRows(y, yPitch, even, odd, pitch, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+n-1], even[(rows-1)*pitch+n-1], odd[(rows-1)*pitch+n-1]
	pairRowsAVX512(&y[0], yPitch, &even[0], &odd[0], pitch, rows, n)
}

// PairTaps interleaves kernels of 4×4 taps; see pairTaps.
func (s Set) PairTaps(y []float32, even, odd []uint16, order *[PatchFloats]uint32) {
	kernels := len(y) / PatchFloats
	if s != AVX512 || kernels == 0 {
		pairTaps(y, even, odd, order)
		return
	}
	_, _ = even[PatchFloats*kernels-1], odd[PatchFloats*kernels-1]
	pairTapsAVX512(&y[0], &even[0], &odd[0], &order[0], kernels)
}

// Round interleaves rows of two matrices, rounded to bfloat16; see roundPairs.
func (p Pairs) Round(y []float32, yPitch int, even, odd []float32, pitch, rows, n int) {
	if p != BF16 || rows <= 0 || n <= 0 {
		roundPairs(y, yPitch, even, odd, pitch, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+n-1], even[(rows-1)*pitch+n-1], odd[(rows-1)*pitch+n-1]
	pairsBF16((*uint16)(unsafe.Pointer(&y[0])), 2*yPitch, &even[0], &odd[0], pitch, rows, n)
}

// LargestPairs computes the largest of four bfloat16; see largestPairs.
func (s Set) LargestPairs(y, above, below []uint16) {
	n := len(y)
	if s != AVX512 || n == 0 {
		largestPairs(y, above, below)
		return
	}
	_, _ = above[2*n-1], below[2*n-1]
	largestPairsAVX512(&y[0], pairAt(above), pairAt(below), n)
}

func pairAt(x []uint16) *float32 { return (*float32)(unsafe.Pointer(&x[0])) }
