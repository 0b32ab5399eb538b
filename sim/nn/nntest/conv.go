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
	{1, 6, 5, 1, 1, 3, 5, 2, 0, 0},
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
	{2, 13, 5, 6, 10, 4, 4, 2, 1, 0},
	{2, 40, 61, 4, 4, 4, 4, 2, 1, 0},
	{1, 4, 13, 5, 700, 3, 3, 1, 1, 0},
	{1, 15, 3, 4, 690, 3, 3, 1, 0, 0},
	{1, 3, 14, 4, 301, 4, 4, 2, 1, 0},
	{1, 20, 120, 6, 6, 4, 4, 2, 1, 0},
	{1, 3, 1, 8, 7, 4, 4, 2, 1, 0},
	{2, 9, 4, 3, 300, 4, 4, 2, 1, 0},
	{1, 2, 3, 150, 4, 4, 4, 2, 1, 0},
	{2, 32, 4, 8, 12, 4, 4, 2, 1, 0},  // large enough for tiles of 32
	{2, 16, 8, 9, 21, 3, 3, 1, 1, 0},  // whole vectors of pixels and groups of channels
	{1, 8, 16, 6, 8, 3, 3, 1, 1, 0},   // vectors of two rows
	{2, 1, 20, 21, 9, 3, 3, 1, 1, 0},  // one channel
	{2, 16, 8, 13, 24, 3, 3, 1, 1, 0}, // groups of channels both ways, and enough pixels to pack weights
	{5, 8, 16, 8, 8, 3, 3, 1, 1, 0},   // halves of images in a vector
	{2, 3, 8, 35, 64, 4, 4, 2, 1, 0},  // enough pixels for phases, and bands of panels
	{1, 40, 1, 21, 37, 3, 3, 1, 1, 0},
}

// resizedShapes are convolutions of 3×3 taps with an upsampling or a max-pooling: the images, the
// channels of input and output, and the sides of the convolution's result.
var resizedShapes = [][5]int{
	{2, 16, 16, 16, 16}, {1, 8, 24, 8, 32}, {1, 4, 32, 32, 64}, {5, 8, 8, 8, 8}, {1, 5, 3, 6, 10}, {2, 20, 1, 48, 40},
	{1, 16, 8, 20, 36},
}

// resizedCases are convolutions with an upsampling or a max-pooling.
func resizedCases() []testCase {
	var cases []testCase
	for i, r := range resizedShapes {
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16} {
			s, h, w := newSource(uint64(200+i)), r[3], r[4]
			c := convShape{r[0], r[2], r[1], h, w, 3, 3, 1, 1, 0}
			x, k, bias := s.normal(d, r[0], r[1], h/2, w/2), s.normal(d, r[2], r[1], 3, 3),
				s.normal(tensor.Float32, r[2])
			repeated := Array{Shape: tensor.Shape{r[0], r[1], h, w}, DType: d, Values: make([]float32, 4*len(x.Values))}
			for at := range repeated.Values {
				repeated.Values[at] = x.Values[at/w/2*(w/2)+at%w/2]
			}
			want, _, _ := c.sums(Array{Values: make([]float32, r[0]*r[2]*h*w)}, repeated, k, nn.Exact)
			want = want.plus(bias.Values, h*w).rectified()
			pooled := reference{want: make([]float64, len(want.want)/4), scale: want.scale, tolerance: want.tolerance}
			for at, v := range want.want {
				to := &pooled.want[at/w/2*(w/2)+at%w/2]
				*to = max(*to, v)
			}
			name := func(what string) string { return fmt.Sprintf("conv %s %v: %v", what, d, c) }
			whole := []Result{{Shape: tensor.Shape{r[0], r[2], h, w}, DType: d}}
			half := []Result{{Shape: tensor.Shape{r[0], r[2], h / 2, w / 2}, DType: d}}
			up, pool := nn.Conv2D{Stride: 1, Pad: 1, ReLU: true, Up: true},
				nn.Conv2D{Stride: 1, Pad: 1, ReLU: true, Pool: true}
			both := up
			both.Pool = true
			cases = append(cases,
				testCase{name("after upsampling"), up, []Array{x, k, bias}, whole, []reference{want}},
				testCase{name("before pooling"), pool, []Array{repeated, k, bias}, half, []reference{pooled}},
				testCase{name("between both"), both, []Array{x, k, bias}, half, []reference{pooled}})
		}
	}
	return cases
}

