package cuda_test

import (
	"fmt"
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

// emulated returns a backend on an emulated device that finds races and reads of memory that was never written.
func emulated(t testing.TB) *cuda.Backend {
	return emulatedWith(t, ptx.Checks{Uninitialised: true, Races: true})
}

func emulatedWith(t testing.TB, c ptx.Checks) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(emulator.New(emulator.Options{Checks: c}), cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestOptics(t *testing.T) { conforms(t, "optics", "loss") }

// onProcessor returns a backend to compare with.
func onProcessor(t testing.TB) nn.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// telescopeCase is a telescope over planes of n×n through masks, discs of two radii, one of them away from the middle.
type telescopeCase struct {
	n, masks int
	frame    nn.MeasureFrame
	radius   float64
}

func (c telescopeCase) String() string {
	return fmt.Sprintf("%d masks of %d, shared %v, pruned %v", c.masks, c.n, c.frame.Shared, c.frame.Pruned)
}

// object is random within the window and 0 outside.
func (c telescopeCase) object() nntest.Array {
	r := rand.New(rand.NewPCG(1, uint64(c.n)))
	x := nntest.Array{Shape: tensor.Shape{1, 1, c.n, c.n}, Values: make([]float32, c.n*c.n)}
	for i := c.frame.Top; i < c.frame.Bottom; i++ {
		for j := c.frame.Left; j < c.frame.Right; j++ {
			x.Values[i*c.n+j] = r.Float32()
		}
	}
	return x
}

func (c telescopeCase) mask(k int) nntest.Array {
	far := float64(k) * c.radius / 2
	return nntest.Array{Shape: tensor.Shape{c.n, c.n}, Values: disc(c.n, far, -far/3, c.radius/float64(1+k%2))}
}

func (c telescopeCase) plane(k int) nntest.Array {
	r := rand.New(rand.NewPCG(2, uint64(k)))
	x := nntest.Array{Shape: tensor.Shape{1, 1, c.n, c.n}, Values: make([]float32, c.n*c.n)}
	for i := range x.Values {
		x.Values[i] = r.Float32()
	}
	return x
}

func telescopeCases() []telescopeCase {
	whole := func(n int) nn.MeasureFrame { return nn.MeasureFrame{Bottom: n, Right: n} }
	window := nn.MeasureFrame{Shared: true, Pruned: true, Top: 24, Bottom: 40, Left: 16, Right: 43}
	unshared, empty := window, window
	unshared.Shared = false
	empty.Top, empty.Bottom, empty.Left, empty.Right = 10, 20, 30, 33
	return []telescopeCase{
		{16, 1, whole(16), 5}, {32, 2, whole(32), 9}, {64, 2, window, 7}, {64, 2, unshared, 7}, {64, 9, window, 9}, {64, 2, empty, 0},
		{128, 2, nn.MeasureFrame{Shared: true, Pruned: true, Top: 48, Bottom: 80, Left: 48, Right: 80}, 10},
	}
}

// measured returns the losses, the factors and the gradient of Measure.
func (c telescopeCase) measured(t *testing.T, be nn.Backend, op nn.Measure) [][]float32 {
	t.Helper()
	op.MeasureFrame = c.frame
	in := []nntest.Array{c.object()}
	var masks []nntest.Array
	upstream := nntest.Array{Shape: tensor.Shape{c.masks}}
	for k := range c.masks {
		masks = append(masks, c.mask(k))
		in = append(in, masks[k], c.plane(k))
		upstream.Values = append(upstream.Values, 1+float32(k)/2)
	}
	vector, fields := tensor.Shape{c.masks}, tensor.Shape{c.masks, nn.MeasureSaved(c.n, c.n)}
	out := nntest.Apply(t, be, op, in, nntest.Result{Shape: vector}, nntest.Result{Shape: vector}, nntest.Result{Shape: fields})
	g := nntest.Apply(t, be, nn.MeasureGrad{Measure: op},
		append([]nntest.Array{{Shape: fields, Values: out[2]}, {Shape: vector, Values: out[1]}, upstream}, masks...), nntest.Result{Shape: in[0].Shape})
	return [][]float32{out[0], out[1], g[0]}
}

// amplitudes returns those of two measurements, all masks but one and that one, and the gradient.
func (c telescopeCase) amplitudes(t *testing.T, be nn.Backend) [][]float32 {
	t.Helper()
	op := nn.Amplitudes{Apertures: []int{c.masks - 1, 1}, MeasureFrame: c.frame}
	if c.masks == 1 {
		op.Apertures = []int{1}
	}
	in := []nntest.Array{c.object()}
	for k := range c.masks {
		in = append(in, c.mask(k))
	}
	var results []nntest.Result
	for range op.Apertures {
		results = append(results, nntest.Result{Shape: in[0].Shape})
	}
	directions := tensor.Shape{c.masks, nn.MeasureSaved(c.n, c.n)}
	out := nntest.Apply(t, be, op, in, append(results, nntest.Result{Shape: directions})...)
	views := len(op.Apertures)
	back := []nntest.Array{{Shape: directions, Values: out[views]}}
	for i := range views {
		back = append(back, c.plane(i))
	}
	g := nntest.Apply(t, be, nn.AmplitudesGrad{Amplitudes: op}, append(back, in[1:]...), nntest.Result{Shape: in[0].Shape})
	return append(out[:views], g[0])
}

// rounding is how far two transforms in float32 may differ, relative to the largest element.
const rounding = 3e-6

// near compares results with those of the processor.
func near(t *testing.T, tolerance float64, names []string, got, want [][]float32) {
	t.Helper()
	for i, name := range names {
		largest, off, at := 0.0, 0.0, 0
		for j, w := range want[i] {
			largest = max(largest, math.Abs(float64(w)))
			if d := math.Abs(float64(got[i][j]) - float64(w)); !(d <= off) {
				off, at = d, j
			}
		}
		if !(off <= tolerance*largest) {
			t.Errorf("%s[%d] = %g, on the processor %g: off by %.2g of the largest", name, at, got[i][at], want[i][at], off/largest)
		}
	}
}

func TestTelescopeFollowsTheProcessor(t *testing.T) {
	gpu, processor := emulated(t), onProcessor(t)
	for _, c := range telescopeCases() {
		for _, op := range []nn.Measure{{Kind: nn.L1, Normalize: true}, {Kind: nn.L2}} {
			t.Run(fmt.Sprintf("%v, loss %d", c, op.Kind), func(t *testing.T) {
				near(t, rounding, []string{"loss", "factor", "gradient"}, c.measured(t, gpu, op), c.measured(t, processor, op))
			})
		}
		t.Run(fmt.Sprintf("amplitudes, %v", c), func(t *testing.T) {
			names := []string{"old", "new", "gradient"}
			if c.masks == 1 {
				names = names[1:]
			}
			near(t, rounding, names, c.amplitudes(t, gpu), c.amplitudes(t, processor))
		})
	}
}

// Lines of every power of two that has a fast transform, and two others, along either axis.
func TestTransformsFollowTheProcessor(t *testing.T) {
	gpu, processor := emulated(t), onProcessor(t)
	for _, n := range []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 100, 8} {
		for _, shape := range []tensor.Shape{{n, 3}, {3, n}} {
			x := nntest.Array{Shape: shape, DType: tensor.Complex64, Values: make([]float32, 6*n)}
			r := rand.New(rand.NewPCG(3, uint64(n)))
			for i := range x.Values {
				x.Values[i] = float32(r.NormFloat64())
			}
			for _, op := range []nn.FFT{{}, {Inverse: true}} {
				t.Run(fmt.Sprintf("%v, inverse %v", shape, op.Inverse), func(t *testing.T) {
					y := nntest.Result{Shape: shape, DType: tensor.Complex64}
					near(t, rounding, []string{"spectrum"}, nntest.Apply(t, gpu, op, []nntest.Array{x}, y), nntest.Apply(t, processor, op, []nntest.Array{x}, y))
				})
			}
		}
	}
}

// The sides of PRISM's telescope, which have kernels of their own. Far from the object the field is nearly 0, and its
// direction, which the gradient has, that of rounding errors.
func TestTelescopeFollowsTheProcessorAtFullSize(t *testing.T) {
	processor := onProcessor(t)
	op := nn.Measure{Kind: nn.L1, Normalize: true}
	for _, n := range []int{256, 512, 1024} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			gpu := emulatedWith(t, ptx.Checks{Uninitialised: true, Races: n == 256}) // races take time
			frame := nn.MeasureFrame{Shared: true, Pruned: true, Top: n * 3 / 8, Bottom: n * 5 / 8, Left: n * 3 / 8, Right: n * 5 / 8}
			c := telescopeCase{n, 2, frame, float64(n) / 13}
			got, want := c.measured(t, gpu, op), c.measured(t, processor, op)
			near(t, rounding, []string{"loss", "factor"}, got, want)
			near(t, 2e-4, []string{"gradient"}, got[2:], want[2:])
			got, want = c.amplitudes(t, gpu), c.amplitudes(t, processor)
			near(t, rounding, []string{"old", "new"}, got, want)
			near(t, 2e-4, []string{"gradient"}, got[2:], want[2:])
		})
	}
}
