package loss

import "prismtop/sim/cpu/vec"

// SSIMProducts fills four tiles from rows of two planes; see ssimProducts.
func SSIMProducts(s vec.Set, y, p, t []float32, rows *[TileReach]int32) {
	if s == vec.Go {
		ssimProducts(y, p, t, rows)
		return
	}
	_ = y[4*TileReach*TileSide-1]
	if s == vec.AVX512 {
		ssimProductsAVX512(&y[0], &p[0], &t[0], &rows[0])
	} else {
		ssimProductsAVX2(&y[0], &p[0], &t[0], &rows[0])
	}
}

// BlurTurn blurs and transposes tiles; see blurTurn.
func BlurTurn(s vec.Set, y []float32, yStep int, x []float32, xStep, tiles int, w *Window) {
	if s == vec.Go || tiles <= 0 {
		blurTurn(y, yStep, x, xStep, tiles, w)
		return
	}
	_, _ = y[(tiles-1)*yStep+TileSide*TileSide-1], x[(tiles-1)*xStep+TileReach*TileSide-1]
	if s == vec.AVX512 {
		blurTurnAVX512(&y[0], yStep, &x[0], xStep, tiles, &w[0])
	} else {
		blurTurnAVX2(&y[0], yStep, &x[0], xStep, tiles, &w[0])
	}
}

// SSIMScore is score for SSIM; it overwrites sums.
func SSIMScore(s vec.Set, y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32) {
	if s == vec.Go || n <= 0 {
		*sums = [TileSide]float32{}
		score(y, yStep, x, xStep, n, w, sums, true)
		return
	}
	checkScore(y, yStep, x, xStep, n)
	if s == vec.AVX512 {
		ssimScoreAVX512(&y[0], yStep, &x[0], xStep, n, &w[0], &sums[0])
	} else {
		ssimScoreAVX2(&y[0], yStep, &x[0], xStep, n, &w[0], &sums[0])
	}
}

// ContrastScore is score for the contrast-structure part; it overwrites sums.
func ContrastScore(s vec.Set, y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32) {
	if s == vec.Go || n <= 0 {
		*sums = [TileSide]float32{}
		score(y, yStep, x, xStep, n, w, sums, false)
		return
	}
	checkScore(y, yStep, x, xStep, n)
	if s == vec.AVX512 {
		contrastScoreAVX512(&y[0], yStep, &x[0], xStep, n, &w[0], &sums[0])
	} else {
		contrastScoreAVX2(&y[0], yStep, &x[0], xStep, n, &w[0], &sums[0])
	}
}

// checkScore panics if a strip is too short.
func checkScore(y []float32, yStep int, x []float32, xStep, n int) {
	_, _ = y[2*yStep+n*TileSide-1], x[3*xStep+(n+WindowTaps-1)*TileSide-1]
}

// BlurCombine computes a tile of the gradient; see blurCombine.
func BlurCombine(s vec.Set, y []float32, pitch int, p, t, maps []float32, step int, w *Window, factor float32) {
	if s == vec.Go {
		blurCombine(y, pitch, p, t, maps, step, w, factor)
		return
	}
	last := (TileSide-1)*pitch + TileSide - 1
	_, _, _, _ = y[last], p[last], t[last], maps[2*step+TileReach*TileSide-1]
	if s == vec.AVX512 {
		blurCombineAVX512(&y[0], pitch, &p[0], &t[0], &maps[0], step, &w[0], factor)
	} else {
		blurCombineAVX2(&y[0], pitch, &p[0], &t[0], &maps[0], step, &w[0], factor)
	}
}
