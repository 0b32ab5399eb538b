package cpu_test

import (
	"math"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// Three products of bf16 keep a convolution within some parts in a million of
// float32, where one product of bf16 errs by some in a thousand.
func TestSplitProductsAreNearFloat32(t *testing.T) {
	rms := func(got, want []float32) float64 {
		var off, size float64
		for i, v := range want {
			off += (float64(got[i]) - float64(v)) * (float64(got[i]) - float64(v))
			size += float64(v) * float64(v)
		}
		return math.Sqrt(off / size)
	}
	small, large := tensor.Shape{1, 64, 16, 16}, tensor.Shape{1, 32, 32, 32}
	x, g, w := random(tensor.Float32, small...), random(tensor.Float32, large...), random(tensor.Float32, 64, 32, 4, 4)
	for _, a := range []nntest.Array{x, g, w} {
		for i := range a.Values {
			a.Values[i] -= 0.5 // products of one sign would hide in their sum
		}
	}
	forEachKernels(t, func(t *testing.T, be *cpu.Backend) {
		for _, c := range []struct {
			op  nn.Op
			in  []nntest.Array
			out tensor.Shape
		}{
			{nn.ConvTranspose2D{Stride: 2, Pad: 1}, []nntest.Array{x, w}, large},
			{nn.ConvTranspose2DGradInput{Stride: 2, Pad: 1}, []nntest.Array{g, w}, small},
			{nn.ConvTranspose2DGradWeight{Stride: 2, Pad: 1}, []nntest.Array{x, g}, w.Shape},
		} {
			apply := func(products nn.Products) []float32 {
				s, err := nntest.NewProductStep(be, c.op, products, c.in, []nntest.Result{{Shape: c.out}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				out, err := s.Run()
				if err != nil {
					t.Fatal(err)
				}
				return out[0]
			}
			if off := rms(apply(nn.BF16x3), apply(nn.Exact)); !(off < 8e-6 && off > 1e-6) {
				t.Errorf("%T: off by %.2g of its size", c.op, off)
			}
		}
	})
}

// Products of TF32 are an error when a plan is loaded, not other results.
func TestTF32IsRefused(t *testing.T) {
	forEachKernels(t, func(t *testing.T, be *cpu.Backend) {
		x, w := random(tensor.Float32, 1, 2, 8, 8), random(tensor.Float32, 3, 2, 3, 3)
		s, err := nntest.NewProductStep(be, nn.Conv2D{Stride: 1, Pad: 1}, nn.TF32, []nntest.Array{x, w}, []nntest.Result{{Shape: tensor.Shape{1, 3, 8, 8}}})
		if err == nil {
			s.Close()
			t.Fatal("loaded")
		}
		if !strings.Contains(err.Error(), "TF32") {
			t.Errorf("%v: must name TF32", err)
		}
	})
}
