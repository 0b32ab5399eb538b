//go:build !amd64 || noasm

package norm

import "prismtop/sim/cpu/vec"

// Moments computes Σ (x[i] − shift) and Σ (x[i] − shift)², in float64; see moments.
func Moments(_ vec.Set, x []float32, shift float32) (total, square float64) { return moments(x, shift) }

// GradSums computes Σ gy[i] and Σ gy[i]·(x[i] − mean); see gradSums.
func GradSums(_ vec.Set, x, gy []float32, mean float32) (total, product float64) {
	return gradSums(x, gy, mean)
}

// GradSumsReLU is GradSums over the elements that a ReLU passed; see
// gradSumsReLU.
func GradSumsReLU(_ vec.Set, x, gy []float32, mean, factor, shift float32) (total, product float64) {
	return gradSumsReLU(x, gy, mean, factor, shift)
}

// NormaliseReLU computes y[i] = max((x[i] − mean)·factor + shift, 0); a NaN stays one.
func NormaliseReLU(_ vec.Set, y, x []float32, mean, factor, shift float32) {
	normaliseReLU(y, x, mean, factor, shift)
}

// GradReLU is Grad for the elements that a ReLU passed; see gradReLU.
func GradReLU(_ vec.Set, gx, x, gy []float32, mean, factor, shift, slope, add float32) {
	gradReLU(gx, x, gy, mean, factor, shift, slope, add)
}

// Normalise computes y[i] = (x[i] − mean)·factor + shift.
func Normalise(_ vec.Set, y, x []float32, mean, factor, shift float32) {
	normalise(y, x, mean, factor, shift)
}

// Grad computes gx[i] = factor·gy[i] + slope·(x[i] − mean) + shift.
func Grad(_ vec.Set, gx, x, gy []float32, mean, factor, slope, shift float32) {
	grad(gx, x, gy, mean, factor, slope, shift)
}

// MomentsHalf is Moments of bfloat16.
func MomentsHalf(_ vec.Pairs, x []uint16, shift float32) (total, square float64) {
	return momentsHalf(x, shift)
}

// GradSumsReLUHalf is GradSumsReLU of bfloat16.
func GradSumsReLUHalf(_ vec.Pairs, x, gy []uint16, mean, factor, shift float32) (total, product float64) {
	return gradSumsReLUHalf(x, gy, mean, factor, shift)
}

// NormaliseReLUHalf is NormaliseReLU of bfloat16.
func NormaliseReLUHalf(_ vec.Pairs, y, x []uint16, mean, factor, shift float32) {
	normaliseReLUHalf(y, x, mean, factor, shift)
}

// GradReLUHalf is GradReLU of bfloat16.
func GradReLUHalf(_ vec.Pairs, gx, x, gy []uint16, mean, factor, shift, slope, add float32) {
	gradReLUHalf(gx, x, gy, mean, factor, shift, slope, add)
}

// PanelMoments adds the moments of rows of a panel; see panelMoments.
func PanelMoments(_ vec.Set, sums *PanelSums, x []float32, pitch, rows int, shift []float32) {
	panelMoments(sums, x, pitch, rows, shift)
}

// PanelNormalise normalises rows of a panel; see panelNormalise.
func PanelNormalise(_ vec.Set, y, x, residual []float32, pitch, rows int, factor, add []float32, slope float32) {
	panelNormalise(y, x, residual, pitch, rows, factor, add, slope)
}

// PanelGradSums adds sums of the gradients of rows of a panel; see panelGradSums.
func PanelGradSums(_ vec.Set, sums *PanelSums, x, y, gy []float32, pitch, rows int, mean []float32, slope float32) {
	panelGradSums(sums, x, y, gy, pitch, rows, mean, slope)
}

// PanelGrad computes the gradients of rows of a panel of n channels; see panelGrad.
func PanelGrad(_ vec.Set, gx, residual, x, y, gy []float32, pitch, rows, n int, p *PanelGradient) {
	panelGrad(gx, residual, x, y, gy, pitch, rows, n, p)
}
