//go:build !amd64 || noasm

package loss

import "prismtop/sim/cpu/vec"

// AbsoluteSums computes Σ|p[i] − t[i]| and Σ|t[i]|.
func AbsoluteSums(_ vec.Set, p, t []float32) (differences, targets float64) {
	return absoluteSums(p, t)
}

// SquareSums computes Σ(p[i] − t[i])² and Σt[i]².
func SquareSums(_ vec.Set, p, t []float32) (differences, targets float64) { return squareSums(p, t) }

// Signs computes gp[i] = f·sign(p[i] − t[i]), 0 where they are equal.
func Signs(_ vec.Set, gp, p, t []float32, f float32) { signs(gp, p, t, f) }

// Differences computes gp[i] = f·(p[i] − t[i]).
func Differences(_ vec.Set, gp, p, t []float32, f float32) { differences(gp, p, t, f) }

// SSIMProducts fills four tiles from rows of two planes; see ssimProducts.
func SSIMProducts(_ vec.Set, y, p, t []float32, rows *[TileReach]int32) { ssimProducts(y, p, t, rows) }

// BlurTurn blurs and transposes tiles; see blurTurn.
func BlurTurn(_ vec.Set, y []float32, yStep int, x []float32, xStep, tiles int, w *Window) {
	blurTurn(y, yStep, x, xStep, tiles, w)
}

// SSIMScore is score for SSIM; it overwrites sums.
func SSIMScore(_ vec.Set, y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32) {
	*sums = [TileSide]float32{}
	score(y, yStep, x, xStep, n, w, sums, true)
}

// ContrastScore is score for the contrast-structure part; it overwrites sums.
func ContrastScore(_ vec.Set, y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32) {
	*sums = [TileSide]float32{}
	score(y, yStep, x, xStep, n, w, sums, false)
}

// BlurCombine computes a tile of the gradient; see blurCombine.
func BlurCombine(_ vec.Set, y []float32, pitch int, p, t, maps []float32, step int, w *Window, factor float32) {
	blurCombine(y, pitch, p, t, maps, step, w, factor)
}
