package cuda_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/gpu/emulator/ptx"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// emulatedAs returns a backend on an emulated device of a compute capability, 10·major + minor, whose kernels are checked.
func emulatedAs(t testing.TB, capability int) *cuda.Backend {
	t.Helper()
	d := emulator.New(emulator.Options{
		Devices: []emulator.DeviceOptions{{Capability: capability}},
		Checks:  ptx.Checks{Uninitialised: true, Races: true},
	})
	b, err := cuda.Open(d, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// conforms runs families of the conformance suite on an emulated device.
func conforms(t *testing.T, families ...string) {
	for _, capability := range []int{75, 80} {
		t.Run(map[int]string{75: "sm_75", 80: "sm_80"}[capability], func(t *testing.T) {
			o := nntest.Options{Threads: 1, Families: families, Allocates: true}
			o.Run(t, func(t *testing.T, _ int) nn.Backend { return emulatedAs(t, capability) })
		})
	}
}

func TestNormalisation(t *testing.T) { conforms(t, "normalisation", "refusals") }
func TestElements(t *testing.T)      { conforms(t, "activation", "elementwise") }
func TestLayout(t *testing.T)        { conforms(t, "layout", "pixels") }
func TestOptimiser(t *testing.T)     { conforms(t, "optimiser") }

// Channels of more values than a block holds are normalised in two launches, whose results are those of the processor.
func TestLargeChannels(t *testing.T) {
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	device := emulatedAs(t, 80)
	for _, shape := range []tensor.Shape{{1, 3, 160, 104}, {3, 2, 64, 100}} {
		r := rand.New(rand.NewPCG(3, uint64(shape[0])))
		normal := func(mean, deviation float64, shape ...int) nntest.Array {
			a := nntest.Array{Shape: shape, Values: make([]float32, tensor.Shape(shape).Elements())}
			for i := range a.Values {
				a.Values[i] = float32(mean + deviation*r.NormFloat64())
			}
			return a
		}
		c := shape[1]
		x, gy, gamma, beta := normal(5, 2, shape...), normal(0, 1, shape...), normal(1, 0.2, c), normal(0, 1, c)
		channel, all := nntest.Result{Shape: tensor.Shape{c}}, nntest.Result{Shape: shape}
		forward := func(b nn.Backend) [][]float32 {
			return nntest.Apply(t, b, nn.BatchNorm{Eps: 1e-5, Momentum: 0.1, Train: true, ReLU: true}, []nntest.Array{x, gamma, beta, normal(0, 0, c), normal(1, 0, c)},
				all, channel, channel, nntest.Result{InPlace: true, Input: 3}, nntest.Result{InPlace: true, Input: 4})
		}
		want, got := forward(host), forward(device)
		alikeTo(t, "normalisation", got, want)
		mean, inverse := nntest.Array{Shape: tensor.Shape{c}, Values: want[1]}, nntest.Array{Shape: tensor.Shape{c}, Values: want[2]}
		backward := func(b nn.Backend) [][]float32 {
			return nntest.Apply(t, b, nn.BatchNormGrad{ReLU: true}, []nntest.Array{x, gy, gamma, mean, inverse, beta}, all, channel, channel)
		}
		alikeTo(t, "gradient", backward(device), backward(host))
	}
}

// alikeTo compares results with those expected: a few roundings of the largest.
func alikeTo(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for k := range want {
		most := 0.0
		for _, v := range want[k] {
			most = max(most, math.Abs(float64(v)))
		}
		for i, v := range want[k] {
			if off := math.Abs(float64(got[k][i]) - float64(v)); !(off <= 1e-6*most) {
				t.Errorf("%s: result %d[%d] is %v, want %v (largest %v)", what, k, i, got[k][i], v, most)
				break
			}
		}
	}
}
