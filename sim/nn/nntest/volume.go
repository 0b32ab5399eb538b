package nntest

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// volumeCases are the operators of networks on volumes.
func volumeCases() []testCase {
	s := newSource(31)
	var cases []testCase
	for _, c := range []struct {
		sides    [3]int
		n        int
		in       []int // channels of the volumes
		out      int
		kernel   tensor.Shape
		stride   int
		withBias bool
	}{
		{[3]int{1, 1, 1}, 1, []int{1}, 1, tensor.Shape{1, 1, 1}, 1, true},
		{[3]int{4, 5, 6}, 2, []int{3}, 5, tensor.Shape{3, 3, 3}, 1, true},
		{[3]int{5, 4, 7}, 2, []int{1, 2}, 17, tensor.Shape{3, 3, 3}, 1, false},
		{[3]int{4, 5, 6}, 1, []int{16}, 16, tensor.Shape{3, 3, 3}, 2, false},
		{[3]int{5, 9, 8}, 3, []int{2}, 32, tensor.Shape{3, 1, 5}, 2, false},
		{[3]int{4, 6, 5}, 2, []int{4}, 3, tensor.Shape{1, 1, 1}, 2, true},
		{[3]int{7, 3, 4}, 1, []int{5}, 16, tensor.Shape{3, 3, 3}, 3, false},
		{[3]int{1, 40, 17}, 1, []int{16, 16}, 16, tensor.Shape{3, 3}, 1, false},
		{[3]int{1, 8, 10}, 2, []int{1}, 16, tensor.Shape{3, 3}, 2, false},
		{[3]int{20, 3, 5}, 1, []int{16, 32}, 16, tensor.Shape{3, 3, 3}, 1, false},
		{[3]int{18, 3, 5}, 1, []int{16}, 16, tensor.Shape{3, 3, 3}, 1, false}, // tiles across the borders, two runs of planes
	} {
		g := volumeCase{n: c.n, large: c.sides, stride: [3]int{c.stride, c.stride, c.stride}, weight: c.kernel,
			out: c.out, in: c.in}
		g.kernel, _ = nn.KernelSides(append(tensor.Shape{1, 1}, c.kernel...))
		for a, k := range g.kernel {
			g.pad[a], g.small[a] = k/2, (c.sides[a]-1)/c.stride+1
		}
		cases = append(cases, g.convolution(s, c.withBias, tensor.Float32, nn.Exact)...)
		cases = append(cases, g.convolution(s, c.withBias, tensor.BFloat16, nn.Exact)...)
		if c.stride == 1 {
			cases = append(cases, g.convolution(s, c.withBias, tensor.Float32, nn.Winograd)...)
		}
	}
	for _, c := range []struct {
		sides   [3]int
		n       int
		in, out int
		kernel  tensor.Shape
	}{
		{[3]int{1, 1, 1}, 1, 1, 1, tensor.Shape{1, 1, 1}},
		{[3]int{2, 3, 4}, 2, 3, 16, tensor.Shape{2, 2, 2}},
		{[3]int{3, 2, 5}, 1, 32, 5, tensor.Shape{1, 3, 2}},
		{[3]int{1, 7, 6}, 2, 16, 32, tensor.Shape{2, 2}},
		{[3]int{4, 16, 16}, 1, 32, 16, tensor.Shape{2, 2, 2}},
	} {
		g := volumeCase{n: c.n, small: c.sides, weight: c.kernel, out: c.in, in: []int{c.out}}
		g.kernel, _ = nn.KernelSides(append(tensor.Shape{1, 1}, c.kernel...))
		g.stride = g.kernel
		for a, k := range g.kernel {
			g.large[a] = k * c.sides[a]
		}
		cases = append(cases, g.transposed(s, tensor.Float32)...)
		cases = append(cases, g.transposed(s, tensor.BFloat16)...)
	}
	for _, shape := range []tensor.Shape{{1, 1, 1, 2, 1}, {2, 3, 4, 5, 3}, {3, 2, 3, 3, 16}, {1, 9, 16, 17, 32},
		{2, 1, 6, 5, 21}} {
		for _, slope := range []float32{1, 0.01} {
			for _, residual := range []bool{false, true} {
				cases = append(cases, instanceCases(s, shape, slope, residual, tensor.Float32)...)
				cases = append(cases, instanceCases(s, shape, slope, residual, tensor.BFloat16)...)
			}
		}
	}
	for _, shape := range []tensor.Shape{{1}, {2, 5}, {3, 1, 40, 50, 1}, {1, 7001}} {
		cases = append(cases, segmentationCases(s, shape)...)
	}
	return cases
}

