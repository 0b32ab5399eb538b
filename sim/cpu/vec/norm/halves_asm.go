package norm

import "prismtop/sim/cpu/vec"

// MomentsHalf is Moments of bfloat16.
func MomentsHalf(p vec.Pairs, x []uint16, shift float32) (total, square float64) {
	if p != vec.BF16 || len(x) == 0 {
		return momentsHalf(x, shift)
	}
	var lanes [16]float64
	momentsBF16(&lanes[0], &x[0], len(x), shift)
	return laneSums(vec.AVX512, &lanes)
}

// GradSumsReLUHalf is GradSumsReLU of bfloat16.
func GradSumsReLUHalf(p vec.Pairs, x, gy []uint16, mean, factor, shift float32) (total, product float64) {
	n := len(x)
	if p != vec.BF16 || n == 0 {
		return gradSumsReLUHalf(x, gy, mean, factor, shift)
	}
	gy = gy[:n]
	var lanes [16]float64
	normReLUGradSumsBF16(&lanes[0], &x[0], &gy[0], n, mean, factor, shift)
	return laneSums(vec.AVX512, &lanes)
}

// NormaliseReLUHalf is NormaliseReLU of bfloat16.
func NormaliseReLUHalf(p vec.Pairs, y, x []uint16, mean, factor, shift float32) {
	n := len(y)
	if p != vec.BF16 || n == 0 {
		normaliseReLUHalf(y, x, mean, factor, shift)
		return
	}
	x = x[:n]
	normaliseReLUBF16(&y[0], &x[0], n, mean, factor, shift)
}

// GradReLUHalf is GradReLU of bfloat16.
func GradReLUHalf(p vec.Pairs, gx, x, gy []uint16, mean, factor, shift, slope, add float32) {
	n := len(gx)
	if p != vec.BF16 || n == 0 {
		gradReLUHalf(gx, x, gy, mean, factor, shift, slope, add)
		return
	}
	x, gy = x[:n], gy[:n]
	normGradReLUBF16(&gx[0], &x[0], &gy[0], n, mean, factor, shift, slope, add)
}
