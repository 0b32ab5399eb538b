//go:build !amd64 || noasm

package vec

// Sigmoid computes y[i] = 1/(1 + e^−x[i]).
func (Set) Sigmoid(y, x []float32) { sigmoid(y, x) }

// Swish computes y[i] = x[i]/(1 + e^−x[i]).
func (Set) Swish(y, x []float32) { swish(y, x) }

// Tanh computes y[i] = tanh x[i].
func (Set) Tanh(y, x []float32) { tanh(y, x) }

// Polar computes z[i] = a[i]·(cos phase[i] + i·sin phase[i]).
func (Set) Polar(z []complex64, a, phase []float32) { polar(z, a, phase) }