// volumeCase is a convolution between a small and a large grid: its output and its input,
// or the other way about if it is transposed.
type volumeCase struct {
	n                           int
	small, large                [3]int
	out                         int   // channels of the small grid
	in                          []int // channels of the volumes of the large grid
	kernel, stride, pad         [3]int
	weight                      tensor.Shape // the kernel's axes among those of the weights
	smallShape, largeShape, wts tensor.Shape
}

// channels is the number of channels of the large grid.
func (g *volumeCase) channels() int {
	n := 0
	for _, c := range g.in {
		n += c
	}
	return n
}

// each calls do with the indices of the two values and of the weight of every product.
func (g *volumeCase) each(do func(small, large, weight int)) {
	channels, taps := g.channels(), g.kernel[0]*g.kernel[1]*g.kernel[2]
	for n := range g.n {
		for m := range g.small[0] * g.small[1] * g.small[2] {
			for k := range taps {
				at := [3]int{m / (g.small[1] * g.small[2]), m / g.small[2] % g.small[1], m % g.small[2]}
				tap := [3]int{k / (g.kernel[1] * g.kernel[2]), k / g.kernel[2] % g.kernel[1], k % g.kernel[2]}
				voxel, inside := n, true
				for a := range at {
					i := g.stride[a]*at[a] - g.pad[a] + tap[a]
					inside = inside && i >= 0 && i < g.large[a]
					voxel = voxel*g.large[a] + i
				}
				if !inside {
					continue
				}
				for s := range g.out {
					for l := range channels {
						do((n*g.small[0]*g.small[1]*g.small[2]+m)*g.out+s, voxel*channels+l, (s*channels+l)*taps+k)
					}
				}
			}
		}
	}
}

func (g *volumeCase) shapes() {
	g.smallShape = tensor.Shape{g.n, g.small[0], g.small[1], g.small[2], g.out}
	g.largeShape = tensor.Shape{g.n, g.large[0], g.large[1], g.large[2], g.channels()}
	g.wts = append(tensor.Shape{g.out, g.channels()}, g.weight...)
}

// products are the three sums of a case and the sums of the terms' sizes.
type products struct{ small, large, weight, smallSize, largeSize, weightSize []float64 }

func (g *volumeCase) products(small, large, w []float32) products {
	p := products{make([]float64, len(small)), make([]float64, len(large)), make([]float64, len(w)),
		make([]float64, len(small)), make([]float64, len(large)), make([]float64, len(w))}
	g.each(func(i, j, k int) {
		a, b, c := float64(small[i]), float64(large[j]), float64(w[k])
		p.small[i] += b * c
		p.large[j] += a * c
		p.weight[k] += a * b
		p.smallSize[i] += math.Abs(b * c)
		p.largeSize[j] += math.Abs(a * c)
		p.weightSize[k] += math.Abs(a * b)
	})
	return p
}

// sized is a reference whose tolerance is relative to the largest sum of sizes.
func sized(want, sizes []float64) reference {
	scale := 0.0
	for _, v := range sizes {
		scale = max(scale, v)
	}
	return reference{want, scale, 1e-6}
}

// part returns the channels [first, first+count) of values with their channels last.
func part[T any](x []T, channels, first, count int) []T {
	var y []T
	for at := first; at < len(x); at += channels {
		y = append(y, x[at:at+count]...)
	}
	return y
}

func (g *volumeCase) convolution(s source, withBias bool, d tensor.DType, how nn.Products) []testCase {
	g.shapes()
	x, w, gy := s.normal(d, g.largeShape...), s.normal(d, g.wts...), s.normal(d, g.smallShape...)
	bias := s.normal(d, g.out)
	p := g.products(gy.Values, x.Values, w.Values)
	sized := func(want, sizes []float64) reference {
		r := sized(want, sizes)
		if how == nn.Winograd || d != tensor.Float32 {
			r.tolerance *= 16
		}
		return r
	}
	gb, gbSize := make([]float64, g.out), make([]float64, g.out)
	for i, v := range gy.Values {
		gb[i%g.out] += float64(v)
		gbSize[i%g.out] += math.Abs(float64(v))
		if withBias {
			p.small[i] += float64(bias.Values[i%g.out])
		}
	}
	var volumes []Array
	first, channels, stride := 0, g.channels(), g.stride[0]
	name := func(op string) string {
		return fmt.Sprintf("%s %v %v: %v %v, weights %v, stride %d", op, d, how, g.largeShape, g.in, g.wts, stride)
	}
	var cases []testCase
	for _, c := range g.in {
		shape := append(g.largeShape[:4:4], c)
		volumes = append(volumes, Array{Shape: shape, DType: d, Values: part(x.Values, channels, first, c)})
		cases = append(cases, testCase{name(fmt.Sprintf("conv dX from %d", first)),
			multiplied{nn.Conv3DGradInput{Stride: stride, First: first}, how},
			[]Array{gy, w}, []Result{{Shape: shape, DType: d}},
			[]reference{sized(part(p.large, channels, first, c), part(p.largeSize, channels, first, c))}})
		first += c
	}
	in := []Array{w}
	gradient := testCase{name("conv dW"), multiplied{nn.Conv3DGradWeight{Stride: stride, Bias: withBias}, how},
		append([]Array{gy}, volumes...),
		[]Result{{Shape: g.wts}}, []reference{sized(p.weight, p.weightSize)}}
	if withBias {
		in = append(in, bias)
		gradient.out = append(gradient.out, Result{Shape: bias.Shape})
		gradient.want = append(gradient.want, sized(gb, gbSize))
	}
	return append(cases, gradient, testCase{name("conv"), multiplied{nn.Conv3D{Stride: stride, Bias: withBias}, how},
		append(in, volumes...),
		[]Result{{Shape: g.smallShape, DType: d}}, []reference{sized(p.small, p.smallSize)}})
}

