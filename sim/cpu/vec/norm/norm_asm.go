package norm

import "prismtop/sim/cpu/vec"

// Moments computes Σ (x[i] − shift) and Σ (x[i] − shift)², in float64; see moments.
func Moments(s vec.Set, x []float32, shift float32) (total, square float64) {
	if s == vec.Go || len(x) == 0 {
		return moments(x, shift)
	}
	var lanes [16]float64
	if s == vec.AVX512 {
		momentsAVX512(&lanes[0], &x[0], len(x), shift)
	} else {
		momentsAVX2(&lanes[0], &x[0], len(x), shift)
	}
	return laneSums(s, &lanes)
}

// laneSums adds the lanes of two vectors of float64.
func laneSums(s vec.Set, lanes *[16]float64) (first, second float64) {
	n := 4
	if s == vec.AVX512 {
		n = 8
	}
	for i := range n {
		first += lanes[i]
		second += lanes[n+i]
	}
	return first, second
}

// GradSums computes Σ gy[i] and Σ gy[i]·(x[i] − mean); see gradSums.
func GradSums(s vec.Set, x, gy []float32, mean float32) (total, product float64) {
	n := len(x)
	if s == vec.Go || n == 0 {
		return gradSums(x, gy, mean)
	}
	gy = gy[:n]
	var lanes [16]float64
	if s == vec.AVX512 {
		normGradSumsAVX512(&lanes[0], &x[0], &gy[0], n, mean)
	} else {
		normGradSumsAVX2(&lanes[0], &x[0], &gy[0], n, mean)
	}
	return laneSums(s, &lanes)
}

// GradSumsReLU is GradSums over the elements that a ReLU passed; see
// gradSumsReLU.
func GradSumsReLU(s vec.Set, x, gy []float32, mean, factor, shift float32) (total, product float64) {
	n := len(x)
	if s == vec.Go || n == 0 {
		return gradSumsReLU(x, gy, mean, factor, shift)
	}
	gy = gy[:n]
	var lanes [16]float64
	if s == vec.AVX512 {
		normReLUGradSumsAVX512(&lanes[0], &x[0], &gy[0], n, mean, factor, shift)
	} else {
		normReLUGradSumsAVX2(&lanes[0], &x[0], &gy[0], n, mean, factor, shift)
	}
	return laneSums(s, &lanes)
}

// NormaliseReLU computes y[i] = max((x[i] − mean)·factor + shift, 0); a NaN stays one.
func NormaliseReLU(s vec.Set, y, x []float32, mean, factor, shift float32) {
	n := len(y)
	if s == vec.Go || n == 0 {
		normaliseReLU(y, x, mean, factor, shift)
		return
	}
	x = x[:n]
	if s == vec.AVX512 {
		normaliseReLUAVX512(&y[0], &x[0], n, mean, factor, shift)
	} else {
		normaliseReLUAVX2(&y[0], &x[0], n, mean, factor, shift)
	}
}

// GradReLU is Grad for the elements that a ReLU passed; see gradReLU.
func GradReLU(s vec.Set, gx, x, gy []float32, mean, factor, shift, slope, add float32) {
	n := len(gx)
	if s == vec.Go || n == 0 {
		gradReLU(gx, x, gy, mean, factor, shift, slope, add)
		return
	}
	x, gy = x[:n], gy[:n]
	if s == vec.AVX512 {
		normGradReLUAVX512(&gx[0], &x[0], &gy[0], n, mean, factor, shift, slope, add)
	} else {
		normGradReLUAVX2(&gx[0], &x[0], &gy[0], n, mean, factor, shift, slope, add)
	}
}

// Normalise computes y[i] = (x[i] − mean)·factor + shift.
func Normalise(s vec.Set, y, x []float32, mean, factor, shift float32) {
	n := len(y)
	if s == vec.Go || n == 0 {
		normalise(y, x, mean, factor, shift)
		return
	}
	x = x[:n]
	if s == vec.AVX512 {
		normaliseAVX512(&y[0], &x[0], n, mean, factor, shift)
	} else {
		normaliseAVX2(&y[0], &x[0], n, mean, factor, shift)
	}
}

// Grad computes gx[i] = factor·gy[i] + slope·(x[i] − mean) + shift.
func Grad(s vec.Set, gx, x, gy []float32, mean, factor, slope, shift float32) {
	n := len(gx)
	if s == vec.Go || n == 0 {
		grad(gx, x, gy, mean, factor, slope, shift)
		return
	}
	x, gy = x[:n], gy[:n]
	if s == vec.AVX512 {
		normGradAVX512(&gx[0], &x[0], &gy[0], n, mean, factor, slope, shift)
	} else {
		normGradAVX2(&gx[0], &x[0], &gy[0], n, mean, factor, slope, shift)
	}
}
