package cpu

import (
	"math"

	"prismtop/sim/cpu/vec"
)

// SSIM's window (spec/prism.md §5.5).
const (
	ssimPad   = 5 // pixels to either side of the centre
	ssimSigma = 1.5
	ssimTaps  = 2*ssimPad + 1
)

// gaussian is the window along one axis, normalised to sum 1.
func gaussian() (g [ssimTaps]float64) {
	total := 0.0
	for i := range g {
		d := float64(i - ssimPad)
		g[i] = math.Exp(-d * d / (2 * ssimSigma * ssimSigma))
		total += g[i]
	}
	for i := range g {
		g[i] /= total
	}
	return g
}

// reflect continues positions 0 … n−1 beyond both ends without repeating the edge.
func reflect(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// window is the part of the source that one output of a blur reads, from position
// first, and its weights. Reflection has been folded into them.
type window struct {
	first, count int
	weights      [ssimTaps]float32
}

// blur is the Gaussian along an axis of n ≥ 6 elements with reflected ends, or its
// adjoint (transpose), as one window per output.
type blur struct {
	set     vec.Set
	windows []window
	centre  [ssimTaps]float32 // the weights where no end is near
}

func newBlur(set vec.Set, n int, adjoint bool) blur {
	g := gaussian()
	bl := blur{set: set, windows: make([]window, n)}
	for k := range g {
		bl.centre[k] = float32(g[k])
	}
	for i := range n {
		first, end := max(i-ssimPad, 0), min(i+ssimPad+1, n)
		var weights [ssimTaps]float64
		for j := first; j < end; j++ {
			out, in := i, j
			if adjoint {
				out, in = j, i
			}
			for k, w := range g {
				if reflect(out+k-ssimPad, n) == in {
					weights[j-first] += w
				}
			}
		}
		bl.windows[i] = window{first: first, count: end - first}
		for k, w := range weights {
			bl.windows[i].weights[k] = float32(w)
		}
	}
	return bl
}

func (bl *blur) bytes() int64 { return int64(len(bl.windows)) * (16 + 4*ssimTaps) }

// edge is how many outputs at either end may have windows of their own: all of a
// short axis.
func (bl *blur) edge() int {
	if n := len(bl.windows); n <= 4*ssimPad {
		return n
	}
	return 2 * ssimPad
}

// row blurs along a row: y[i] = Σ weights[k]·x[first + k] of window i.
func (bl *blur) row(y, x []float32) {
	n, edge := len(y), bl.edge()
	x = x[:n]
	for i := range edge {
		y[i] = bl.windows[i].at(x)
	}
	if edge == n {
		return
	}
	inner := y[edge : n-edge]
	bl.centred(inner, x[edge-ssimPad:], 1)
	for i := n - edge; i < n; i++ {
		y[i] = bl.windows[i].at(x)
	}
}

func (w *window) at(x []float32) float32 {
	total := float32(0)
	for k, v := range x[w.first:][:w.count] {
		total += w.weights[k] * v
	}
	return total
}

// column blurs along the columns of a plane of rows of len(y): y[j] = Σ weights[k]·
// x[(first + k)·len(y) + j] of window i.
func (bl *blur) column(y, x []float32, i int) {
	w, n := &bl.windows[i], len(y)
	x = x[w.first*n:]
	if edge := bl.edge(); i >= edge && i < len(bl.windows)-edge {
		bl.centred(y, x, n)
		return
	}
	clear(y)
	for k, weight := range w.weights[:w.count] {
		bl.set.Axpy(y, x[k*n:][:n], weight)
	}
}

// centred is y[i] = Σ centre[k]·x[k·pitch + i], by pairs of equal weights.
func (bl *blur) centred(y, x []float32, pitch int) {
	w, n := &bl.centre, len(y)
	at := func(k int) []float32 { return x[k*pitch:][:n] }
	outerPairs(y, at(0), at(1), at(5), at(9), at(10), w[0], w[1], w[5])
	addInnerPairs(y, at(2), at(3), at(4), at(6), at(7), at(8), w[2], w[3], w[4])
}

// outerPairs is y[i] = w0·(x0[i]+x10[i]) + w1·(x1[i]+x9[i]) + w5·x5[i].
func outerPairs(y, x0, x1, x5, x9, x10 []float32, w0, w1, w5 float32) {
	n := len(y)
	x0, x1, x5, x9, x10 = x0[:n], x1[:n], x5[:n], x9[:n], x10[:n]
	for i := range y {
		y[i] = (w0*(x0[i]+x10[i]) + w1*(x1[i]+x9[i])) + w5*x5[i]
	}
}

// addInnerPairs is y[i] += w2·(x2[i]+x8[i]) + w3·(x3[i]+x7[i]) + w4·(x4[i]+x6[i]).
func addInnerPairs(y, x2, x3, x4, x6, x7, x8 []float32, w2, w3, w4 float32) {
	n := len(y)
	x2, x3, x4, x6, x7, x8 = x2[:n], x3[:n], x4[:n], x6[:n], x7[:n], x8[:n]
	for i := range y {
		y[i] += (w2*(x2[i]+x8[i]) + w3*(x3[i]+x7[i])) + w4*(x4[i]+x6[i])
	}
}