func (g *volumeCase) transposed(s source, d tensor.DType) []testCase {
	g.shapes()
	x, w, gy := s.normal(d, g.smallShape...), s.normal(d, g.wts...), s.normal(d, g.largeShape...)
	p := g.products(x.Values, gy.Values, w.Values)
	name := func(op string) string { return fmt.Sprintf("%s %v: %v, weights %v", op, d, g.smallShape, g.wts) }
	return []testCase{
		{name("convT"), nn.ConvTranspose3D{}, []Array{x, w}, []Result{{Shape: g.largeShape, DType: d}}, []reference{sized(p.large, p.largeSize)}},
		{name("convT dX"), nn.ConvTranspose3DGradInput{}, []Array{gy, w}, []Result{{Shape: g.smallShape, DType: d}}, []reference{sized(p.small, p.smallSize)}},
		{name("convT dW"), nn.ConvTranspose3DGradWeight{}, []Array{x, gy}, []Result{{Shape: g.wts}}, []reference{sized(p.weight, p.weightSize)}},
	}
}

// instanceCases are an instance norm and its gradient.
func instanceCases(s source, shape tensor.Shape, slope float32, residual bool, d tensor.DType) []testCase {
	const eps = 1e-5
	n, c := shape[0], shape[4]
	x, r, gy := s.normal(d, shape...), s.normal(d, shape...), s.normal(d, shape...)
	gamma, beta := s.uniform(0.5, 1.5, c), s.normal(tensor.Float32, c)
	for i := range x.Values {
		x.Values[i] = 3*x.Values[i] + 1.5
	}
	round(d, x.Values)
	count := float64(len(x.Values) / (n * c))
	channel := func(i int) int { return i/(len(x.Values)/n)*c + i%c } // of all images
	sums := func(f func(i int) float64) []float64 {
		t := make([]float64, n*c)
		for i := range x.Values {
			t[channel(i)] += f(i)
		}
		return t
	}
	mean := sums(func(i int) float64 { return float64(x.Values[i]) / count })
	inverse := sums(func(i int) float64 { d := float64(x.Values[i]) - mean[channel(i)]; return d * d / count })
	for i, v := range inverse {
		inverse[i] = 1 / math.Sqrt(v+eps)
	}
	normal := func(i int) float64 { return (float64(x.Values[i]) - mean[channel(i)]) * inverse[channel(i)] }
	y, g := make([]float64, len(x.Values)), make([]float64, len(x.Values))
	for i := range y {
		y[i], g[i] = normal(i)*float64(gamma.Values[i%c])+float64(beta.Values[i%c]), float64(gy.Values[i])
		if residual {
			y[i] += float64(r.Values[i])
		}
		if y[i] <= 0 {
			y[i], g[i] = y[i]*float64(slope), g[i]*float64(slope)
		}
	}
	total := sums(func(i int) float64 { return g[i] })
	product := sums(func(i int) float64 { return g[i] * normal(i) })
	gx, ggamma, gbeta := make([]float64, len(y)), make([]float64, c), make([]float64, c)
	for i := range gx {
		k := channel(i)
		gx[i] = float64(gamma.Values[i%c]) * inverse[k] * (g[i] - total[k]/count - normal(i)*product[k]/count)
	}
	for i := range total {
		ggamma[i%c] += product[i]
		gbeta[i%c] += total[i]
	}
	saved := func(shape tensor.Shape, v []float64) Array {
		a := Array{Shape: shape, Values: make([]float32, len(v))}
		for i := range v {
			a.Values[i] = float32(v[i])
		}
		return a
	}
	statistic, vector := tensor.Shape{n, c}, tensor.Shape{c}
	name := fmt.Sprintf("instance norm %v: %v, slope %v, residual %v", d, shape, slope, residual)
	forward := testCase{name, nn.InstanceNorm{Eps: eps, Slope: slope, Residual: residual}, []Array{x, gamma, beta},
		[]Result{{Shape: shape, DType: d}, {Shape: statistic}, {Shape: statistic}},
		[]reference{{y, 5, 2e-6}, {mean, 3, 1e-6}, {inverse, 0, 3e-6}}}
	// Sums of many values cancel, so that the terms set the scale.
	scale, largest := 10*math.Sqrt(count), 10.0
	for _, v := range inverse {
		largest = max(largest, 10*v)
	}
	activation := saved(shape, y)
	activation.DType = d
	round(d, activation.Values)
	backward := testCase{name + " grad", nn.InstanceNormGrad{Slope: slope, Residual: residual},
		[]Array{x, activation, gy, gamma, saved(statistic, mean), saved(statistic, inverse)},
		[]Result{{Shape: shape, DType: d}, {Shape: vector}, {Shape: vector}},
		[]reference{{gx, largest, 1e-6}, {ggamma, scale, 1e-6}, {gbeta, scale, 1e-6}}}
	if residual {
		forward.in = append(forward.in, r)
		backward.out, backward.want = append(backward.out, Result{Shape: shape, DType: d}),
			append(backward.want, reference{g, 0, 1e-7})
	}
	return []testCase{forward, backward}
}

