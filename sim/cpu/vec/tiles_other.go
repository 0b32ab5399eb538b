//go:build !amd64 || noasm

package vec

// Pairs lays out rows of two matrices for a TileProduct; see pairs.
func (Set) Pairs(y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	pairs(y, yPitch, even, odd, pitch, rows, n)
}

// PairColumns lays out elements that lie a stride apart for a TileProduct; see
// pairColumns.
func (Set) PairColumns(y []uint16, even, odd []float32, stride, n int) {
	pairColumns(y, even, odd, stride, n)
}
