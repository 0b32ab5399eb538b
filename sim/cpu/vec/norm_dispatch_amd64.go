//go:build !noasm

package vec

// Moments computes Σ (x[i] − shift) and Σ (x[i] − shift)², in float64; see moments.
func (s Set) Moments(x []float32, shift float32) (total, square float64) {
	if s == Go || len(x) == 0 {
		return moments(x, shift)
	}
	var lanes [16]float64
	if s == AVX512 {
		momentsAVX512(&lanes[0], &x[0], len(x), shift)
	} else {
		momentsAVX2(&lanes[0], &x[0], len(x), shift)
	}
	return s.pair(&lanes)
}

// pair adds the lanes of two vectors of float64.
func (s Set) pair(lanes *[16]float64) (first, second float64) {
	n := 4
	if s == AVX512 {
		n = 8
	}
	for i := range n {
		first += lanes[i]
		second += lanes[n+i]
	}
	return first, second
}

// NormGradSums computes Σ gy[i] and Σ gy[i]·(x[i] − mean); see normGradSums.
func (s Set) NormGradSums(x, gy []float32, mean float32) (total, product float64) {
	n := len(x)
	if s == Go || n == 0 {
		return normGradSums(x, gy, mean)
	}
	gy = gy[:n]
	var lanes [16]float64
	if s == AVX512 {
		normGradSumsAVX512(&lanes[0], &x[0], &gy[0], n, mean)
	} else {
		normGradSumsAVX2(&lanes[0], &x[0], &gy[0], n, mean)
	}
	return s.pair(&lanes)
}

// NormReLUGradSums is NormGradSums over the elements that a ReLU passed; see
// normReLUGradSums.
func (s Set) NormReLUGradSums(x, gy []float32, mean, factor, shift float32) (total, product float64) {
	n := len(x)
	if s == Go || n == 0 {
		return normReLUGradSums(x, gy, mean, factor, shift)
	}
	gy = gy[:n]
	var lanes [16]float64
	if s == AVX512 {
		normReLUGradSumsAVX512(&lanes[0], &x[0], &gy[0], n, mean, factor, shift)
	} else {
		normReLUGradSumsAVX2(&lanes[0], &x[0], &gy[0], n, mean, factor, shift)
	}
	return s.pair(&lanes)
}

// NormaliseReLU computes y[i] = max((x[i] − mean)·factor + shift, 0); a NaN stays one.
func (s Set) NormaliseReLU(y, x []float32, mean, factor, shift float32) {
	n := len(y)
	if s == Go || n == 0 {
		normaliseReLU(y, x, mean, factor, shift)
		return
	}
	x = x[:n]
	if s == AVX512 {
		normaliseReLUAVX512(&y[0], &x[0], n, mean, factor, shift)
	} else {
		normaliseReLUAVX2(&y[0], &x[0], n, mean, factor, shift)
	}
}

// NormGradReLU is NormGrad for the elements that a ReLU passed; see normGradReLU.
func (s Set) NormGradReLU(gx, x, gy []float32, mean, factor, shift, slope, add float32) {
	n := len(gx)
	if s == Go || n == 0 {
		normGradReLU(gx, x, gy, mean, factor, shift, slope, add)
		return
	}
	x, gy = x[:n], gy[:n]
	if s == AVX512 {
		normGradReLUAVX512(&gx[0], &x[0], &gy[0], n, mean, factor, shift, slope, add)
	} else {
		normGradReLUAVX2(&gx[0], &x[0], &gy[0], n, mean, factor, shift, slope, add)
	}
}