// segmentationCases are the losses of volumes.
func segmentationCases(s source, shape tensor.Shape) []testCase {
	const smooth = 1e-5
	z, t, up := s.normal(tensor.Float32, shape...), s.uniform(0, 1, shape...), s.uniform(0.5, 2, 2)
	for i := range z.Values {
		z.Values[i] *= 4
		t.Values[i] = float32(math.Round(float64(t.Values[i])))
	}
	if len(z.Values) > 3 {
		copy(z.Values, []float32{0, 95, -95})
	}
	items, size := shape[0], len(z.Values)/shape[0]
	p, gz, factors := make([]float64, len(z.Values)), make([]float64, len(z.Values)), make([]float64, 2*items)
	dice, bce, squares, gx := 0.0, 0.0, 0.0, make([]float64, len(z.Values))
	for item := range items {
		both, all := float64(float32(smooth)), float64(float32(smooth))
		for i := item * size; i < (item+1)*size; i++ {
			v, target := float64(z.Values[i]), float64(t.Values[i])
			p[i] = logistic(v)
			both, all = both+2*p[i]*target, all+p[i]+target
			bce += (max(v, 0) - v*target + math.Log1p(math.Exp(-math.Abs(v)))) / float64(len(p))
			squares += (v - target) * (v - target) / float64(len(p))
			gx[i] = 2 * float64(up.Values[0]) * (v - target) / float64(len(p))
		}
		dice += (1 - both/all) / float64(items)
		factors[2*item], factors[2*item+1] = 2/all, both/(all*all)
		for i := item * size; i < (item+1)*size; i++ {
			target := float64(t.Values[i])
			gz[i] = float64(up.Values[0])/float64(items)*(factors[2*item+1]-factors[2*item]*target)*p[i]*(1-p[i]) +
				float64(up.Values[1])/float64(len(p))*(p[i]-target)
		}
	}
	saved := func(shape tensor.Shape, v []float64) Array {
		a := Array{Shape: shape, Values: make([]float32, len(v))}
		for i := range v {
			a.Values[i] = float32(v[i])
		}
		return a
	}
	g := scalar(up.Values[0])
	two, each := tensor.Shape{2}, tensor.Shape{items, 2}
	return []testCase{
		{fmt.Sprintf("Dice+BCE %v", shape), nn.DiceBCE{Smooth: smooth}, []Array{z, t},
			[]Result{{Shape: two}, {Shape: shape}, {Shape: each}},
			[]reference{{[]float64{dice, bce}, 0, 2e-7}, {p, 0, 1e-7}, {factors, 0, 2e-7}}},
		{fmt.Sprintf("Dice+BCE grad %v", shape), nn.DiceBCEGrad{},
			[]Array{saved(shape, p), t, saved(each, factors), up}, []Result{{Shape: shape}},
			[]reference{{gz, 0, 1e-6}}},
		{fmt.Sprintf("squared error %v", shape), nn.SquaredError{}, []Array{z, t}, []Result{{Shape: tensor.Shape{}}},
			[]reference{{[]float64{squares}, 0, 1e-6}}},
		{fmt.Sprintf("squared error grad %v", shape), nn.SquaredErrorGrad{}, []Array{z, t, g}, []Result{{Shape: shape}},
			[]reference{{gx, 0, 5e-7}}},
	}
}
