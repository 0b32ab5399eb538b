package nntest

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// convShape is a convolution: between a small grid (Conv2D's output,
// ConvTranspose2D's input) and a large one.
type convShape struct {
	n, small, large        int
	hs, ws                 int
	kh, kw                 int
	stride, pad, outputPad int
}

func (c convShape) hl() int { return (c.hs-1)*c.stride - 2*c.pad + c.kh + c.outputPad }
func (c convShape) wl() int { return (c.ws-1)*c.stride - 2*c.pad + c.kw + c.outputPad }

func (c convShape) String() string {
	return fmt.Sprintf("%dx%dx%dx%d to %d channels, kernel %dx%d, stride %d, pad %d, output pad %d",
		c.n, c.small, c.hs, c.ws, c.large, c.kh, c.kw, c.stride, c.pad, c.outputPad)
}

// convShapes: PRISM's kinds of layer with odd channel counts, then corners:
// single pixels, single rows, kernels larger than the image, stride beyond the
// kernel, padding beyond it, several images, planes larger than a cache.
var convShapes = []convShape{
	{1, 33, 17, 1, 1, 4, 4, 1, 0, 0},
	{3, 5, 6, 1, 1, 4, 4, 1, 0, 0},
	{1, 70, 9, 4, 4, 4, 4, 2, 1, 0},
	{1, 8, 7, 16, 16, 4, 4, 2, 1, 0},
	{1, 3, 2, 33, 47, 4, 4, 2, 1, 0},
	{1, 4, 8, 40, 41, 3, 3, 1, 1, 0},
	{1, 1, 2, 30, 29, 3, 3, 1, 0, 0},
	{2, 5, 3, 7, 9, 3, 3, 1, 1, 0},
	{2, 3, 2, 5, 4, 5, 5, 2, 2, 1},
	{1, 1, 1, 1, 1, 1, 1, 1, 0, 0},
	{1, 2, 3, 1, 1, 3, 3, 1, 1, 0},
	{1, 1, 1, 5, 7, 11, 11, 1, 0, 0},
	{1, 2, 2, 1, 9, 1, 3, 1, 0, 0},
	{1, 2, 3, 4, 3, 2, 2, 3, 0, 2},
	{1, 3, 3, 6, 5, 3, 5, 3, 2, 1},
	{1, 2, 1, 3, 4, 2, 3, 4, 1, 3},
	{1, 3, 5, 2, 3, 4, 4, 2, 1, 1},
	{1, 2, 2, 3, 3, 3, 3, 1, 2, 0},
	{1, 1, 3, 1, 700, 3, 3, 1, 1, 0},
	{1, 2, 24, 50, 63, 1, 5, 1, 1, 0},
	{1, 24, 3, 50, 63, 1, 5, 1, 1, 0},
	{1, 6, 5, 1, 1, 3, 3, 2, 0, 1},
}

func convCases() []testCase {
	var cases []testCase
	for i, c := range convShapes {
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
			if d != tensor.Float32 && (i%3 != 0 || c.hs*c.ws > 10000) {
				continue // the types share the kernels; a third of the shapes will do
			}
			cases = append(cases, c.cases(newSource(uint64(i)), d)...)
		}
	}
	return cases
}

