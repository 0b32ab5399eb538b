//go:build !noasm

package vec

// Pairs lays out rows of two matrices for a TileProduct; see pairs.
func (s Set) Pairs(y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	if s != AVX512 || rows <= 0 || n <= 0 {
		pairs(y, yPitch, even, odd, pitch, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+2*n-1], even[(rows-1)*pitch+n-1], odd[(rows-1)*pitch+n-1]
	pairsAVX512(&y[0], yPitch, &even[0], &odd[0], pitch, rows, n)
}

// PairColumns lays out elements that lie a stride apart for a TileProduct; see
// pairColumns. Sixteen strides fit 32 bits.
func (s Set) PairColumns(y []uint16, even, odd []float32, stride, n int) {
	if s != AVX512 || n <= 0 {
		pairColumns(y, even, odd, stride, n)
		return
	}
	_, _, _ = y[2*n-1], even[(n-1)*stride], odd[(n-1)*stride]
	pairColumnsAVX512(&y[0], &even[0], &odd[0], stride, n)
}
