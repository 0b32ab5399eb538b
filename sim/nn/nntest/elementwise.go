package nntest

import (
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

func elementwiseCases() []testCase {
	s := newSource(6)
	var cases []testCase
	types := []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16}
	cases = append(cases, complexCases(s)...)
	for _, d := range types {
		for _, n := range []int{1, 77, 10_001} {
			a, b, c := s.normal(d, n), s.normal(d, n), s.normal(d, n)
			total, scaled, filled := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				total[i] = float64(a.Values[i]) + float64(b.Values[i]) + float64(c.Values[i])
				scaled[i] = float64(float32(0.3)) * float64(a.Values[i])
				filled[i] = 0.75
			}
			out := []Result{{Shape: a.Shape, DType: d}}
			name := func(op string) string { return fmt.Sprintf("%s %v %d", op, d, n) }
			cases = append(cases,
				testCase{name("add"), nn.Add{}, []Array{a, b, c}, out, []reference{{total, 0, 1e-7}}},
				testCase{name("scale"), nn.Scale{Factor: 0.3}, []Array{a}, out, []reference{{scaled, 0, 1e-7}}},
				testCase{name("fill"), nn.Fill{Value: 0.75}, nil, out, []reference{exact(filled)}})
			for _, to := range types {
				// The conversion must give the nearest value, hence no tolerance.
				want := append([]float32{}, a.Values...)
				round(to, want)
				cases = append(cases, testCase{name("cast to " + to.String() + " from"), nn.Cast{}, []Array{a},
					[]Result{{Shape: a.Shape, DType: to}}, []reference{{floats64(want), 0, 0}}})
			}
		}
	}
	for _, side := range []int{1, 9, 70} { // gradients of a spectrum with several readers
		a, b := s.normal(tensor.Complex64, side, side), s.normal(tensor.Complex64, side, side)
		total := make([]float64, len(a.Values))
		for i := range total {
			total[i] = float64(a.Values[i]) + float64(b.Values[i])
		}
		cases = append(cases, testCase{fmt.Sprintf("add complex64 %dx%d", side, side), nn.Add{}, []Array{a, b},
			[]Result{{Shape: a.Shape, DType: tensor.Complex64}}, []reference{{total, 0, 1e-7}}})
	}
	weights := []float32{0.5, -2, 1}
	one := []Result{{Shape: tensor.Shape{}}}
	return append(cases,
		testCase{"weighted sum", nn.WeightedSum{Weights: weights}, []Array{scalar(3), scalar(0.25), scalar(-1)},
			one, []reference{exact([]float64{0})}},
		testCase{"seed", nn.Seed{Weight: 0.5}, nil, one, []reference{exact([]float64{0.5})}},
		testCase{"scaled seed", nn.Seed{Weight: 0.5}, []Array{scalar(65536)}, one, []reference{exact([]float64{32768})}})
}

// complexCases: sums and multiples treat both parts alike.
func complexCases(s source) []testCase {
	a, b := s.normal(tensor.Complex64, 9, 77), s.normal(tensor.Complex64, 9, 77)
	total, scaled := make([]float64, len(a.Values)), make([]float64, len(a.Values))
	for i := range total {
		total[i] = float64(a.Values[i]) + float64(b.Values[i])
		scaled[i] = float64(float32(0.3)) * float64(a.Values[i])
	}
	out := []Result{{Shape: a.Shape, DType: tensor.Complex64}}
	return []testCase{
		{"add complex64", nn.Add{}, []Array{a, b}, out, []reference{{total, 0, 1e-7}}},
		{"scale complex64", nn.Scale{Factor: 0.3}, []Array{a}, out, []reference{{scaled, 0, 1e-7}}},
	}
}
