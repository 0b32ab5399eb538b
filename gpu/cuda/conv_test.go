package cuda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/gpu/emulator"
	"prismtop/gpu/emulator/ptx"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// emulatedDevice returns a backend on an emulated device with the given compute capability, 10·major + minor, and number
// of multiprocessors. The choice of kernels depends on both.
func emulatedDevice(t testing.TB, capability, multi int) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(emulator.New(emulator.Options{
		Devices: []emulator.DeviceOptions{{Capability: capability, Attributes: map[driver.Attribute]int{driver.MultiprocessorCount: multi}}},
		Checks:  ptx.Checks{Uninitialised: true, Races: true},
	}), cuda.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func normal(d tensor.DType, seed uint64, shape ...int) nntest.Array {
	r := rand.New(rand.NewPCG(seed, 1))
	x := nntest.Array{Shape: shape, DType: d, Values: make([]float32, tensor.Shape(shape).Elements())}
	for i := range x.Values {
		x.Values[i] = float32(r.NormFloat64())
		switch d {
		case tensor.BFloat16:
			x.Values[i] = tensor.BF16ToF32(tensor.F32ToBF16(x.Values[i]))
		case tensor.Float16:
			half := make([]uint16, 1)
			tensor.Narrow(d, half, x.Values[i:i+1])
			tensor.Widen(d, x.Values[i:i+1], half)
		}
	}
	return x
}

// The suite of every backend, without most of its cases: the emulator needs minutes for all of them.
func TestConvolutionsConform(t *testing.T) {
	for _, capability := range []int{75, 80} {
		o := nntest.Options{Threads: 1, Families: []string{"convolution", "convolution with optimiser"}, Every: 23 * every(3), Allocates: true}
		o.Run(t, func(t *testing.T, _ int) nn.Backend { return emulatedAs(t, capability) })
	}
}

// layers are the kinds of layer of PRISM's decoder, smaller: channels of the small and of the large grid, its rows and
// columns, and the operator.
var layers = []struct {
	small, large, side, taps, stride, pad int
}{
	{40, 24, 1, 4, 1, 0},  // a vector and a matrix
	{48, 20, 4, 4, 2, 1},  // few pixels, many channels
	{20, 12, 16, 4, 2, 1}, // as many of both
	{5, 7, 48, 4, 2, 1},   // many pixels
	{4, 8, 48, 3, 1, 1},
	{2, 4, 50, 3, 1, 1},
	{1, 2, 46, 3, 1, 0},
	{33, 40, 16, 3, 1, 1},
}

// Every operator on every kind of layer, in every type and with every kind of products, gives the processor's results, on
// devices whose size and age choose different kernels.
func TestConvolutionsOfLayers(t *testing.T) {
	host := onProcessor(t)
	tried := 0
	for _, device := range []struct{ capability, multi int }{{80, 132}, {80, 2}, {75, 2}} {
		b := emulatedDevice(t, device.capability, device.multi)
		for i, l := range layers {
			for _, how := range []struct {
				d        tensor.DType
				products nn.Products
				off      float64 // of the largest result
			}{
				{tensor.Float32, nn.Exact, 2e-6}, {tensor.Float32, nn.BF16x3, 2e-5}, {tensor.Float32, nn.TF32, 2e-3},
				{tensor.BFloat16, nn.Exact, 1.0 / 128}, {tensor.Float16, nn.Exact, 1.0 / 1024},
			} {
				if tried++; tried%every(4) != 0 || device.multi == 132 && how.products != nn.Exact {
					continue
				}
				t.Run(fmt.Sprintf("%d.%d multiprocessors %v %v %v", device.capability, device.multi, l, how.d, how.products), func(t *testing.T) {
					side := (l.side-1)*l.stride - 2*l.pad + l.taps
					small, large := normal(how.d, uint64(i), 1, l.small, l.side, l.side), normal(how.d, uint64(i+100), 1, l.large, side, side)
					w := normal(how.d, uint64(i+200), l.small, l.large, l.taps, l.taps)
					bias := normal(tensor.Float32, uint64(i+300), l.large)
					for _, c := range []struct {
						op  nn.Op
						in  []nntest.Array
						out nntest.Result
					}{
						{nn.Conv2D{Stride: l.stride, Pad: l.pad}, []nntest.Array{large, w}, nntest.Result{Shape: small.Shape, DType: how.d}},
						{nn.ConvTranspose2D{Stride: l.stride, Pad: l.pad, ReLU: true}, []nntest.Array{small, w, bias}, nntest.Result{Shape: large.Shape, DType: how.d}},
						{nn.ConvTranspose2DGradWeight{Stride: l.stride, Pad: l.pad}, []nntest.Array{small, large}, nntest.Result{Shape: w.Shape}},
					} {
						want := run(t, host, c.op, nn.Exact, c.in, c.out)
						got := run(t, b, c.op, how.products, c.in, c.out)
						largest := 0.0
						for _, v := range want {
							largest = max(largest, math.Abs(float64(v)))
						}
						for k, v := range want {
							if off := math.Abs(float64(got[k]) - float64(v)); !(off <= how.off*largest) {
								t.Fatalf("%T: [%d] = %v, on the processor %v: off by %.2g of the largest", c.op, k, got[k], v, off/largest)
							}
						}
					}
				})
			}
		}
	}
}

// run returns the only result of a step.
func run(t *testing.T, b nn.Backend, op nn.Op, products nn.Products, in []nntest.Array, out nntest.Result) []float32 {
	t.Helper()
	s, err := nntest.NewProductStep(b, op, products, in, []nntest.Result{out})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}
