//go:build !noasm

package vec

import (
	"math"
	"unsafe"
)

// Radix4 splits every group of m rows of a block into four; see radix4.
func (s Set) Radix4(block []complex64, m int, twiddles []float32) {
	if s == Go || len(block) == 0 {
		radix4(block, m, twiddles)
		return
	}
	rows := len(block) / Lanes
	if m < 4 || rows%m != 0 || len(twiddles) != 6*(m/4-1) {
		panic("vec: a radix-4 pass does not fit its block")
	}
	first := unsafe.SliceData(twiddles)
	if s == AVX512 {
		radix4AVX512(&block[0], rows, m, first)
	} else {
		radix4AVX2(&block[0], rows, m, first)
	}
}

// rootHalf is what the assembly multiplies even and odd lanes with.
var rootHalf = [2]float32{math.Sqrt2 / 2, -math.Sqrt2 / 2}

// Radix8 transforms every eight rows of a block; see radix8.
func (s Set) Radix8(block []complex64) {
	groups := len(block) / (8 * Lanes)
	switch {
	case s == Go || groups == 0:
		radix8(block)
	case s == AVX512:
		radix8AVX512(&block[0], groups, &rootHalf[0])
	default:
		radix8AVX2(&block[0], groups, &rootHalf[0])
	}
}

// NonZero tells whether an element is neither 0 nor −0.
func (s Set) NonZero(x []float32) bool {
	switch {
	case s == Go || len(x) == 0:
		return nonZero(x)
	case s == AVX512:
		return nonZeroAVX512(&x[0], len(x)) != 0
	default:
		return nonZeroAVX2(&x[0], len(x)) != 0
	}
}

// orders are the permutations of parts on the way into a block: as they are, and
// real and imaginary ones exchanged.
var orders = [2][16]uint32{
	{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3},
	{1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2},
}

// RowsIn fills a block from eight rows of a plane; see rowsIn.
func (s Set) RowsIn(block, plane []complex64, pitch, n int, swap bool) {
	groups := n / Lanes
	if s == Go || groups == 0 {
		rowsIn(block, plane, pitch, 0, n, swap)
		return
	}
	_, _ = block[n*Lanes-1], plane[(Lanes-1)*pitch+n-1]
	order := &orders[0][0]
	if swap {
		order = &orders[1][0]
	}
	if s == AVX512 {
		transposeInAVX512(&block[0], &plane[0], pitch, groups, order)
	} else {
		transposeInAVX2(&block[0], &plane[0], pitch, groups, order)
	}
	rowsIn(block, plane, pitch, groups*Lanes, n, swap)
}

// RowsOut fills eight rows of a plane from a block; see rowsOut.
func (s Set) RowsOut(plane []complex64, pitch int, block []complex64, index []int32) {
	n := len(index)
	groups := n / Lanes
	if s == Go || groups == 0 {
		rowsOut(plane, pitch, block, index, 0)
		return
	}
	_ = plane[(Lanes-1)*pitch+n-1]
	if s == AVX512 {
		transposeOutAVX512(&plane[0], pitch, &block[0], &index[0], groups)
	} else {
		transposeOutAVX2(&plane[0], pitch, &block[0], &index[0], groups)
	}
	rowsOut(plane, pitch, block, index, groups*Lanes)
}
