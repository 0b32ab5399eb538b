//go:build !amd64 || noasm

package elements

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/plain"
)

// Scale computes y[i] = w·x[i].
func Scale(_ vec.Set, y, x []float32, w float32) { scale(y, x, w) }

// Add computes y[i] = a[i] + b[i].
func Add(_ vec.Set, y, a, b []float32) { add(y, a, b) }

// Axpy computes y[i] += w·x[i].
func Axpy(_ vec.Set, y, x []float32, w float32) { plain.Axpy(y, x, w) }

// ReLU computes y[i] = max(x[i], 0); a NaN stays one.
func ReLU(_ vec.Set, y, x []float32) { relu(y, x) }

// ReLUGrad computes gx[i] = gy[i] where y[i] > 0, else 0.
func ReLUGrad(_ vec.Set, gx, y, gy []float32) { reluGrad(gx, y, gy) }

// Mask computes y[i] = z[i]·m[i].
func Mask(_ vec.Set, y, z []complex64, m []float32) { mask(y, z, m) }

// CopyRows copies elements of rows; see copyRows.
func CopyRows(_ vec.Set, y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	copyRows(y, yPitch, x, xPitch, rows, n)
}

// EveryOther copies every other element of rows; see everyOther.
func EveryOther(_ vec.Set, y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	everyOther(y, yPitch, x, xPitch, rows, n)
}

// DoubleRows repeats each element of rows in a block of 2×2; see doubleRows.
func DoubleRows(_ vec.Set, y, x []float32, rows, n int) { doubleRows(y, x, rows, n) }

// MaxPool keeps the largest of each 2×2 elements; see maxPool.
func MaxPool(_ vec.Set, y, x []float32, rows, n int) { maxPool(y, x, rows, n) }

// InterleaveRows puts the elements of two rows beside each other; see interleaveRows.
func InterleaveRows(_ vec.Set, y []float32, yPitch int, even, odd []float32, rows, n int) {
	interleaveRows(y, yPitch, even, odd, rows, n)
}

// PadRows copies rows between zeros; see padRows. It fetches the elements that are ahead of x by a
// number of elements, for a later call.
func PadRows(_ vec.Set, y, x []float32, rows, n, _ int) { padRows(y, x, rows, n) }

// NonZero reports whether an element is neither 0 nor −0.
func NonZero(_ vec.Set, x []float32) bool { return nonZero(x) }

// Sigmoid computes y[i] = 1/(1 + e^−x[i]).
func Sigmoid(_ vec.Set, y, x []float32) { sigmoid(y, x) }

// Swish computes y[i] = x[i]/(1 + e^−x[i]).
func Swish(_ vec.Set, y, x []float32) { swish(y, x) }

// Tanh computes y[i] = tanh x[i].
func Tanh(_ vec.Set, y, x []float32) { tanh(y, x) }

// Polar computes z[i] = a[i]·(cos phase[i] + i·sin phase[i]).
func Polar(_ vec.Set, z []complex64, a, phase []float32) { polar(z, a, phase) }
