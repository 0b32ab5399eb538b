package elements

import "math"

// Logistic returns 1/(1 + e^−x).
func Logistic(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }

// sigmoid computes y[i] = 1/(1 + e^−x[i]).
func sigmoid(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(Logistic(v))
	}
}

// swish computes y[i] = x[i]/(1 + e^−x[i]).
func swish(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(float64(v) * Logistic(v))
	}
}

// tanh computes y[i] = tanh x[i].
func tanh(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(math.Tanh(float64(v)))
	}
}

// polar computes z[i] = a[i]·(cos phase[i] + i·sin phase[i]).
func polar(z []complex64, a, phase []float32) {
	for i := range z {
		sin, cos := math.Sincos(float64(phase[i]))
		z[i] = complex(float32(float64(a[i])*cos), float32(float64(a[i])*sin))
	}
}
