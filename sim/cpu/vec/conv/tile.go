// Package conv holds the kernels of convolutions: sums of weighted runs of an image (tile), their weight gradients
// (dots), sums over the taps of a padded image (taps, square), and products with the patches of transposed
// convolutions (patch).
package conv

import "prismtop/sim/cpu/vec/internal/plain"

// tile adds k weighted runs of x to each of rows rows of y, n elements each:
//
//	y[r·pitch + i] += Σ over k of w[r·stride + weights[k]] · x[segments[k] + i]
//
// Rows of y must not overlap each other, x or w.
func tile(y []float32, pitch, rows, n int, x []float32, segments, weights []int32, w []float32, stride int) {
	r := 0
	for ; r+1 < rows; r += 2 {
		tile2(y[r*pitch:][:n], y[(r+1)*pitch:][:n], x, segments, weights, w[r*stride:], w[(r+1)*stride:])
	}
	if r < rows {
		tile1(y[r*pitch:][:n], x, segments, weights, w[r*stride:])
	}
}

func tile2(y0, y1, x []float32, segments, weights []int32, w0, w1 []float32) {
	n := len(y0)
	var w [8]float32
	for len(segments) >= 4 && len(weights) >= 4 {
		k0, k1, k2, k3 := weights[0], weights[1], weights[2], weights[3]
		w[0], w[1], w[2], w[3] = w0[k0], w0[k1], w0[k2], w0[k3]
		w[4], w[5], w[6], w[7] = w1[k0], w1[k1], w1[k2], w1[k3]
		axpy2x4(y0, y1, x[segments[0]:][:n], x[segments[1]:][:n], x[segments[2]:][:n], x[segments[3]:][:n], &w)
		segments, weights = segments[4:], weights[4:]
	}
	for i, s := range segments {
		run := x[s:][:n]
		plain.Axpy(y0, run, w0[weights[i]])
		plain.Axpy(y1, run, w1[weights[i]])
	}
}

func tile1(y, x []float32, segments, weights []int32, w []float32) {
	n := len(y)
	for len(segments) >= 4 && len(weights) >= 4 {
		axpy1x4(y, x[segments[0]:][:n], x[segments[1]:][:n], x[segments[2]:][:n], x[segments[3]:][:n],
			w[weights[0]], w[weights[1]], w[weights[2]], w[weights[3]])
		segments, weights = segments[4:], weights[4:]
	}
	for i, s := range segments {
		plain.Axpy(y, x[s:][:n], w[weights[i]])
	}
}

// axpy2x4 adds four rows to two, with a weight for each pair:
//
//	y0[i] += Σ w[k]·xk[i];  y1[i] += Σ w[4+k]·xk[i]
func axpy2x4(y0, y1, x0, x1, x2, x3 []float32, w *[8]float32) {
	n := len(y0)
	y1, x0, x1, x2, x3 = y1[:n], x0[:n], x1[:n], x2[:n], x3[:n]
	a0, a1, a2, a3 := w[0], w[1], w[2], w[3]
	b0, b1, b2, b3 := w[4], w[5], w[6], w[7]
	for i := range y0 {
		u0, u1, u2, u3 := x0[i], x1[i], x2[i], x3[i]
		y0[i] += (a0*u0 + a1*u1) + (a2*u2 + a3*u3)
		y1[i] += (b0*u0 + b1*u1) + (b2*u2 + b3*u3)
	}
}

// axpy1x4 adds four rows to one: y[i] += w0·x0[i] + w1·x1[i] + w2·x2[i] + w3·x3[i].
func axpy1x4(y, x0, x1, x2, x3 []float32, w0, w1, w2, w3 float32) {
	n := len(y)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for i := range y {
		y[i] += (w0*x0[i] + w1*x1[i]) + (w2*x2[i] + w3*x3[i])
	}
}
