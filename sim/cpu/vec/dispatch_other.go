//go:build !amd64 || noasm

package vec

import "prismtop/sim/cpu/vec/internal/plain"

var built = []Set{Go}

// TileRows is the maximum number of rows that one tile keeps in registers.
func (Set) TileRows() int { return 2 }

// DotRows is the same for dot products.
func (Set) DotRows() int { return 2 }

// Tile adds weighted runs of x to rows of y; see tile.
func (Set) Tile(y []float32, pitch, rows, n int, x []float32, segments, weights []int32, w []float32, stride int) {
	tile(y, pitch, rows, n, x, segments, weights, w, stride)
}

// Dots multiplies rows of p with runs of x; see dots.
func (Set) Dots(out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	dots(out, pitch, rows, p, stride, n, x, segments)
}

// Adam is one step of the optimiser; see adam.
func (Set) Adam(p, m, v, g []float32, c *AdamScalars) { adam(p, m, v, g, c) }

// AMSGrad is Adam with the largest v so far in the denominator.
func (Set) AMSGrad(p, m, v, largest, g []float32, c *AdamScalars) {
	amsgrad(p, m, v, largest, g, c)
}

// Scale computes y[i] = w·x[i].
func (Set) Scale(y, x []float32, w float32) { scale(y, x, w) }

// Add computes y[i] = a[i] + b[i].
func (Set) Add(y, a, b []float32) { add(y, a, b) }

// Axpy computes y[i] += w·x[i].
func (Set) Axpy(y, x []float32, w float32) { plain.Axpy(y, x, w) }

// CopyRows copies elements of rows; see copyRows.
func (Set) CopyRows(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	copyRows(y, yPitch, x, xPitch, rows, n)
}

// EveryOther copies every other element of rows; see everyOther.
func (Set) EveryOther(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	everyOther(y, yPitch, x, xPitch, rows, n)
}

// NonZero reports whether an element is neither 0 nor −0.
func (Set) NonZero(x []float32) bool { return nonZero(x) }

// ReLU computes y[i] = max(x[i], 0); a NaN stays one.
func (Set) ReLU(y, x []float32) { relu(y, x) }

// ReLUGrad computes gx[i] = gy[i] where y[i] > 0, else 0.
func (Set) ReLUGrad(gx, y, gy []float32) { reluGrad(gx, y, gy) }

// Mask computes y[i] = z[i]·m[i].
func (Set) Mask(y, z []complex64, m []float32) { mask(y, z, m) }

// DoubleRows repeats each element of rows in a block of 2×2; see doubleRows.
func (Set) DoubleRows(y, x []float32, rows, n int) { doubleRows(y, x, rows, n) }

// MaxPool keeps the largest of each 2×2 elements; see maxPool.
func (Set) MaxPool(y, x []float32, rows, n int) { maxPool(y, x, rows, n) }

// InterleaveRows puts the elements of two rows beside each other; see interleaveRows.
func (Set) InterleaveRows(y []float32, yPitch int, even, odd []float32, rows, n int) {
	interleaveRows(y, yPitch, even, odd, rows, n)
}

// PadRows copies rows between zeros; see padRows. It fetches the elements that are ahead of x by a
// number of elements, for a later call.
func (Set) PadRows(y, x []float32, rows, n, _ int) { padRows(y, x, rows, n) }
