package cpu

import "math"

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
	windows []window
	centre  [ssimTaps]float32 // the weights where no end is near
}

func newBlur(n int, adjoint bool) blur {
	g := gaussian()
	bl := blur{windows: make([]window, n)}
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

// row blurs along a row: y[i] = Σ weights[k]·x[first + k] of window i.
func (bl *blur) row(y, x []float32) {
	n := len(y)
	x = x[:n]
	edge := min(2*ssimPad, n) // adjoint windows differ up to here from an end
	if n > 2*edge {
		inner := y[edge : n-edge]
		clear(inner)
		bl.addShifted(inner, x[edge-ssimPad:])
	} else {
		edge = n
	}
	for i := range edge {
		y[i] = bl.windows[i].at(x)
	}
	for i := max(n-edge, edge); i < n; i++ {
		y[i] = bl.windows[i].at(x)
	}
}

// addShifted is y[i] += Σ centre[k]·x[i+k].
func (bl *blur) addShifted(y, x []float32) {
	n, w := len(y), &bl.centre
	axpy1x4(y, x[:n], x[1:][:n], x[2:][:n], x[3:][:n], w[0], w[1], w[2], w[3])
	axpy1x4(y, x[4:][:n], x[5:][:n], x[6:][:n], x[7:][:n], w[4], w[5], w[6], w[7])
	axpy1x4(y, x[8:][:n], x[9:][:n], x[10:][:n], x[10:][:n], w[8], w[9], w[10], 0)
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
	clear(y)
	x = x[w.first*n:]
	k := 0
	for ; k+3 < w.count; k += 4 {
		axpy1x4(y, x[k*n:][:n], x[(k+1)*n:][:n], x[(k+2)*n:][:n], x[(k+3)*n:][:n],
			w.weights[k], w.weights[k+1], w.weights[k+2], w.weights[k+3])
	}
	for ; k < w.count; k++ {
		axpy(y, x[k*n:][:n], w.weights[k])
	}
}
