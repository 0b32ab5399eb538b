package nntest

import (
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// exact is a reference without tolerance beyond the type's rounding.
func exact(want []float64) reference { return reference{want: want} }

// floats64 widens values.
func floats64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func layoutCases() []testCase {
	s := newSource(5)
	var cases []testCase
	for _, c := range []struct {
		from, to  tensor.Shape
		top, left int
	}{
		{tensor.Shape{1, 1, 5, 5}, tensor.Shape{1, 1, 8, 8}, 1, 1},
		{tensor.Shape{1, 1, 8, 8}, tensor.Shape{1, 1, 5, 5}, -1, -1},
		{tensor.Shape{2, 3, 4, 7}, tensor.Shape{2, 3, 9, 6}, 3, -2},
		{tensor.Shape{7, 5}, tensor.Shape{3, 11}, -2, 4},
		{tensor.Shape{2, 3}, tensor.Shape{4, 4}, 5, 0},
		{tensor.Shape{2, 3}, tensor.Shape{4, 4}, 0, -4},
		{tensor.Shape{1, 1, 126, 126}, tensor.Shape{1, 1, 512, 512}, 193, 193},
	} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float16} {
			x := s.normal(d, c.from...)
			h, w := c.from.Plane()
			outH, outW := c.to.Plane()
			want := make([]float64, c.to.Elements())
			for i := range want {
				y, z := i/outW%outH-c.top, i%outW-c.left
				if y >= 0 && y < h && z >= 0 && z < w {
					want[i] = float64(x.Values[i/(outW*outH)*h*w+y*w+z])
				}
			}
			cases = append(cases, testCase{fmt.Sprintf("place %v %v in %v", d, c.from, c.to),
				nn.Place{Top: c.top, Left: c.left}, []Array{x}, []Result{{Shape: c.to, DType: d}},
				[]reference{exact(want)}})
		}
	}
	return append(cases, concatCases(s)...)
}

func concatCases(s source) []testCase {
	a, b, c := s.normal(0, 2, 3, 4, 5), s.normal(tensor.BFloat16, 2, 1, 4, 5), s.normal(0, 2, 2, 4, 5)
	const plane = 20
	var joined []float64
	for n := range 2 {
		for _, x := range []Array{a, b, c} {
			size := x.Shape[1] * plane
			joined = append(joined, floats64(x.Values[n*size:][:size])...)
		}
	}
	var middle []float64
	for n := range 2 {
		middle = append(middle, floats64(a.Values[(n*3+1)*plane:][:2*plane])...)
	}
	return []testCase{
		{"concat", nn.Concat{}, []Array{a, b, c}, []Result{{Shape: tensor.Shape{2, 6, 4, 5}}},
			[]reference{exact(joined)}},
		{"channels", nn.Channels{From: 1}, []Array{a}, []Result{{Shape: tensor.Shape{2, 2, 4, 5}}},
			[]reference{exact(middle)}},
	}
}