// cases are the six operators on one shape.
func (c convShape) cases(s source, d tensor.DType) []testCase {
	small := s.normal(d, c.n, c.small, c.hs, c.ws)
	large := s.normal(d, c.n, c.large, c.hl(), c.wl())
	w := s.normal(d, c.small, c.large, c.kh, c.kw)
	biasSmall, biasLarge := s.normal(tensor.Float32, c.small), s.normal(tensor.Float32, c.large)
	smallOut := []Result{{Shape: small.Shape, DType: d}}
	largeOut := []Result{{Shape: large.Shape, DType: d}}
	weightOut := []Result{{Shape: w.Shape}}
	name := func(kind string) string { return fmt.Sprintf("%s %v: %v", kind, d, c) }

	var cases []testCase
	add := func(kind string, op nn.Op, in []Array, out []Result, want reference) {
		cases = append(cases, testCase{name(kind), op, in, out, []reference{want}})
	}
	gathered, gatheredBias := c.gather(large, w, nil), c.gather(large, w, biasSmall.Values)
	scattered, scatteredBias := c.scatter(small, w, nil), c.scatter(small, w, biasLarge.Values)
	weights := c.weight(small, large)
	if c.outputPad == 0 || c.stride > c.outputPad {
		add("conv", nn.Conv2D{Stride: c.stride, Pad: c.pad}, []Array{large, w}, smallOut, gathered)
		add("conv with bias", nn.Conv2D{Stride: c.stride, Pad: c.pad}, []Array{large, w, biasSmall}, smallOut, gatheredBias)
		add("conv dX", nn.Conv2DGradInput{Stride: c.stride, Pad: c.pad}, []Array{small, w}, largeOut, scattered)
		add("conv dW", nn.Conv2DGradWeight{Stride: c.stride, Pad: c.pad}, []Array{large, small}, weightOut, weights)
	}
	t := nn.ConvTranspose2D{Stride: c.stride, Pad: c.pad, OutputPad: c.outputPad}
	add("convT", t, []Array{small, w}, largeOut, scattered)
	add("convT with bias", t, []Array{small, w, biasLarge}, largeOut, scatteredBias)
	add("convT dX", nn.ConvTranspose2DGradInput{Stride: c.stride, Pad: c.pad}, []Array{large, w}, smallOut, gathered)
	add("convT dW", nn.ConvTranspose2DGradWeight{Stride: c.stride, Pad: c.pad}, []Array{small, large}, weightOut, weights)
	return cases
}

// each calls f for every product: indices of the small and large pixel and the weight.
func (c convShape) each(f func(small, large, w int)) {
	for n := range c.n {
		for s := range c.small {
			for l := range c.large {
				for i := range c.hs {
					for j := range c.ws {
						for ky := range c.kh {
							for kx := range c.kw {
								y, x := i*c.stride-c.pad+ky, j*c.stride-c.pad+kx
								if y < 0 || x < 0 || y >= c.hl() || x >= c.wl() {
									continue
								}
								f(((n*c.small+s)*c.hs+i)*c.ws+j, ((n*c.large+l)*c.hl()+y)*c.wl()+x,
									((s*c.large+l)*c.kh+ky)*c.kw+kx)
							}
						}
					}
				}
			}
		}
	}
}

// sums adds products into n outputs and keeps the sum of their sizes.
type sums struct{ value, size []float64 }

func newSums(n int) sums { return sums{make([]float64, n), make([]float64, n)} }

func (s sums) add(i int, v float64) {
	s.value[i] += v
	s.size[i] += math.Abs(v)
}

// reference allows the rounding of a float32 sum of so many terms, whatever its order.
func (s sums) reference(terms int) reference {
	scale := 0.0
	for _, v := range s.size {
		scale = max(scale, v)
	}
	return reference{s.value, scale, (4 + math.Sqrt(float64(terms))) * 0x1p-24}
}

func (s sums) addBias(bias []float32, plane int) {
	for i := range s.value {
		if bias != nil {
			s.add(i, float64(bias[i/plane%len(bias)]))
		}
	}
}

func (c convShape) gather(large, w Array, bias []float32) reference {
	y := newSums(c.n * c.small * c.hs * c.ws)
	c.each(func(s, l, k int) { y.add(s, float64(large.Values[l])*float64(w.Values[k])) })
	y.addBias(bias, c.hs*c.ws)
	return y.reference(c.large * c.kh * c.kw)
}

func (c convShape) scatter(small, w Array, bias []float32) reference {
	y := newSums(c.n * c.large * c.hl() * c.wl())
	c.each(func(s, l, k int) { y.add(l, float64(small.Values[s])*float64(w.Values[k])) })
	y.addBias(bias, c.hl()*c.wl())
	return y.reference(c.small * c.kh * c.kw)
}

func (c convShape) weight(small, large Array) reference {
	y := newSums(c.small * c.large * c.kh * c.kw)
	c.each(func(s, l, k int) { y.add(k, float64(small.Values[s])*float64(large.Values[l])) })
	return y.reference(c.n * c.hs * c.ws)
}
