//go:build !amd64 || noasm

package vec

// TapSum computes a TapSum of pairs, in x and w, for vectors of pixels.
func (p Pairs) TapSum(t *TapSum, pixels *Pixels) { t.sum(pixels, p.TapLanes(), true) }

// Outer is Set's Outer for pairs in a and b.
func (Pairs) Outer(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	outerPairs(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// Inner is Set's Inner for pairs in a and g.
func (Pairs) Inner(out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	innerPairs(out, pitch, rows, n, a, am, g, step, k)
}

// Combine is Set's Combine with w rounded to bfloat16.
func (Pairs) Combine(y, w []float32, pitch int, x []float32) { combine(y, rounded(w), pitch, x) }

// Products is Set's Products with w rounded to bfloat16.
func (Pairs) Products(out, w []float32, pitch int, x []float32) { products(out, rounded(w), pitch, x) }

// PairRows interleaves rows of two matrices of bfloat16; see pairRows.
func (Set) PairRows(y []float32, yPitch int, even, odd []uint16, pitch, rows, n int) {
	pairRows(y, yPitch, even, odd, pitch, rows, n)
}

// Round interleaves rows of two matrices, rounded to bfloat16; see roundPairs.
func (Pairs) Round(y []float32, yPitch int, even, odd []float32, pitch, rows, n int) {
	roundPairs(y, yPitch, even, odd, pitch, rows, n)
}

// LargestPairs computes the largest of four bfloat16; see largestPairs.
func (Set) LargestPairs(y, above, below []uint16) { largestPairs(y, above, below) }