func convCases() []testCase {
	var cases []testCase
	for i, c := range convShapes {
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
			if d != tensor.Float32 && (i%3 != 0 || c.hs*c.ws > 10000) {
				continue // the types share kernels; a third of the shapes is enough
			}
			cases = append(cases, c.cases(newSource(uint64(i)), d, nn.Exact)...)
		}
		if c.hs*c.ws <= 10000 {
			cases = append(cases, c.cases(newSource(uint64(i)), tensor.Float32, nn.BF16x3)...)
		}
	}
	for i, c := range winogradShapes {
		cases = append(cases, c.cases(newSource(uint64(100+i)), tensor.Float32, nn.Winograd)...)
	}
	return cases
}

// winogradShapes have whole tiles of 4×4 outputs and of channels, or not.
var winogradShapes = []convShape{
	{2, 16, 16, 16, 16, 3, 3, 1, 1, 0},
	{9, 16, 16, 8, 8, 3, 3, 1, 1, 0},
	{11, 32, 16, 12, 4, 3, 3, 1, 1, 0},
	{1, 48, 16, 12, 48, 3, 3, 1, 1, 0},
	{2, 5, 16, 16, 16, 3, 3, 1, 1, 0},
}

// cases are the six operators on one shape.
func (c convShape) cases(s source, d tensor.DType, products nn.Products) []testCase {
	small := s.normal(d, c.n, c.small, c.hs, c.ws)
	large := s.normal(d, c.n, c.large, c.hl(), c.wl())
	w := s.normal(d, c.small, c.large, c.kh, c.kw)
	biasSmall, biasLarge := s.normal(tensor.Float32, c.small), s.normal(tensor.Float32, c.large)
	smallOut := []Result{{Shape: small.Shape, DType: d}}
	largeOut := []Result{{Shape: large.Shape, DType: d}}
	weightOut := []Result{{Shape: w.Shape}}
	name := func(kind string) string { return fmt.Sprintf("%s %v %v: %v", kind, d, products, c) }

	var cases []testCase
	add := func(kind string, op nn.Op, in []Array, out []Result, want reference) {
		cases = append(cases, testCase{name(kind), multiplied{op, products}, in, out, []reference{want}})
	}
	gathered, scattered, weights := c.sums(small, large, w, products)
	if products == nn.Winograd {
		gathered.tolerance *= 16
	}
	gatheredBias := gathered.plus(biasSmall.Values, c.hs*c.ws)
	scatteredBias := scattered.plus(biasLarge.Values, c.hl()*c.wl())
	if c.outputPad == 0 || c.stride > c.outputPad {
		add("conv", nn.Conv2D{Stride: c.stride, Pad: c.pad}, []Array{large, w}, smallOut, gathered)
		add("conv with bias", nn.Conv2D{Stride: c.stride, Pad: c.pad}, []Array{large, w, biasSmall}, smallOut,
			gatheredBias)
		add("conv with bias and ReLU", nn.Conv2D{Stride: c.stride, Pad: c.pad, ReLU: true},
			[]Array{large, w, biasSmall}, smallOut, gatheredBias.rectified())
		add("conv with ReLU", nn.Conv2D{Stride: c.stride, Pad: c.pad, ReLU: true}, []Array{large, w}, smallOut,
			gathered.rectified())
	}
	if products != nn.Winograd && (c.outputPad == 0 || c.stride > c.outputPad) {
		add("conv dX", nn.Conv2DGradInput{Stride: c.stride, Pad: c.pad}, []Array{small, w}, largeOut, scattered)
		add("conv dW", nn.Conv2DGradWeight{Stride: c.stride, Pad: c.pad}, []Array{large, small}, weightOut, weights)
	}
	if products == nn.Winograd {
		return cases // no other operator has it
	}
	t := nn.ConvTranspose2D{Stride: c.stride, Pad: c.pad, OutputPad: c.outputPad}
	add("convT", t, []Array{small, w}, largeOut, scattered)
	add("convT with bias", t, []Array{small, w, biasLarge}, largeOut, scatteredBias)
	rectifying := t
	rectifying.ReLU = true
	add("convT with bias and ReLU", rectifying, []Array{small, w, biasLarge}, largeOut, scatteredBias.rectified())
	add("convT with ReLU", rectifying, []Array{small, w}, largeOut, scattered.rectified())
	add("convT dX", nn.ConvTranspose2DGradInput{Stride: c.stride, Pad: c.pad}, []Array{large, w}, smallOut, gathered)
	add("convT dW", nn.ConvTranspose2DGradWeight{Stride: c.stride, Pad: c.pad}, []Array{small, large},
		weightOut, weights)
	return cases
}

