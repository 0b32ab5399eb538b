package nntest

import (
	"fmt"
	"math"
	"math/cmplx"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// diffractionCases are the operators of ptychography.
func diffractionCases() []testCase {
	s := newSource(22)
	var cases []testCase
	for _, n := range []int{1, 77, 10_001} {
		cases = append(cases, polarCases(s, n)...)
		cases = append(cases, poissonCases(s, n)...)
	}
	for _, shape := range []tensor.Shape{{1, 1}, {2, 3, 7, 9}, {3, 1, 64, 64}} {
		cases = append(cases, fieldCases(s, shape)...)
	}
	for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
		cases = append(cases, softplusCases(s, d, 23)...)
		cases = append(cases, softplusCases(s, d, 10_001)...)
	}
	for _, c := range []struct{ groups, channels, patch, canvas, support int }{
		{1, 1, 4, 4, 2}, {2, 4, 8, 14, 4}, {3, 2, 9, 5, 3}, {2, 4, 64, 78, 32},
	} {
		cases = append(cases, patchCases(s, c.groups, c.channels, c.patch, c.canvas, c.support)...)
	}
	return cases
}

func softplusCases(s source, d tensor.DType, n int) []testCase {
	x, gy := s.normal(d, n), s.normal(d, n)
	for i := range x.Values {
		x.Values[i] *= 3
	}
	copy(x.Values, []float32{200, -200, 0, 30, -30})
	round(d, x.Values)
	y, gx := make([]float64, n), make([]float64, n)
	for i, v := range floats64(x.Values) {
		y[i] = math.Log(1 + math.Exp(v))
		gx[i] = float64(gy.Values[i]) * logistic(v)
	}
	out := []Result{{Shape: x.Shape, DType: d}}
	name := fmt.Sprintf("softplus %v %d", d, n)
	return []testCase{
		{name, nn.Softplus{}, []Array{x}, out, []reference{{y, 1, 2e-7}}},
		{name + " grad", nn.SoftplusGrad{}, []Array{x, gy}, out, []reference{{gx, 0, 1e-7}}},
	}
}

func polarCases(s source, n int) []testCase {
	a, phase, gz := s.normal(tensor.Float32, n), s.uniform(-7, 7, n), s.normal(tensor.Complex64, n)
	z := make([]complex128, n)
	ga, gphase := make([]float64, n), make([]float64, n)
	for i, g := range gz.complexes() {
		turn := cmplx.Rect(1, float64(phase.Values[i]))
		z[i] = complex(float64(a.Values[i]), 0) * turn
		ga[i] = real(g * cmplx.Conj(turn))
		gphase[i] = float64(a.Values[i]) * imag(g*cmplx.Conj(turn))
	}
	out := Result{Shape: a.Shape}
	name := fmt.Sprintf("polar %d", n)
	return []testCase{
		{name, nn.Polar{}, []Array{a, phase}, []Result{{Shape: a.Shape, DType: tensor.Complex64}},
			[]reference{{parts(z, tensor.Complex64), 0, 1e-7}}},
		{name + " grad", nn.PolarGrad{}, []Array{a, phase, gz}, []Result{out, out},
			[]reference{{ga, 0, 1e-7}, {gphase, 0, 1e-7}}},
	}
}

func poissonCases(s source, n int) []testCase {
	const epsilon = 1e-3
	p, t, g := s.uniform(0, 4, n), s.uniform(0, 5, n), scalar(0.5)
	p.Values[0] = 0
	loss, size, gp := 0.0, 0.0, make([]float64, n)
	for i := range n {
		expected, count := float64(p.Values[i]), float64(t.Values[i])
		known := expected + float64(float32(epsilon))
		term := expected - count*math.Log(known)
		loss += term / float64(n)
		size += math.Abs(term) / float64(n)
		gp[i] = 0.5 / float64(n) * (1 - count/known)
	}
	y, gy := s.normal(tensor.Float32, n), s.normal(tensor.Float32, n)
	total, scale, scaled := 0.0, 0.0, make([]float64, n)
	for i := range n {
		term := -2 * float64(y.Values[i]) * float64(gy.Values[i])
		total += term
		scale += math.Abs(term)
		scaled[i] = float64(y.Values[i]) * math.Exp(-2*float64(float32(0.3)))
	}
	one, all := []Result{{Shape: tensor.Shape{}}}, []Result{{Shape: p.Shape}}
	return []testCase{
		{fmt.Sprintf("Poisson loss %d", n), nn.PoissonLoss{Epsilon: epsilon}, []Array{p, t}, one, []reference{{[]float64{loss}, size, 1e-7}}},
		{fmt.Sprintf("Poisson loss grad %d", n), nn.PoissonLossGrad{Epsilon: epsilon}, []Array{p, t, g}, all, []reference{{gp, 0, 1e-7}}},
		{fmt.Sprintf("exp scale %d", n), nn.ExpScale{Power: -2}, []Array{y, scalar(0.3)}, all, []reference{{scaled, 0, 2e-7}}},
		{fmt.Sprintf("exp scale grad %d", n), nn.ExpScaleGrad{Power: -2}, []Array{y, gy}, one, []reference{{[]float64{total}, scale, 1e-7}}},
	}
}

