package nntest

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// convAdamCases are updates of weights without a stored gradient: the shapes of the
// convolutions, plain and transposed, in a first and in a later step.
func convAdamCases() []testCase {
	var cases []testCase
	for i, c := range convShapes {
		if c.hs*c.ws > 10000 {
			continue
		}
		for _, transposed := range []bool{false, true} {
			if !transposed && c.outputPad > 0 && c.stride <= c.outputPad {
				continue
			}
			add := func(d tensor.DType, products nn.Products, k float32) {
				op := nn.ConvAdam{Stride: c.stride, Pad: c.pad, Transposed: transposed,
					Update: nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-2, AMSGrad: (i+int(k))%2 == 1}}
				cases = append(cases, c.convAdam(newSource(uint64(i)), op, d, products, k, false))
				if c.outer() && transposed && products == nn.Exact {
					op.GradInput = true
					cases = append(cases, c.convAdam(newSource(uint64(i)), op, d, products, k, false))
					if d == tensor.BFloat16 {
						cases = append(cases, c.convAdam(newSource(uint64(i)), op, d, products, k, true))
					}
				}
			}
			add(tensor.Float32, nn.Exact, 1)
			add(tensor.Float32, nn.Exact, 37)
			add(tensor.Float32, nn.BF16x3, 2)
			if i%3 == 0 || c.outer() {
				add(tensor.BFloat16, nn.Exact, 38)
			}
		}
	}
	return cases
}

// outer reports whether the weight gradient is the product of one pixel and one image.
func (c convShape) outer() bool {
	return c.n*c.hs*c.ws == 1 && c.pad == 0 && c.outputPad == 0
}

// convAdam is one update on random images and weights, with zero moments in the first step.
// The tolerance is the effect of the rounding of the gradient's sum, computed with the
// formula itself, plus the rounding of the update. If rounded, the image's gradient is computed from
// weights in bfloat16.
func (c convShape) convAdam(s source, op nn.ConvAdam, d tensor.DType, products nn.Products, k float32,
	rounded bool) testCase {
	const lr = 1e-3
	small, large := s.normal(d, c.n, c.small, c.hs, c.ws), s.normal(d, c.n, c.large, c.hl(), c.wl())
	shape := []int{c.small, c.large, c.kh, c.kw}
	state := []Array{s.normal(0, shape...), s.normal(0, shape...), s.uniform(0.5, 1.5, shape...)}
	if op.Update.AMSGrad {
		state = append(state, s.uniform(0.5, 1.5, shape...))
	}
	if k == 1 {
		for _, a := range state[1:] {
			clear(a.Values)
		}
	}
	x, gy := large, small
	if op.Transposed {
		x, gy = small, large
	}
	t := testCase{
		name: fmt.Sprintf("transposed %v, with dX %v, rounded %v, step %v, AMSGrad %v, %v %v: %v",
			op.Transposed, op.GradInput, rounded, k, op.Update.AMSGrad, d, products, c),
		op: multiplied{op, products},
		in: append([]Array{x, gy, scalar(lr), scalar(k)}, state...),
	}
	gathered, _, gradient := c.sums(small, large, state[0], products)
	if rounded {
		w := Array{Shape: state[0].Shape, DType: tensor.BFloat16}
		for _, v := range state[0].Values {
			w.Values = append(w.Values, tensor.BF16ToF32(tensor.F32ToBF16(v)))
		}
		gathered, _, _ = c.sums(small, large, w, products)
		t.in = append(t.in, w)
	}
	var before [][]float64
	for _, a := range state {
		before = append(before, floats64(a.Values))
	}
	after := adamReference(op.Update, before, gradient.want, lr, k)
	delta := gradient.tolerance * gradient.scale
	less := adamReference(op.Update, before, shifted(gradient.want, -delta), lr, k)
	more := adamReference(op.Update, before, shifted(gradient.want, delta), lr, k)
	for a, want := range after {
		scale, off := 0.0, 0.0
		for i, v := range want {
			scale = max(scale, math.Abs(v))
			off = max(off, math.Abs(less[a][i]-v), math.Abs(more[a][i]-v))
		}
		t.out = append(t.out, Result{InPlace: true, Input: 4 + a})
		t.want = append(t.want, reference{want, scale, 3e-7 + off/scale})
	}
	if op.GradInput {
		t.out, t.want = append(t.out, Result{Shape: x.Shape, DType: d}), append(t.want, gathered)
	}
	return t
}

// shifted returns x[i] + by.
func shifted(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v + by
	}
	return y
}
