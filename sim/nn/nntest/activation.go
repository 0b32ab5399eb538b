package nntest

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// activationRefs are the functions and their derivatives in terms of the output.
var activationRefs = map[nn.ActivationKind]struct {
	name        string
	f, gradient func(float64) float64
}{
	nn.ReLU: {"ReLU", func(x float64) float64 { return max(x, 0) }, func(y float64) float64 { return step(y > 0) }},
	nn.LeakyReLU: {"leaky ReLU", func(x float64) float64 { return max(x, 0.2*x) },
		func(y float64) float64 { return 0.2 + 0.8*step(y > 0) }},
	nn.Sigmoid: {"sigmoid", logistic, func(y float64) float64 { return y * (1 - y) }},
	nn.HardSigmoid: {"hard sigmoid", func(x float64) float64 { return min(max(x/6+0.5, 0), 1) },
		func(y float64) float64 { return step(y > 0 && y < 1) / 6 }},
	nn.ScaleSigmoid: {"scaled sigmoid", func(x float64) float64 { return 1.02*logistic(x) - 0.01 },
		func(y float64) float64 { s := (y + 0.01) / 1.02; return 1.02 * s * (1 - s) }},
	nn.Tanh: {"tanh", math.Tanh, func(y float64) float64 { return 1 - y*y }},
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func step(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func activationCases() []testCase {
	var cases []testCase
	for kind := nn.ReLU; kind <= nn.Tanh; kind++ {
		ref := activationRefs[kind]
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
			s := newSource(uint64(kind))
			for _, n := range []int{1, 23, 9001} {
				x, gy := s.normal(d, n), s.normal(d, n)
				for i := range x.Values {
					x.Values[i] *= 3
				}
				copy(x.Values, []float32{0, float32(math.Copysign(0, -1)), 20, -20, 90, -90, 1e-6, -1e-6})
				round(d, x.Values)
				y := Array{Shape: x.Shape, DType: d, Values: make([]float32, n)}
				want, wantGrad := make([]float64, n), make([]float64, n)
				for i, v := range x.Values {
					want[i] = ref.f(float64(v))
					y.Values[i] = float32(want[i])
				}
				round(d, y.Values)
				for i, v := range y.Values {
					wantGrad[i] = float64(gy.Values[i]) * ref.gradient(float64(v))
				}
				out := []Result{{Shape: x.Shape, DType: d}}
				name := fmt.Sprintf("%s %v %d", ref.name, d, n)
				cases = append(cases,
					testCase{name, nn.Activation{Kind: kind}, []Array{x}, out, []reference{{want, 0, 1e-7}}},
					testCase{name + " grad", nn.ActivationGrad{Kind: kind}, []Array{y, gy}, out, []reference{{wantGrad, 1, 2e-7}}})
			}
		}
	}
	return cases
}
