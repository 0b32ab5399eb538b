package nntest

import (
	"fmt"
	"math"
	"math/cmplx"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// centredDFT computes the orthonormal transform of one plane, with the origin of
// both domains at [h/2, w/2], from its definition.
func centredDFT(x []complex128, h, w int, inverse bool) []complex128 {
	sign := -2 * math.Pi
	if inverse {
		sign = -sign
	}
	along := func(x []complex128, n, stride, from int) []complex128 {
		y := make([]complex128, n)
		for u := range n {
			for j := range n {
				turns := float64((u-n/2)*(j-n/2)%n) / float64(n)
				y[u] += x[from+j*stride] * cmplx.Rect(1/math.Sqrt(float64(n)), sign*turns)
			}
		}
		return y
	}
	rows := make([]complex128, h*w)
	for i := range h {
		copy(rows[i*w:], along(x, w, 1, i*w))
	}
	out := make([]complex128, h*w)
	for j := range w {
		for i, v := range along(rows, h, w, j) {
			out[i*w+j] = v
		}
	}
	return out
}

// complexes reads an array's elements; a real array has no imaginary parts.
func (a Array) complexes() []complex128 {
	z := make([]complex128, a.Shape.Elements())
	for i := range z {
		if a.DType == tensor.Complex64 {
			z[i] = complex(float64(a.Values[2*i]), float64(a.Values[2*i+1]))
		} else {
			z[i] = complex(float64(a.Values[i]), 0)
		}
	}
	return z
}

// parts returns real and imaginary parts, or the real ones only.
func parts(z []complex128, d tensor.DType) []float64 {
	var x []float64
	for _, v := range z {
		x = append(x, real(v))
		if d == tensor.Complex64 {
			x = append(x, imag(v))
		}
	}
	return x
}

func opticsCases() []testCase {
	s := newSource(7)
	var cases []testCase
	const f32, c64 = tensor.Float32, tensor.Complex64
	for _, shape := range []tensor.Shape{{1, 1, 32, 48}, {15, 9}, {17, 8}, {1, 13}, {2, 1, 16, 16}, {1, 1}, {64, 2}} {
		for _, types := range [][2]tensor.DType{{c64, c64}, {f32, c64}, {c64, f32}} {
			for _, inverse := range []bool{false, true} {
				x := s.normal(types[0], shape...)
				z := x.complexes()
				h, w := shape.Plane()
				for at := 0; at < len(z); at += h * w {
					copy(z[at:], centredDFT(z[at:][:h*w], h, w, inverse))
				}
				cases = append(cases, testCase{fmt.Sprintf("FFT %v %v to %v inverse %v", shape, types[0],
					types[1], inverse),
					nn.FFT{Inverse: inverse}, []Array{x}, []Result{{Shape: shape, DType: types[1]}},
					[]reference{{parts(z, types[1]), 0, 1e-6}}})
			}
		}
		cases = append(cases, planeCases(s, shape)...)
	}
	return cases
}

// planeCases are the operators between the two transforms.
func planeCases(s source, shape tensor.Shape) []testCase {
	h, w := shape.Plane()
	plane := h * w
	z, gy := s.normal(tensor.Complex64, shape...), s.normal(tensor.Float32, shape...)
	// sgn(0) is 0; squares of the others overflow, vanish or are subnormal.
	copy(z.Values, []float32{0, 0, 3e-25, 4e-25, 3e-18, -4e-18})
	mask := s.uniform(0, 1, h, w)
	for i, v := range mask.Values {
		mask.Values[i] = float32(math.Round(float64(v)))
	}
	masked, flipped, gradient := z.complexes(), make([]float64, shape.Elements()), z.complexes()
	for i, v := range z.complexes() {
		mirror := i/plane*plane + plane - 1 - i%plane
		masked[i] *= complex(float64(mask.Values[i%plane]), 0)
		flipped[mirror] = cmplx.Abs(v)
		if v != 0 {
			gradient[i] *= complex(float64(gy.Values[mirror])/cmplx.Abs(v), 0)
		}
	}
	huge := Array{Shape: tensor.Shape{1, 1}, DType: tensor.Complex64, Values: []float32{3e25, -4e25}}
	toComplex := []Result{{Shape: shape, DType: tensor.Complex64}}
	return []testCase{
		{fmt.Sprintf("mask %v", shape), nn.MaskMultiply{}, []Array{z, mask}, toComplex, []reference{exact(parts(masked, tensor.Complex64))}},
		{fmt.Sprintf("modulus %v", shape), nn.ModulusFlip{}, []Array{z}, []Result{{Shape: shape}}, []reference{{flipped, 0, 1e-7}}},
		{"modulus whose square overflows", nn.ModulusFlip{}, []Array{huge}, []Result{{Shape: huge.Shape}}, []reference{{[]float64{5e25}, 0, 1e-7}}},
		{fmt.Sprintf("modulus grad %v", shape), nn.ModulusFlipGrad{}, []Array{z, gy}, toComplex,
			[]reference{{parts(gradient, tensor.Complex64), 0, 3e-7}}},
	}
}
