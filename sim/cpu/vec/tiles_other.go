//go:build !amd64 || noasm

package vec

// Product computes a product; without groups or segments it does nothing.
func (Tiles) Product(p *TileProduct) {
	if p.Groups > 0 && len(p.Segments) > 1 {
		p.multiply()
	}
}

// Pairs lays out rows of two matrices for a TileProduct; see pairs.
func (Set) Pairs(y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	pairs(y, yPitch, even, odd, pitch, rows, n)
}

// PairColumns lays out elements that lie a stride apart for a TileProduct; see
// pairColumns.
func (Set) PairColumns(y []uint16, even, odd []float32, stride, n int) {
	pairColumns(y, even, odd, stride, n)
}

// amxBuilt reports whether this build has tile products on AMX.
const amxBuilt = false
