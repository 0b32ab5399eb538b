package nntest

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// lossRef computes a loss between planes of h×w from its definition.
type lossRef func(p, t []float64, h, w int) float64

func mean(n int, f func(i int) float64) float64 {
	total := 0.0
	for i := range n {
		total += f(i)
	}
	return total / float64(n)
}

func l1(normalize bool) lossRef {
	return func(p, t []float64, _, _ int) float64 {
		v := mean(len(p), func(i int) float64 { return math.Abs(p[i] - t[i]) })
		if normalize {
			v /= mean(len(p), func(i int) float64 { return math.Abs(t[i]) }) + 1e-8
		}
		return v
	}
}

func l2(normalize bool) lossRef {
	return func(p, t []float64, _, _ int) float64 {
		v := mean(len(p), func(i int) float64 { return (p[i] - t[i]) * (p[i] - t[i]) })
		if normalize {
			v /= mean(len(p), func(i int) float64 { return t[i] * t[i] }) + 1e-8
		}
		return v
	}
}

// ssimMeans returns the means of SSIM and of its contrast-structure part, with
// the window as a plain two-dimensional sum.
func ssimMeans(p, t []float64, h, w int) (ssim, contrast float64) {
	var g [11]float64
	total := 0.0
	for i := range g {
		g[i] = math.Exp(-float64((i-5)*(i-5)) / (2 * 1.5 * 1.5))
		total += g[i]
	}
	mirror := func(i, n int) int {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*n - 2 - i
		}
		return i
	}
	for i := range h {
		for j := range w {
			var m [5]float64
			for ky := range 11 {
				for kx := range 11 {
					k := mirror(i+ky-5, h)*w + mirror(j+kx-5, w)
					f := g[ky] * g[kx] / (total * total)
					for q, v := range [5]float64{p[k], t[k], p[k] * p[k], t[k] * t[k], p[k] * t[k]} {
						m[q] += f * v
					}
				}
			}
			const c1, c2 = 1e-4, 9e-4
			cs := (2*(m[4]-m[0]*m[1]) + c2) / (m[2] - m[0]*m[0] + m[3] - m[1]*m[1] + c2)
			contrast += cs
			ssim += cs * (2*m[0]*m[1] + c1) / (m[0]*m[0] + m[1]*m[1] + c1)
		}
	}
	n := float64(h * w)
	return ssim / n, contrast / n
}

func dssim(p, t []float64, h, w int) float64 {
	s, _ := ssimMeans(p, t, h, w)
	return (1 - s) / 2
}

func dmsssim(p, t []float64, h, w int) float64 {
	weights := []float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}
	var values []float64
	for i := range weights {
		if min(h, w) < 11 {
			break
		}
		v, contrast := ssimMeans(p, t, h, w)
		if i < 4 {
			v = contrast
		}
		values = append(values, min(max(v, 1e-10), 1))
		p, t = halved(p, h, w), halved(t, h, w)
		h, w = h/2, w/2
	}
	used, product := 0.0, 1.0
	for i := range values {
		used += weights[i]
	}
	for i, v := range values {
		product *= math.Pow(v, weights[i]/used)
	}
	return (1 - product) / 2
}

func halved(x []float64, h, w int) []float64 {
	var y []float64
	for i := range h / 2 {
		for j := range w / 2 {
			k := 2*i*w + 2*j
			y = append(y, (x[k]+x[k+1]+x[k+w]+x[k+w+1])/4)
		}
	}
	return y
}

// slopes returns the gradient of a loss at chosen elements, by central
// differences.
func (f lossRef) slopes(p, t []float64, h, w int, at []int) []float64 {
	const step = 1e-5
	var g []float64
	for _, i := range at {
		v := p[i]
		p[i] = v + step
		upper := f(p, t, h, w)
		p[i] = v - step
		lower := f(p, t, h, w)
		p[i] = v
		g = append(g, (upper-lower)/(2*step))
	}
	return g
}

// lossTolerance is relative to 1. SSIM's variances are differences of blurred
// squares, which costs a float32 program a digit.
const lossTolerance = 2e-6

// lossPair returns two planes that resemble measurements: smooth, between 0 and
// 1.
func lossPair(s source, h, w int) (p, t Array) {
	p, t = s.uniform(0, 0.2, 1, 1, h, w), s.uniform(0, 0.2, 1, 1, h, w)
	for i := range p.Values {
		y, x := float64(i/w), float64(i%w)
		v := 0.4 + 0.3*math.Sin(y/5+0.3)*math.Cos(x/7)
		p.Values[i] += float32(v)
		t.Values[i] += float32(v * 0.9)
	}
	return p, t
}

func lossCases() []testCase {
	var cases []testCase
	for i, c := range []struct {
		name      string
		kind      nn.LossKind
		normalize bool
		ref       lossRef
		sizes     [][2]int
	}{
		{"L1", nn.L1, false, l1(false), [][2]int{{1, 1}, {24, 20}, {90, 100}}},
		{"L1 normalised", nn.L1, true, l1(true), [][2]int{{24, 20}, {90, 100}}},
		{"L2", nn.L2, false, l2(false), [][2]int{{1, 1}, {24, 20}, {90, 100}}},
		{"L2 normalised", nn.L2, true, l2(true), [][2]int{{24, 20}, {90, 100}}},
		{"SSIM", nn.SSIM, false, dssim, [][2]int{{6, 6}, {6, 40}, {11, 7}, {21, 22}, {20, 45}, {58, 37}}},
		{"MS-SSIM", nn.MSSSIM, false, dmsssim, [][2]int{{11, 13}, {23, 30}, {47, 45}}},
	} {
		for _, size := range c.sizes {
			s := newSource(uint64(200 + i))
			p, t := lossPair(s, size[0], size[1])
			name := fmt.Sprintf("%s %dx%d", c.name, size[0], size[1])
			value := c.ref(floats64(p.Values), floats64(t.Values), size[0], size[1])
			saved := tensor.Shape{nn.LossSaved(c.kind, size[0], size[1])}
			cases = append(cases, testCase{name, nn.Loss{Kind: c.kind, Normalize: c.normalize}, []Array{p, t},
				[]Result{{Shape: tensor.Shape{}}, {Shape: saved}}, []reference{{[]float64{value}, 1, lossTolerance}}})
		}
	}
	return cases
}
