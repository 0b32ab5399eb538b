//go:build !noasm

package vec

import "math"

// winogradScratch holds a tile of vectors between the two passes of a transform.
type winogradScratch [WinogradTaps * 16]float32

// WinogradInput transforms a tile's input; see winogradInput.
func (s Set) WinogradInput(v []float32, step int, x []float32, row, pixel, n int) {
	if s == Go || n <= 0 {
		winogradInput(v, step, x, row, pixel, n)
		return
	}
	_, _ = v[(WinogradTaps-1)*step+n-1], x[5*row+5*pixel+n-1]
	var scratch winogradScratch
	if s == AVX512 {
		winogradInputAVX512(&v[0], step, &x[0], row, pixel, n/16, &scratch[0])
	} else {
		winogradInputAVX2(&v[0], step, &x[0], row, pixel, n/8, &scratch[0])
	}
}

// WinogradOutput transforms a tile's products; see winogradOutput.
func (s Set) WinogradOutput(y []float32, row, pixel int, m []float32, step int, bias []float32, relu bool, n int) {
	if s == Go || n <= 0 {
		winogradOutput(y, row, pixel, m, step, bias, relu, n)
		return
	}
	_, _, _ = y[3*row+3*pixel+n-1], m[(WinogradTaps-1)*step+n-1], bias[n-1]
	var scratch winogradScratch
	floor := float32(math.Inf(-1))
	if relu {
		floor = 0
	}
	if s == AVX512 {
		winogradOutputAVX512(&y[0], row, pixel, &m[0], step, &bias[0], floor, n/16, &scratch[0])
	} else {
		winogradOutputAVX2(&y[0], row, pixel, &m[0], step, &bias[0], floor, n/8, &scratch[0])
	}
}
