//go:build !amd64 || noasm

package vec

// Moments computes Σ (x[i] − shift) and Σ (x[i] − shift)², in float64; see moments.
func (Set) Moments(x []float32, shift float32) (total, square float64) { return moments(x, shift) }

// NormGradSums computes Σ gy[i] and Σ gy[i]·(x[i] − mean); see normGradSums.
func (Set) NormGradSums(x, gy []float32, mean float32) (total, product float64) {
	return normGradSums(x, gy, mean)
}

// NormReLUGradSums is NormGradSums over the elements that a ReLU passed; see
// normReLUGradSums.
func (Set) NormReLUGradSums(x, gy []float32, mean, factor, shift float32) (total, product float64) {
	return normReLUGradSums(x, gy, mean, factor, shift)
}

// NormaliseReLU computes y[i] = max((x[i] − mean)·factor + shift, 0); a NaN stays one.
func (Set) NormaliseReLU(y, x []float32, mean, factor, shift float32) {
	normaliseReLU(y, x, mean, factor, shift)
}

// NormGradReLU is NormGrad for the elements that a ReLU passed; see normGradReLU.
func (Set) NormGradReLU(gx, x, gy []float32, mean, factor, shift, slope, add float32) {
	normGradReLU(gx, x, gy, mean, factor, shift, slope, add)
}
