package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// random is an array of values between 0 and 1.
func random(d tensor.DType, shape ...int) nntest.Array {
	a := nntest.Array{Shape: shape, DType: d}
	n := a.Shape.Elements()
	if d == tensor.Complex64 {
		n *= 2
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	a.Values = make([]float32, n)
	for i := range a.Values {
		a.Values[i] = rng.Float32()
	}
	return a
}

func value(v float32) nntest.Array {
	return nntest.Array{Shape: tensor.Shape{}, Values: []float32{v}}
}

// forEachBackend runs a benchmark with every variant of the kernels on one and two
// threads.
func forEachBackend(b *testing.B, run func(b *testing.B, be *cpu.Backend)) {
	for _, kernels := range cpu.KernelNames() {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads %d", kernels, threads), func(b *testing.B) {
				run(b, openKernels(b, threads, kernels))
			})
		}
	}
}

// benchmark times one step; work is multiplications (if not 0) per run.
func benchmark(b *testing.B, name string, work int, op nn.Op, in []nntest.Array, out ...nntest.Result) {
	b.Run(name, func(b *testing.B) {
		forEachBackend(b, func(b *testing.B, be *cpu.Backend) {
			s, err := nntest.NewStep(be, op, in, out)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Run(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Exec.Run(b.Context(), nn.SegmentForward); err != nil {
					b.Fatal(err)
				}
			}
			if work > 0 {
				b.ReportMetric(float64(work)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GMAC/s")
			}
		})
	})
}

// decoderLayer is a convolution of the decoder for an object of 512 seen in 128
// (spec/prism.md §1.2).
type decoderLayer struct {
	name        string
	transposed  bool
	in, out     tensor.Shape
	stride, pad int
	kernel      int
}

var decoderLayers = []decoderLayer{
	{"1 convT", true, tensor.Shape{1, 512, 1, 1}, tensor.Shape{1, 256, 4, 4}, 1, 0, 4},
	{"2 convT", true, tensor.Shape{1, 256, 4, 4}, tensor.Shape{1, 128, 8, 8}, 2, 1, 4},
	{"3 convT", true, tensor.Shape{1, 128, 8, 8}, tensor.Shape{1, 64, 16, 16}, 2, 1, 4},
	{"4 convT", true, tensor.Shape{1, 64, 16, 16}, tensor.Shape{1, 32, 32, 32}, 2, 1, 4},
	{"5 convT", true, tensor.Shape{1, 32, 32, 32}, tensor.Shape{1, 16, 64, 64}, 2, 1, 4},
	{"6 convT", true, tensor.Shape{1, 16, 64, 64}, tensor.Shape{1, 8, 128, 128}, 2, 1, 4},
	{"7 conv", false, tensor.Shape{1, 8, 128, 128}, tensor.Shape{1, 4, 128, 128}, 1, 1, 3},
	{"8 conv", false, tensor.Shape{1, 4, 128, 128}, tensor.Shape{1, 2, 128, 128}, 1, 1, 3},
	{"9 conv", false, tensor.Shape{1, 2, 128, 128}, tensor.Shape{1, 1, 126, 126}, 1, 0, 3},
}

func (l decoderLayer) weight() tensor.Shape {
	if l.transposed {
		return tensor.Shape{l.in[1], l.out[1], l.kernel, l.kernel}
	}
	return tensor.Shape{l.out[1], l.in[1], l.kernel, l.kernel}
}

func (l decoderLayer) ops() (forward, gradX, gradW nn.Op) {
	if l.transposed {
		return nn.ConvTranspose2D{Stride: l.stride, Pad: l.pad},
			nn.ConvTranspose2DGradInput{Stride: l.stride, Pad: l.pad},
			nn.ConvTranspose2DGradWeight{Stride: l.stride, Pad: l.pad}
	}
	return nn.Conv2D{Stride: l.stride, Pad: l.pad},
		nn.Conv2DGradInput{Stride: l.stride, Pad: l.pad}, nn.Conv2DGradWeight{Stride: l.stride, Pad: l.pad}
}

func BenchmarkConvolution(b *testing.B) {
	for _, l := range decoderLayers {
		x, y, w := random(0, l.in...), random(0, l.out...), random(0, l.weight()...)
		grid := l.out
		if l.transposed {
			grid = l.in
		}
		work := w.Shape.Elements() * grid[2] * grid[3]
		forward, gradX, gradW := l.ops()
		benchmark(b, l.name, work, forward, []nntest.Array{x, w}, like(y))
		benchmark(b, l.name+" dX", work, gradX, []nntest.Array{y, w}, like(x))
		benchmark(b, l.name+" dW", work, gradW, []nntest.Array{x, y}, like(w))
	}
}

// BenchmarkDecoder times all convolutions of one iteration, forward and backward.
func BenchmarkDecoder(b *testing.B) {
	forEachBackend(b, func(b *testing.B, be *cpu.Backend) {
		var steps []*nntest.Step
		add := func(op nn.Op, x, w nntest.Array, y tensor.Shape) {
			s, err := nntest.NewStep(be, op, []nntest.Array{x, w}, []nntest.Result{{Shape: y}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Run(); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(s.Close)
			steps = append(steps, s)
		}
		for _, l := range decoderLayers {
			x, y, w := random(0, l.in...), random(0, l.out...), random(0, l.weight()...)
			forward, gradX, gradW := l.ops()
			add(forward, x, w, l.out)
			add(gradX, y, w, l.in)
			add(gradW, x, y, l.weight())
		}
		for b.Loop() {
			for _, s := range steps {
				if err := s.Exec.Run(b.Context(), nn.SegmentForward); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkConvolutionBF16 shows what storing in two bytes costs on this path.
func BenchmarkConvolutionBF16(b *testing.B) {
	l := decoderLayers[5]
	x, w := random(tensor.BFloat16, l.in...), random(tensor.BFloat16, l.weight()...)
	forward, _, _ := l.ops()
	benchmark(b, l.name, w.Shape.Elements()*l.in[2]*l.in[3], forward, []nntest.Array{x, w},
		nntest.Result{Shape: l.out, DType: tensor.BFloat16})
}

func BenchmarkLayers(b *testing.B) {
	x, c := random(0, 1, 8, 128, 128), random(0, 8)
	vector, image := like(c), like(x)
	benchmark(b, "bias grad", 0, nn.BiasGrad{}, []nntest.Array{x}, vector)
	norm := []nntest.Array{x, c, c, c, c}
	benchmark(b, "BN", 0, nn.BatchNorm{Eps: 1e-5, Momentum: 0.1, Train: true}, norm, image, vector, vector,
		nntest.Result{InPlace: true, Input: 3}, nntest.Result{InPlace: true, Input: 4})
	benchmark(b, "BN evaluating", 0, nn.BatchNorm{Eps: 1e-5}, norm, image)
	benchmark(b, "BN grad", 0, nn.BatchNormGrad{}, []nntest.Array{x, x, c, c, c}, image, vector, vector)
	benchmark(b, "ReLU", 0, nn.Activation{Kind: nn.ReLU}, []nntest.Array{x}, image)
	benchmark(b, "ReLU grad", 0, nn.ActivationGrad{Kind: nn.ReLU}, []nntest.Array{x, x}, image)
	plane := random(0, 1, 1, 126, 126)
	benchmark(b, "sigmoid", 0, nn.Activation{Kind: nn.Sigmoid}, []nntest.Array{plane}, like(plane))
	benchmark(b, "sigmoid grad", 0, nn.ActivationGrad{Kind: nn.Sigmoid}, []nntest.Array{plane, plane}, like(plane))
	object := nntest.Result{Shape: tensor.Shape{1, 1, 512, 512}}
	benchmark(b, "place", 0, nn.Place{Top: 193, Left: 193}, []nntest.Array{plane}, object)
	benchmark(b, "add", 0, nn.Add{}, []nntest.Array{x, x}, image)
	benchmark(b, "scale", 0, nn.Scale{Factor: 0.5}, []nntest.Array{x}, image)
	benchmark(b, "fill", 0, nn.Fill{Value: 1}, nil, image)
	benchmark(b, "cast to bf16", 0, nn.Cast{}, []nntest.Array{x}, nntest.Result{Shape: x.Shape, DType: tensor.BFloat16})
	benchmark(b, "cast to fp16", 0, nn.Cast{}, []nntest.Array{x}, nntest.Result{Shape: x.Shape, DType: tensor.Float16})
	benchmark(b, "concat", 0, nn.Concat{}, []nntest.Array{x, x}, nntest.Result{Shape: tensor.Shape{1, 16, 128, 128}})
	benchmark(b, "channels", 0, nn.Channels{From: 3}, []nntest.Array{x}, nntest.Result{Shape: tensor.Shape{1, 4, 128, 128}})
}

func BenchmarkTelescope512(b *testing.B) {
	x, z := random(0, 512, 512), random(tensor.Complex64, 512, 512)
	wave := nntest.Result{Shape: z.Shape, DType: tensor.Complex64}
	benchmark(b, "FFT of a real plane", 0, nn.FFT{}, []nntest.Array{x}, wave)
	benchmark(b, "FFT", 0, nn.FFT{}, []nntest.Array{z}, wave)
	benchmark(b, "inverse FFT to a real plane", 0, nn.FFT{Inverse: true}, []nntest.Array{z}, like(x))
	benchmark(b, "mask", 0, nn.MaskMultiply{}, []nntest.Array{z, x}, wave)
	benchmark(b, "modulus", 0, nn.ModulusFlip{}, []nntest.Array{z}, like(x))
	benchmark(b, "modulus grad", 0, nn.ModulusFlipGrad{}, []nntest.Array{z, x}, wave)
}

// BenchmarkMeasure512 is the telescope of an iteration in the middle of a pattern: an object of 128 seen through the
// accumulated apertures and a new one.
func BenchmarkMeasure512(b *testing.B) {
	const n, window = 512, 128
	object := nntest.Array{Shape: tensor.Shape{1, 1, n, n}, Values: make([]float32, n*n)}
	for i := range window * window {
		object.Values[(n-window)/2*(n+1)+i/window*n+i%window] = rand.New(rand.NewPCG(1, uint64(i))).Float32()
	}
	disc := func(row, column, radius int) nntest.Array {
		m := nntest.Array{Shape: tensor.Shape{n, n}, Values: make([]float32, n*n)}
		for i := range m.Values {
			if y, x := i/n-row, i%n-column; x*x+y*y <= radius*radius {
				m.Values[i] = 1
			}
		}
		return m
	}
	op := nn.Measure{Kind: nn.L1, Normalize: true, MeasureFrame: nn.MeasureFrame{Shared: true, Pruned: true,
		Top: (n - window) / 2, Bottom: (n + window) / 2, Left: (n - window) / 2, Right: (n + window) / 2}}
	target, losses := random(0, 1, 1, n, n), random(0, 2)
	old, fresh, fields := disc(256, 256, 188), disc(361, 408, 20), random(0, 2, nn.MeasureSaved(n, n))
	benchmark(b, "losses", 0, op, []nntest.Array{object, old, target, fresh, target}, like(losses), like(losses), like(fields))
	benchmark(b, "gradient", 0, nn.MeasureGrad{Measure: op}, []nntest.Array{fields, losses, losses, old, fresh}, like(object))
}

func BenchmarkLoss512(b *testing.B)  { benchmarkLosses(b, 512) }
func BenchmarkLoss1024(b *testing.B) { benchmarkLosses(b, 1024) }

func benchmarkLosses(b *testing.B, n int) {
	p, t := random(0, n, n), random(0, n, n)
	for i := range t.Values {
		t.Values[i] = 1 - t.Values[i]
	}
	for name, kind := range map[string]nn.LossKind{"L1": nn.L1, "L2": nn.L2, "SSIM": nn.SSIM, "MS-SSIM": nn.MSSSIM} {
		saved := tensor.Shape{nn.LossSaved(kind, n, n)}
		benchmark(b, name, 0, nn.Loss{Kind: kind, Normalize: true}, []nntest.Array{p, t},
			nntest.Result{Shape: tensor.Shape{}}, nntest.Result{Shape: saved})
		benchmark(b, name+" grad", 0, nn.LossGrad{Kind: kind, Normalize: true},
			[]nntest.Array{p, t, random(0, saved...), value(1)}, like(p))
	}
}

func BenchmarkOptimiser(b *testing.B) {
	const n = 2_797_431 // the decoder's parameters at 512/128 (spec/prism.md §1.5)
	g := random(0, n)
	inPlace := func(inputs ...int) (r []nntest.Result) {
		for _, i := range inputs {
			r = append(r, nntest.Result{InPlace: true, Input: i})
		}
		return r
	}
	adam := nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	benchmark(b, "Adam", 0, adam, []nntest.Array{g, value(1e-3), value(5), g, g, g}, inPlace(3, 4, 5)...)
	adam.AMSGrad = true
	benchmark(b, "AMSGrad", 0, adam, []nntest.Array{g, value(1e-3), value(5), g, g, g, g}, inPlace(3, 4, 5, 6)...)
	benchmark(b, "unscale", 0, nn.Unscale{}, []nntest.Array{g, value(1), value(0)}, inPlace(0, 2)...)
	benchmark(b, "Adam step", 0, nn.AdamStep{}, []nntest.Array{value(0)}, inPlace(0)...)
	benchmark(b, "scaler", 0, nn.ScalerUpdate{Interval: 2000}, []nntest.Array{value(0), value(1), value(0)}, inPlace(1, 2)...)
	benchmark(b, "weighted sum", 0, nn.WeightedSum{Weights: []float32{1, 1}}, []nntest.Array{value(1), value(2)}, like(value(0)))
	benchmark(b, "seed", 0, nn.Seed{Weight: 1}, []nntest.Array{value(1)}, like(value(0)))
}

// like is a new array of the shape of another.
func like(a nntest.Array) nntest.Result { return nntest.Result{Shape: a.Shape} }
