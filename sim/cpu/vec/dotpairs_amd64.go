//go:build !noasm

package vec

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
