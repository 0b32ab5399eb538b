package loss

import "math"

// SSIM's kernels work on tiles: TileReach or TileSide rows of TileSide elements
// each, one after the other. A strip is TileSide rows of a plane, transposed: the
// pixels of one column are one row of the strip.
const (
	TileSide   = 16 // rows and columns of a tile
	WindowTaps = 11 // of SSIM's window (spec/prism.md §5.5)
	ssimSigma  = 1.5

	// TileReach is the number of rows from which a tile is blurred.
	TileReach = TileSide + WindowTaps - 1

	ssimC1 = 1e-4 // spec/prism.md §5.5, for a data range of 1
	ssimC2 = 9e-4
)

// Window is a symmetric window: its centre weight, then the weights on one side.
type Window [WindowTaps/2 + 1]float32

// SSIMWeights are the centre weight of SSIM's window and the weights on one side:
// a Gaussian of σ 1.5 along one axis, normalised so that the whole window sums to
// 1.
func SSIMWeights() (w [WindowTaps/2 + 1]float64) {
	total := 0.0
	for i := range w {
		w[i] = math.Exp(-float64(i*i) / (2 * ssimSigma * ssimSigma))
		total += w[i]
		if i > 0 {
			total += w[i]
		}
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

// SSIMWindow is SSIMWeights in the kernels' type.
func SSIMWindow() (w Window) {
	for i, v := range SSIMWeights() {
		w[i] = float32(v)
	}
	return w
}

// ssimProducts fills four tiles of TileReach rows from two planes: for the r-th row,
// which starts at rows[r] in both,
//
//	y[0, r, c] = p;  y[1, r, c] = t;  y[2, r, c] = (p − t)²;  y[3, r, c] = p·t
func ssimProducts(y, p, t []float32, rows *[TileReach]int32) {
	const size = TileReach * TileSide
	y = y[:4*size]
	for r, row := range rows {
		at := r * TileSide
		p, t := p[row:][:TileSide], t[row:][:TileSide]
		first, second := y[at:][:TileSide], y[size+at:][:TileSide]
		square, product := y[2*size+at:][:TileSide], y[3*size+at:][:TileSide]
		for c, u := range p {
			v := t[c]
			first[c], second[c] = u, v
			square[c], product[c] = (u-v)*(u-v), u*v
		}
	}
}

// blurTurn blurs tiles of TileReach rows along their columns and transposes them
// into tiles of TileSide rows; tile i starts at y[i·yStep] and x[i·xStep].
//
//	y[c, r] = Σ window[k]·x[r + k, c]
func blurTurn(y []float32, yStep int, x []float32, xStep, tiles int, w *Window) {
	for i := range tiles {
		to, from := y[i*yStep:][:TileSide*TileSide], x[i*xStep:][:TileReach*TileSide]
		for r := range TileSide {
			var row [TileSide]float32
			w.blur(&row, from[r*TileSide:])
			for c, v := range row {
				to[c*TileSide+r] = v
			}
		}
	}
}

// blur computes y[c] = Σ window[k]·x[k, c], by pairs of equal weights.
func (w *Window) blur(y *[TileSide]float32, x []float32) {
	x = x[:WindowTaps*TileSide]
	row := func(k int) *[TileSide]float32 { return (*[TileSide]float32)(x[k*TileSide:]) }
	x0, x1, x2, x3, x4, x5 := row(0), row(1), row(2), row(3), row(4), row(5)
	x6, x7, x8, x9, x10 := row(6), row(7), row(8), row(9), row(10)
	w0, w1, w2, w3, w4, w5 := w[0], w[1], w[2], w[3], w[4], w[5]
	for c := range y {
		y[c] = (w0*x5[c] + w1*(x4[c]+x6[c])) + w2*(x3[c]+x7[c])
	}
	for c := range y {
		y[c] += (w3*(x2[c]+x8[c]) + w4*(x1[c]+x9[c])) + w5*(x0[c]+x10[c])
	}
}

// score blurs four moments along a strip, from n + 10 of its columns,
// and writes three strips: the derivatives of each pixel's SSIM, or of its
// contrast-structure part if not full. It adds 2·(1 − value) to sums[r] for each
// value of row r.
func score(y []float32, yStep int, x []float32, xStep, n int, w *Window, sums *[TileSide]float32, full bool) {
	for j := range n {
		var moments [4][TileSide]float32
		for m := range moments {
			w.blur(&moments[m], x[m*xStep+j*TileSide:])
		}
		mean := y[j*TileSide:][:TileSide]
		square, product := y[yStep+j*TileSide:][:TileSide], y[2*yStep+j*TileSide:][:TileSide]
		for r := range sums {
			var lack float32
			if p, t, d, pt := moments[0][r], moments[1][r], moments[2][r], moments[3][r]; full {
				lack, mean[r], square[r], product[r] = ssimElement(p, t, d, pt)
			} else {
				lack, mean[r], square[r], product[r] = contrastElement(p, t, d, pt)
			}
			sums[r] += lack
		}
	}
}

// ssimElement computes, from the blurred p, t, (p−t)² and p·t of a pixel, 2·(1 −
// SSIM) and the derivatives of SSIM with respect to p̄, p²‾ (doubled) and pt‾. With
// σd² the variance of p − t,
//
//	A1 = 2p̄t̄+C1, A2 = 2σpt+C2, B1 = A1+(p̄−t̄)², B2 = A2+σd², S = A1·A2/(B1·B2)
//	1−S = (A1·σd² + B2·(p̄−t̄)²)/(B1·B2)
//	∂S/∂pt‾ = 2·A1/(B1·B2);  ∂S/∂p²‾ = −S/B2
//	∂S/∂p̄ = 2/(B1·B2)·(t̄·(A2−A1) + p̄·S·(B1−B2))
//
// Computed from differences of p and t, 1−S is accurate for nearly equal planes
// and 0 for equal ones.
func ssimElement(p, t, difference, product float32) (lack, byMean, bySquare, byProduct float32) {
	d := (p - t) * (p - t)
	variance := difference - d
	a1, a2 := 2*p*t+ssimC1, 2*(product-p*t)+ssimC2
	b1, b2 := a1+d, a2+variance
	inverse := 2 / (b1 * b2)
	byProduct = a1 * inverse
	s := -a2 * byProduct / 2
	return (a1*variance + b2*d) * inverse, inverse * (t*(a2-a1) - p*s*(b1-b2)), s * b1 * inverse, byProduct
}

// contrastElement is ssimElement for the contrast-structure part CS = A2/B2:
//
//	∂CS/∂pt‾ = 2/B2;  ∂CS/∂p²‾ = −CS/B2;  ∂CS/∂p̄ = 2·(p̄·CS − t̄)/B2
func contrastElement(p, t, difference, product float32) (lack, byMean, bySquare, byProduct float32) {
	variance := difference - (p-t)*(p-t)
	a2 := 2*(product-p*t) + ssimC2
	inverse := 2 / (a2 + variance)
	s := -a2 * inverse / 2
	return variance * inverse, (-p*s - t) * inverse, s * inverse, inverse
}

// blurCombine blurs three tiles of TileReach rows, step apart, along their columns
// and combines them into a tile of the gradient; rows of y, p and t are pitch
// apart.
//
//	y = factor·(blur(maps[0]) + p·blur(maps[1]) + t·blur(maps[2]))
func blurCombine(y []float32, pitch int, p, t, maps []float32, step int, w *Window, factor float32) {
	for r := range TileSide {
		var mean, square, product [TileSide]float32
		w.blur(&mean, maps[r*TileSide:])
		w.blur(&square, maps[step+r*TileSide:])
		w.blur(&product, maps[2*step+r*TileSide:])
		out := y[r*pitch:][:TileSide]
		p, t := p[r*pitch:][:TileSide], t[r*pitch:][:TileSide]
		for c := range out {
			out[c] = factor * (mean[c] + p[c]*square[c] + t[c]*product[c])
		}
	}
}
