package winograd

import (
	"math"

	"prismtop/sim/cpu/vec"
)

// tileScratch holds a tile of vectors between the two passes of a transform.
type tileScratch [Taps * 16]float32

// Input transforms a tile's input; see transformInput.
func Input(s vec.Set, v []float32, step int, x []float32, row, pixel, n int) {
	if s == vec.Go || n <= 0 {
		transformInput(v, step, x, row, pixel, n)
		return
	}
	_, _ = v[(Taps-1)*step+n-1], x[5*row+5*pixel+n-1]
	var scratch tileScratch
	if s == vec.AVX512 {
		winogradInputAVX512(&v[0], step, &x[0], row, pixel, n/16, &scratch[0])
	} else {
		winogradInputAVX2(&v[0], step, &x[0], row, pixel, n/8, &scratch[0])
	}
}

// Output transforms a tile's products; see transformOutput.
func Output(s vec.Set, y []float32, row, pixel int, m []float32, step int, bias []float32, relu bool, n int) {
	if s == vec.Go || n <= 0 {
		transformOutput(y, row, pixel, m, step, bias, relu, n)
		return
	}
	_, _, _ = y[3*row+3*pixel+n-1], m[(Taps-1)*step+n-1], bias[n-1]
	var scratch tileScratch
	floor := float32(math.Inf(-1))
	if relu {
		floor = 0
	}
	if s == vec.AVX512 {
		winogradOutputAVX512(&y[0], row, pixel, &m[0], step, &bias[0], floor, n/16, &scratch[0])
	} else {
		winogradOutputAVX2(&y[0], row, pixel, &m[0], step, &bias[0], floor, n/8, &scratch[0])
	}
}
