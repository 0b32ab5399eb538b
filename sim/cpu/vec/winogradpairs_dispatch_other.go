//go:build !amd64 || noasm

package vec

// PairTilesIn transforms the inputs of tiles; see pairTilesIn.
func (Pairs) PairTilesIn(v []float32, first, second []uint16, planes int, p *PairTiles, n int) {
	pairTilesIn(v, first, second, planes, p, n)
}

// PairTilesMultiply multiplies transformed inputs and weights; see pairTilesMultiply.
func (Pairs) PairTilesMultiply(m, v, u []float32, n, vectors int) {
	pairTilesMultiply(m, v, u, n, vectors)
}

// PairTilesOut transforms products back and stores them; see pairTilesOut.
func (Pairs) PairTilesOut(y []uint16, plane int, m []float32, p *PairTiles, bias []float32, relu, pooled bool) {
	pairTilesOut(y, plane, m, p, bias, relu, pooled)
}
