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

// every leaves out all but each n-th case of the conformance suite where tests are not exhaustive: the emulator is slow.
func every(n int) int {
	if nntest.Exhaustive() {
		return 1
	}
	return n
}

// conforms runs families of the conformance suite on an emulated device.
func conforms(t *testing.T, families ...string) {
	for _, capability := range []int{75, 80} {
		t.Run(map[int]string{75: "sm_75", 80: "sm_80"}[capability], func(t *testing.T) {
			o := nntest.Options{Threads: 1, Families: families, Every: every(4), Allocates: true}
			o.Run(t, func(t *testing.T, _ int) nn.Backend { return emulatedAs(t, capability) })
		})
	}
}

func TestNormalisation(t *testing.T) { conforms(t, "normalisation", "refusals") }
func TestElements(t *testing.T)      { conforms(t, "activation", "elementwise") }
func TestLayout(t *testing.T)        { conforms(t, "layout", "pixels") }
func TestOptimiser(t *testing.T)     { conforms(t, "optimiser") }
func TestPtychography(t *testing.T)  { conforms(t, "diffraction", "resized convolution") }
func TestVolumes(t *testing.T)       { conforms(t, "volumes") }

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

// Sums of more operands than one launch takes.
func TestLongSums(t *testing.T) {
	device := emulatedAs(t, 80)
	for _, terms := range []int{9, 32, 33, 70} {
		const n = 77
		var in []nntest.Array
		want := make([]float32, n)
		for k := range terms {
			x := nntest.Array{Shape: tensor.Shape{n}, Values: make([]float32, n)}
			for i := range x.Values {
				x.Values[i] = float32(k*i - 40)
				want[i] += x.Values[i]
			}
			in = append(in, x)
		}
		got := nntest.Apply(t, device, nn.Add{}, in, nntest.Result{Shape: tensor.Shape{n}})
		alikeTo(t, "sum", got, [][]float32{want})
	}
}

// Updates are delayed to the end of a segment unless a later step reads what they write or writes what they read.
func TestUpdatesAreNotLate(t *testing.T) {
	vector := tensor.Shape{300}
	arena := func(name string, shape tensor.Shape, offset int64) nn.Buffer {
		return nn.Buffer{Name: name, Shape: shape, Variable: -1, Offset: offset}
	}
	variables := []nn.Variable{{Name: "g", Shape: vector}, {Name: "p", Shape: vector}, {Name: "m", Shape: vector}, {Name: "q", Shape: vector}, {Name: "n", Shape: vector}, {Name: "lr"}, {Name: "step"}}
	var buffers []nn.Buffer
	for i, v := range variables {
		buffers = append(buffers, nn.Buffer{Name: v.Name, Shape: v.Shape, Variable: i})
	}
	id := func(b nn.Buffer) nn.BufferID {
		buffers = append(buffers, b)
		return nn.BufferID(len(buffers) - 1)
	}
	v, w, a, x, y, z := id(arena("v", vector, 0)), id(arena("w", vector, 1280)), id(arena("a", vector, 2560)), id(arena("x", vector, 2560)),
		id(arena("y", vector, 3840)), id(arena("z", vector, 5120))
	adam := func(gradient, p, m, v nn.BufferID) nn.Step {
		return nn.Step{Name: "Adam", Op: nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}, In: []nn.BufferID{gradient, 5, 6, p, m, v}, Out: []nn.BufferID{p, m, v}}
	}
	plan := handmade(buffers,
		step(nn.Fill{Value: 1e-3}, v), step(nn.Fill{Value: 2e-3}, w), step(nn.Fill{Value: 4}, 6), step(nn.Fill{Value: 0.1}, 5),
		step(nn.Scale{Factor: 3}, a, 0), // a gradient, whose memory x takes
		adam(a, 1, 2, v), adam(0, 3, 4, w),
		step(nn.Activation{Kind: nn.Tanh}, x, 0),
		step(nn.Scale{Factor: 2}, y, 1), // reads a parameter
		step(nn.AdamStep{}, 6, 6),       // changes the count
		adam(x, 1, 2, v),                // updates the same again
		step(nn.Scale{Factor: 2}, z, 1))
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	want := []nn.BufferID{1, 2, 3, 4, v, w, x, y, z, 6}
	alikeTo(t, "update", results(t, emulatedAs(t, 80), plan, variables, want...), results(t, host, plan, variables, want...))
}