// sums computes the gather, the scatter and the weight gradient: every product of a
// small pixel s, a large pixel l and a weight k adds l·k to the first at s, s·k to the
// second at l, and s·l to the third at k.
func (c convShape) sums(small, large, w Array, products nn.Products) (gathered, scattered, weights reference) {
	y, x, gw := newSums(len(small.Values)), newSums(len(large.Values)), newSums(len(w.Values))
	hl, wl := c.hl(), c.wl()
	for pair := range c.n * c.small * c.large {
		n, s, l := pair/(c.small*c.large), pair/c.large%c.small, pair%c.large
		for i := range c.hs {
			for j := range c.ws {
				for ky := range c.kh {
					for kx := range c.kw {
						row, column := i*c.stride-c.pad+ky, j*c.stride-c.pad+kx
						if row < 0 || column < 0 || row >= hl || column >= wl {
							continue
						}
						at := ((n*c.small+s)*c.hs+i)*c.ws + j
						to := ((n*c.large+l)*hl+row)*wl + column
						k := ((s*c.large+l)*c.kh+ky)*c.kw + kx
						a, b, f := small.Values[at], large.Values[to], w.Values[k]
						y.add(at, product(b, f, products))
						x.add(to, product(a, f, products))
						gw.add(k, product(a, b, products))
					}
				}
			}
		}
	}
	return y.reference(c.large * c.kh * c.kw), x.reference(c.small * c.kh * c.kw), gw.reference(c.n * c.hs * c.ws)
}

// product returns x·y, or the sum of the three products of their parts.
func product(x, y float32, products nn.Products) float64 {
	if products != nn.BF16x3 {
		return float64(x) * float64(y)
	}
	high := func(v float32) float32 { return tensor.BF16ToF32(tensor.F32ToBF16(v)) }
	x1, y1 := high(x), high(y)
	x2, y2 := float64(high(x-x1)), float64(high(y-y1))
	return float64(x1)*float64(y1) + float64(x1)*y2 + x2*float64(y1)
}

// sums adds products into outputs and tracks the sum of their magnitudes.
type sums struct{ value, size []float64 }

func newSums(n int) sums { return sums{make([]float64, n), make([]float64, n)} }

func (s sums) add(i int, v float64) {
	s.value[i] += v
	s.size[i] += math.Abs(v)
}

// reference allows the rounding error of a float32 sum of the given number of terms,
// in any order.
func (s sums) reference(terms int) reference {
	scale := 0.0
	for _, v := range s.size {
		scale = max(scale, v)
	}
	return reference{s.value, scale, (4 + math.Sqrt(float64(terms))) * 0x1p-24}
}

// plus adds a bias to each channel of planes of the given size.
func (r reference) plus(bias []float32, plane int) reference {
	want := make([]float64, len(r.want))
	for i, v := range r.want {
		want[i] = v + float64(bias[i/plane%len(bias)])
		r.scale = max(r.scale, math.Abs(want[i]))
	}
	r.want = want
	return r
}

// rectified is the reference of the values after a ReLU.
func (r reference) rectified() reference {
	want := make([]float64, len(r.want))
	for i, v := range r.want {
		want[i] = max(v, 0)
	}
	r.want = want
	return r
}
