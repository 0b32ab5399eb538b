// Package elements holds the kernels that work element by element: sums and products of rows, activations and other
// functions, and rows that are copied, padded, interleaved or pooled.
package elements

import "math"

// Rows of elements. Every slice has at least the length of the first.

// scale computes y[i] = w·x[i].
func scale(y, x []float32, w float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = w * x[i]
	}
}

// add computes y[i] = a[i] + b[i].
func add(y, a, b []float32) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

// relu is max(x, 0); a NaN stays one.
func relu(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = max(x[i], 0)
	}
}

// reluGrad is gy where y > 0, else 0. Signs of random data defeat the
// branch predictor, hence the mask.
func reluGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i := range gx {
		v := int32(math.Float32bits(y[i]))
		gx[i] = math.Float32frombits(math.Float32bits(gy[i]) & uint32((^v&-(v&math.MaxInt32))>>31))
	}
}

// mask computes y[i] = z[i]·m[i].
func mask(y, z []complex64, m []float32) {
	z, m = z[:len(y)], m[:len(y)]
	for i := range y {
		y[i] = complex(real(z[i])*m[i], imag(z[i])*m[i])
	}
}
