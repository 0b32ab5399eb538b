package nntest

import (
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// pixelCases are the operators that move or pick pixels.
func pixelCases() []testCase {
	s := newSource(21)
	var cases []testCase
	for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
		for _, shape := range []tensor.Shape{{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 64, 32, 32}} {
			cases = append(cases, scaleCases(s, d, shape)...)
			cases = append(cases, swishCases(s, d, shape)...)
		}
		for _, c := range []struct {
			outer, inner tensor.Shape
			top, left    int
		}{
			{tensor.Shape{2, 3, 8, 8}, tensor.Shape{2, 3, 4, 4}, 2, 2},
			{tensor.Shape{7, 9}, tensor.Shape{3, 9}, 4, 0},
			{tensor.Shape{1, 1, 5, 6}, tensor.Shape{1, 1, 5, 6}, 0, 0},
			{tensor.Shape{2, 1, 64, 64}, tensor.Shape{2, 1, 1, 33}, 0, 31},
		} {
			cases = append(cases, insetCases(s, d, c.outer, c.inner, c.top, c.left)...)
		}
		cases = append(cases, splitCase(s, d, 2, 5, 3, 3, 1), splitCase(s, d, 3, 64, 8, 8, 60))
	}
	return cases
}

// scaleCases are pooling and upsampling between planes of shape and of twice its sides.
func scaleCases(s source, d tensor.DType, shape tensor.Shape) []testCase {
	large := tensor.Shape{shape[0], shape[1], 2 * shape[2], 2 * shape[3]}
	x, y, gy, gx := s.normal(d, large...), s.normal(d, shape...), s.normal(d, shape...), s.normal(d, large...)
	if len(y.Values) > 1 {
		x.Values[0], x.Values[1] = x.Values[2*shape[3]], x.Values[2*shape[3]] // equal values: the first counts
	}
	w := shape[3]
	pooled, spread, repeated := make([]float64, len(y.Values)), make([]float64, len(x.Values)),
		make([]float64, len(x.Values))
	summed := make([]float64, len(y.Values))
	for i := range y.Values {
		corner := 2*(i/w)*2*w + 2*(i%w)
		largest := corner
		for _, at := range []int{corner, corner + 1, corner + 2*w, corner + 2*w + 1} {
			if x.Values[at] > x.Values[largest] {
				largest = at
			}
			repeated[at] = float64(y.Values[i])
			summed[i] += float64(gx.Values[at])
		}
		pooled[i] = float64(x.Values[largest])
		spread[largest] = float64(gy.Values[i])
	}
	small, big := []Result{{Shape: shape, DType: d}}, []Result{{Shape: large, DType: d}}
	name := func(op string) string { return fmt.Sprintf("%s %v %v", op, d, shape) }
	return []testCase{
		{name("max-pool"), nn.MaxPool{}, []Array{x}, small, []reference{exact(pooled)}},
		{name("max-pool grad"), nn.MaxPoolGrad{}, []Array{x, gy}, big, []reference{exact(spread)}},
		{name("upsample"), nn.Upsample{}, []Array{y}, big, []reference{exact(repeated)}},
		{name("upsample grad"), nn.UpsampleGrad{}, []Array{gx}, small, []reference{{summed, 0, 2e-7}}},
	}
}

func swishCases(s source, d tensor.DType, shape tensor.Shape) []testCase {
	x, gy := s.normal(d, shape...), s.normal(d, shape...)
	for i := range x.Values {
		x.Values[i] *= 3
	}
	copy(x.Values, []float32{90, -90, 0})
	round(d, x.Values)
	y, gx := make([]float64, len(x.Values)), make([]float64, len(x.Values))
	for i, v := range floats64(x.Values) {
		p := logistic(v)
		y[i] = v * p
		gx[i] = float64(gy.Values[i]) * (p + v*p*(1-p))
	}
	out := []Result{{Shape: shape, DType: d}}
	name := fmt.Sprintf("swish %v %v", d, shape)
	return []testCase{
		{name, nn.Swish{}, []Array{x}, out, []reference{{y, 0, 1e-7}}},
		{name + " grad", nn.SwishGrad{}, []Array{x, gy}, out, []reference{{gx, 0, 1e-7}}},
	}
}

func insetCases(s source, d tensor.DType, outer, inner tensor.Shape, top, left int) []testCase {
	x, in := s.normal(d, outer...), s.normal(d, inner...)
	h, w := outer.Plane()
	innerH, innerW := inner.Plane()
	y, g := floats64(x.Values), floats64(x.Values)
	for i := range in.Values {
		plane, row, column := i/(innerH*innerW), i/innerW%innerH, i%innerW
		at := plane*h*w + (row+top)*w + column + left
		y[at], g[at] = float64(in.Values[i]), 0
	}
	out := []Result{{Shape: outer, DType: d}}
	name := fmt.Sprintf("inset %v %v in %v", d, inner, outer)
	return []testCase{
		{name, nn.Inset{Top: top, Left: left}, []Array{x, in}, out, []reference{exact(y)}},
		{name + " grad", nn.InsetGrad{Top: top, Left: left, Height: innerH, Width: innerW}, []Array{x}, out,
			[]reference{exact(g)}},
	}
}

func splitCase(s source, d tensor.DType, n, channels, h, w, first int) testCase {
	x := s.normal(d, n, channels, h, w)
	var a, z []float64
	for i := range n {
		one := floats64(x.Values[i*channels*h*w:][:channels*h*w])
		a, z = append(a, one[:first*h*w]...), append(z, one[first*h*w:]...)
	}
	return testCase{fmt.Sprintf("split %v %v at %d", d, x.Shape, first), nn.Split{Channels: first}, []Array{x},
		[]Result{{Shape: tensor.Shape{n, first, h, w}, DType: d},
			{Shape: tensor.Shape{n, channels - first, h, w}, DType: d}},
		[]reference{exact(a), exact(z)}}
}
