package cpu

import (
	"math"

	"prismtop/sim/nn"
)

// msssimWeights are the exponents of the scales (spec/prism.md §5.5).
var msssimWeights = [...]float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}

// msssimFloor and 1 bound each scale's mean before the powers.
const msssimFloor = 1e-10

// msssimScale is one scale: its planes and the data saved for the gradient.
// Planes of all scales but the first are pooled from the finer scale and saved
// too.
type msssimScale struct {
	h, w       int
	p, t, maps []float32
}

// msssimLayout cuts saved into the scales and their gradient factors.
func msssimLayout(saved, p, t []float32, h, w int) (scales []msssimScale, factors []float32) {
	for i := range nn.MSSSIMScales(h, w) {
		n := h * w
		if i > 0 {
			p, t, saved = saved[:n], saved[n:2*n], saved[2*n:]
		}
		maps := nn.SSIMSaved(h, w)
		scales = append(scales, msssimScale{h, w, p, t, saved[:maps]})
		saved, h, w = saved[maps:], h/2, w/2
	}
	return scales, saved
}

// msssimLoss is (1 − Π meanᵢ^weightᵢ)/2 over the scales: the contrast-structure
// part at each, full SSIM at the fifth. With fewer than five scales the weights
// used are normalised to sum to 1, and no scale has the luminance term. It saves
// ∂loss/∂(one pixel of scale i's map).
func (b *binder) msssimLoss(value, saved, p, t []float32, h, w int) func() {
	scales, factors := msssimLayout(saved, p, t, h, w)
	maps := make([]*ssimMap, len(scales))
	pools := make([]func(), len(scales))
	total := 0.0
	used := b.used
	most := used
	for i, s := range scales {
		b.used = used // the scales run one after the other and share their scratch
		maps[i] = b.newSSIMMap(s.p, s.t, s.maps, s.h, s.w, i == len(msssimWeights)-1)
		most = max(most, b.used)
		total += msssimWeights[i]
		if i > 0 {
			pools[i] = b.poolPlanes(s, scales[i-1])
		}
	}
	b.used = most
	means := make([]float64, len(scales))
	return func() {
		logarithm := 0.0
		for i, m := range maps {
			if i > 0 {
				pools[i]()
			}
			means[i] = m.run()
			logarithm += msssimWeights[i] / total * math.Log(min(max(means[i], msssimFloor), 1))
		}
		product := math.Exp(logarithm)
		value[0] = float32((1 - product) / 2)
		for i, v := range means {
			factors[i] = 0 // the clamp is flat outside its bounds
			if v >= msssimFloor && v <= 1 {
				factors[i] = float32(-0.5 * product * msssimWeights[i] / total / v / float64(scales[i].h*scales[i].w))
			}
		}
	}
}

// poolPlanes returns a closure that computes a scale's planes from the finer
// ones.
func (b *binder) poolPlanes(to, from msssimScale) func() {
	return b.rows(to.h, to.w, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			poolRow(to.p[i*to.w:][:to.w], from.p[2*i*from.w:][:2*from.w])
			poolRow(to.t[i*to.w:][:to.w], from.t[2*i*from.w:][:2*from.w])
		}
	})
}

// poolRow averages 2×2 squares of two rows: y[j] = ¼·Σ x[{0, 1}·w + {2j, 2j+1}].
func poolRow(y, x []float32) {
	w := len(x) / 2
	upper, lower := x[:w], x[w:]
	for j := range y {
		y[j] = 0.25 * ((upper[2*j] + upper[2*j+1]) + (lower[2*j] + lower[2*j+1]))
	}
}

// unpoolRow is poolRow's adjoint for one of the two rows: y[2j] and y[2j+1] += ¼·x[j].
func unpoolRow(y, x []float32) {
	for j, v := range x {
		y[2*j] += 0.25 * v
		y[2*j+1] += 0.25 * v
	}
}

// msssimGrad goes from the coarsest scale to the finest; each adds the gradient
// of the coarser one.
func (b *binder) msssimGrad(gp, p, t, saved, upstream []float32, h, w int) func() {
	scales, factors := msssimLayout(saved, p, t, h, w)
	adjoints := make([]*ssimAdjoint, len(scales))
	gradients := make([][]float32, len(scales))
	for i, s := range scales {
		gradients[i] = gp
		if i > 0 {
			gradients[i] = b.floats(s.h * s.w)
		}
	}
	used := b.used
	most := used
	for i, s := range scales {
		b.used = used
		adjoints[i] = b.newSSIMAdjoint(gradients[i], s.p, s.t, s.maps, s.h, s.w)
		most = max(most, b.used)
		if i+1 < len(scales) {
			adjoints[i].coarse = gradients[i+1]
		}
	}
	b.used = most
	return func() {
		for i := len(adjoints) - 1; i >= 0; i-- {
			adjoints[i].run(upstream[0] * factors[i])
		}
	}
}
