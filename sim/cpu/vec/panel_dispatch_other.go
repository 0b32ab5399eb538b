//go:build !amd64 || noasm

package vec

// PanelMoments adds the moments of rows of a panel; see panelMoments.
func (Set) PanelMoments(sums *PanelSums, x []float32, pitch, rows int, shift []float32) {
	panelMoments(sums, x, pitch, rows, shift)
}

// PanelNormalise normalises rows of a panel; see panelNormalise.
func (Set) PanelNormalise(y, x, residual []float32, pitch, rows int, factor, add []float32, slope float32) {
	panelNormalise(y, x, residual, pitch, rows, factor, add, slope)
}

// PanelGradSums adds sums of the gradients of rows of a panel; see panelGradSums.
func (Set) PanelGradSums(sums *PanelSums, x, y, gy []float32, pitch, rows int, mean []float32, slope float32) {
	panelGradSums(sums, x, y, gy, pitch, rows, mean, slope)
}

// PanelGrad computes the gradients of rows of a panel of n channels; see panelGrad.
func (Set) PanelGrad(gx, residual, x, y, gy []float32, pitch, rows, n int, p *PanelGradient) {
	panelGrad(gx, residual, x, y, gy, pitch, rows, n, p)
}
