package norm

import "prismtop/sim/cpu/vec"

// PanelMoments adds the moments of rows of a panel; see panelMoments.
func PanelMoments(s vec.Set, sums *PanelSums, x []float32, pitch, rows int, shift []float32) {
	if s == vec.Go || rows <= 0 || len(shift) != PanelChannels {
		panelMoments(sums, x, pitch, rows, shift)
		return
	}
	_ = x[(rows-1)*pitch+PanelChannels-1]
	if s == vec.AVX512 {
		panelMomentsAVX512(&sums[0][0], &x[0], pitch, rows, &shift[0])
	} else {
		panelMomentsAVX2(&sums[0][0], &x[0], pitch, rows, &shift[0])
	}
}

// PanelNormalise normalises rows of a panel; see panelNormalise.
func PanelNormalise(s vec.Set, y, x, residual []float32, pitch, rows int, factor, add []float32, slope float32) {
	if s == vec.Go || rows <= 0 || len(factor) != PanelChannels {
		panelNormalise(y, x, residual, pitch, rows, factor, add, slope)
		return
	}
	last := (rows-1)*pitch + PanelChannels - 1
	_, _, _ = y[last], x[last], add[PanelChannels-1]
	if residual == nil {
		normalise := panelNormaliseAVX2
		if s == vec.AVX512 {
			normalise = panelNormaliseAVX512
		}
		normalise(&y[0], &x[0], pitch, rows, &factor[0], &add[0], slope)
		return
	}
	_ = residual[last]
	normalise := panelNormaliseAddAVX2
	if s == vec.AVX512 {
		normalise = panelNormaliseAddAVX512
	}
	normalise(&y[0], &x[0], &residual[0], pitch, rows, &factor[0], &add[0], slope)
}

// PanelGradSums adds sums of the gradients of rows of a panel; see panelGradSums.
func PanelGradSums(s vec.Set, sums *PanelSums, x, y, gy []float32, pitch, rows int, mean []float32, slope float32) {
	if s == vec.Go || rows <= 0 || len(mean) != PanelChannels {
		panelGradSums(sums, x, y, gy, pitch, rows, mean, slope)
		return
	}
	last := (rows-1)*pitch + PanelChannels - 1
	_, _, _ = x[last], y[last], gy[last]
	if s == vec.AVX512 {
		panelGradSumsAVX512(&sums[0][0], &x[0], &y[0], &gy[0], pitch, rows, &mean[0], slope)
	} else {
		panelGradSumsAVX2(&sums[0][0], &x[0], &y[0], &gy[0], pitch, rows, &mean[0], slope)
	}
}

// PanelGrad computes the gradients of rows of a panel of n channels; see panelGrad.
func PanelGrad(s vec.Set, gx, residual, x, y, gy []float32, pitch, rows, n int, p *PanelGradient) {
	if s == vec.Go || rows <= 0 || n != PanelChannels {
		panelGrad(gx, residual, x, y, gy, pitch, rows, n, p)
		return
	}
	last := (rows-1)*pitch + PanelChannels - 1
	_, _, _, _ = gx[last], x[last], y[last], gy[last]
	if residual == nil {
		gradient := panelGradAVX2
		if s == vec.AVX512 {
			gradient = panelGradAVX512
		}
		gradient(&gx[0], &x[0], &y[0], &gy[0], pitch, rows, &p.Mean[0], p.Leak)
		return
	}
	_ = residual[last]
	gradient := panelGradAddAVX2
	if s == vec.AVX512 {
		gradient = panelGradAddAVX512
	}
	gradient(&gx[0], &residual[0], &x[0], &y[0], &gy[0], pitch, rows, &p.Mean[0], p.Leak)
}