// fieldCases are the probe and the intensity.
func fieldCases(s source, shape tensor.Shape) []testCase {
	h, w := shape.Plane()
	z, gy, probe := s.normal(tensor.Complex64, shape...), s.normal(tensor.Float32, shape...),
		s.normal(tensor.Float32, 2, h, w)
	n := len(gy.Values)
	lit, back, gz, y := make([]complex128, n), make([]complex128, n), make([]complex128, n), make([]float64, n)
	for i, v := range z.complexes() {
		at := i % (h * w)
		p := complex(float64(probe.Values[at]), float64(probe.Values[h*w+at]))
		lit[i], back[i] = v*p, v*cmplx.Conj(p)
		y[i] = real(v)*real(v) + imag(v)*imag(v)
		gz[i] = complex(2*float64(gy.Values[i]), 0) * v
	}
	field, real := []Result{{Shape: shape, DType: tensor.Complex64}}, []Result{{Shape: shape}}
	name := func(op string) string { return fmt.Sprintf("%s %v", op, shape) }
	return []testCase{
		{name("probe"), nn.ProbeMultiply{}, []Array{z, probe}, field, []reference{{parts(lit, tensor.Complex64), 0, 2e-7}}},
		{name("conjugate probe"), nn.ProbeMultiply{Conjugate: true}, []Array{z, probe}, field, []reference{{parts(back, tensor.Complex64), 0, 2e-7}}},
		{name("intensity"), nn.Intensity{}, []Array{z}, real, []reference{{y, 0, 2e-7}}},
		{name("intensity grad"), nn.IntensityGrad{}, []Array{z, gy}, field, []reference{{parts(gz, tensor.Complex64), 0, 2e-7}}},
	}
}

// patchCases are sums and extracts of patches at offsets of whole and broken pixels,
// some of which lie outside the canvas.
func patchCases(s source, groups, channels, patch, canvas, support int) []testCase {
	z := s.normal(tensor.Complex64, groups, channels, patch, patch)
	o := s.normal(tensor.Complex64, groups, 1, canvas, canvas)
	offsets := s.uniform(-4, 4, groups, channels, 2)
	copy(offsets.Values, []float32{2, -1})
	if groups > 1 {
		copy(offsets.Values[2*channels:], []float32{-1e9, 0.5})
	}
	square := make([]complex128, canvas*canvas)
	for i := range square {
		low, high := (canvas-support)/2, (canvas+support)/2
		if y, x := i/canvas, i%canvas; y >= low && y < high && x >= low && x < high {
			square[i] = 1
		}
	}
	zs, os := z.complexes(), o.complexes()
	total, extracts := make([]complex128, len(os)), make([]complex128, len(zs))
	divided := make([]complex128, len(os))
	const epsilon = 0.25 // results of one size, so that the tolerance is that of all
	for g := range groups {
		covered := make([]complex128, canvas*canvas)
		sum, one := total[g*canvas*canvas:][:canvas*canvas], os[g*canvas*canvas:][:canvas*canvas]
		for c := range channels {
			at := g*channels + c
			x, y := float64(offsets.Values[2*at]), float64(offsets.Values[2*at+1])
			part := zs[at*patch*patch:][:patch*patch]
			for i := range sum {
				sum[i] += translated(part, patch, canvas, i, -x, -y)
				covered[i] += translated(square, canvas, canvas, i, -x, -y)
			}
			for i := range part {
				extracts[at*patch*patch+i] = translated(one, canvas, patch, i, x, y)
			}
		}
		for i, v := range one {
			divided[g*canvas*canvas+i] = v / (covered[i] + complex(epsilon, 0))
		}
	}
	toCanvas := []Result{{Shape: o.Shape, DType: tensor.Complex64}}
	name := func(op string) string {
		return fmt.Sprintf("%s %dx%d of %d on %d", op, groups, channels, patch, canvas)
	}
	return []testCase{
		{name("sum patches"), nn.SumPatches{}, []Array{z, offsets}, toCanvas,
			[]reference{{parts(total, tensor.Complex64), 0, 5e-7}}},
		{name("extract patches"), nn.ExtractPatches{}, []Array{o, offsets},
			[]Result{{Shape: z.Shape, DType: tensor.Complex64}},
			[]reference{{parts(extracts, tensor.Complex64), 0, 5e-7}}},
		{name("coverage"), nn.DivideByCoverage{Support: support, Epsilon: epsilon}, []Array{o, offsets}, toCanvas,
			[]reference{{parts(divided, tensor.Complex64), 0, 5e-7}}},
	}
}

// translated samples a plane of from×from pixels bilinearly for pixel i of a plane of
// to×to pixels with the same centre, after a translation by (x, y); zero outside.
func translated(src []complex128, from, to, i int, x, y float64) complex128 {
	margin := (to - from) / 2
	row, column := float64(i/to-margin)-y, float64(i%to-margin)-x
	top, left := math.Floor(row), math.Floor(column)
	var v complex128
	for _, r := range []float64{top, top + 1} {
		for _, c := range []float64{left, left + 1} {
			if r >= 0 && c >= 0 && r < float64(from) && c < float64(from) {
				weight := (1 - math.Abs(row-r)) * (1 - math.Abs(column-c))
				v += complex(weight, 0) * src[int(r)*from+int(c)]
			}
		}
	}
	return v
}
