//go:build !amd64 || noasm

package vec

// TapSum computes a TapSum of pairs, in x and w, for vectors of pixels.
func (p Pairs) TapSum(t *TapSum, pixels *Pixels) { t.sum(pixels, p.TapLanes(), true) }

// Outer is Set's Outer for pairs in a and b.
func (Pairs) Outer(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	outerPairs(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// Dots is Set's Dots for pairs in a and x.
func (Pairs) Dots(out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	dotsPairs(out, pitch, rows, a, stride, n, x, segments)
}
