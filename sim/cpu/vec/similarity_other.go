//go:build !amd64 || noasm

package vec

// SSIMProducts fills four tiles from rows of two planes; see ssimProducts.
func (Set) SSIMProducts(y, p, t []float32, rows *[TileReach]int32) { ssimProducts(y, p, t, rows) }

// BlurTurn blurs and transposes tiles; see blurTurn.
func (Set) BlurTurn(y []float32, yStep int, x []float32, xStep, tiles int, w *Window) {
	blurTurn(y, yStep, x, xStep, tiles, w)
}

// SSIMScore is score for SSIM; it overwrites sums.
func (Set) SSIMScore(y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32) {
	*sums = [TileSide]float32{}
	score(y, yStep, x, xStep, n, w, sums, true)
}

// ContrastScore is score for the contrast-structure part; it overwrites sums.
func (Set) ContrastScore(y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32) {
	*sums = [TileSide]float32{}
	score(y, yStep, x, xStep, n, w, sums, false)
}

// BlurCombine computes a tile of the gradient; see blurCombine.
func (Set) BlurCombine(y []float32, pitch int, p, t, maps []float32, step int, w *Window, factor float32) {
	blurCombine(y, pitch, p, t, maps, step, w, factor)
}
