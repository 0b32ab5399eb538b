package cuda_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"prismtop/gpu/cuda"
	"prismtop/gpu/driver/libcuda"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// realGPU returns the backend of the machine's GPU, or skips.
func realGPU(t testing.TB, o cuda.Options) *cuda.Backend {
	t.Helper()
	d, err := libcuda.Open()
	if err != nil {
		t.Skip("no GPU to test on: ", err)
	}
	b, err := cuda.Open(d, o)
	if err != nil {
		t.Skip("no GPU to test on: ", err)
	}
	t.Cleanup(b.Close)
	return b
}

// training is a progressive plan of PRISM's decoder on a backend, over masks and targets made here.
type training struct {
	t     testing.TB
	model *nn.Model
	plan  *nn.Plan
	state nn.State
	exe   nn.Executable
}

func newTraining(t testing.TB, b nn.Backend, c prism.DecoderConfig, o prism.PlanOptions) *training {
	t.Helper()
	d, err := prism.NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &training{t: t, model: d.Model()}
	if r.plan, err = d.ProgressivePlan(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	variables, err := d.Model().InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.state, err = b.NewState(t.Context(), variables); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.state.Close)
	if r.exe, err = b.Load(t.Context(), r.plan, r.state); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.exe.Close)
	feed(r, c)
	return r
}

// feed writes the inputs.
func feed(r *training, c prism.DecoderConfig) {
	n := c.Size
	r.write(prism.MaskOldInput, disc(n, 0, 0, float64(n)/8))
	r.write(prism.MaskNewInput(0, 1), disc(n, float64(n)/16, float64(n)/12, float64(n)/16))
	r.write(prism.TargetOldInput, disc(n, 1, 0, float64(c.ObjectSize)/3))
	r.write(prism.TargetNewInput, disc(n, 0, 2, float64(c.ObjectSize)/4))
	r.write(nn.LearningRateInput, []float32{1e-3})
}

// disc is a plane of zeros with a circle of ones, its centre in pixels from the middle.
func disc(n int, y, x, radius float64) []float32 {
	plane := make([]float32, n*n)
	for i := range n {
		for j := range n {
			if math.Hypot(float64(i-n/2)-y, float64(j-n/2)-x) <= radius {
				plane[i*n+j] = 1
			}
		}
	}
	return plane
}

func (r *training) write(name string, values []float32) {
	if id, ok := r.plan.Input(name); ok {
		r.exe.Write(id, values)
	}
}

// iterate runs one iteration, reading the loss before the update as a run does.
func (r *training) iterate() float32 {
	r.t.Helper()
	r.run(nn.SegmentForward)
	r.run(nn.SegmentEvaluate)
	var loss [1]float32
	id, _ := r.plan.Output(prism.LossOutput)
	r.exe.Read(id, loss[:])
	r.run(nn.SegmentUpdate)
	return loss[0]
}

func (r *training) run(s nn.Segment) {
	r.t.Helper()
	if err := r.exe.Run(context.Background(), s); err != nil {
		r.t.Fatal(err)
	}
}

// weights returns every weight and moment.
func (r *training) weights() map[string][]float32 {
	all := map[string][]float32{}
	for i, v := range r.model.Variables() {
		if v.Category == nn.Weights || v.Category == nn.Moments {
			x := make([]float32, v.Shape.Elements())
			r.state.Read(i, x)
			all[v.Name] = x
		}
	}
	return all
}

// modes are the ways to train, with how far the first loss may be from that of the processor in the same mode.
var modes = []struct {
	name string
	o    prism.PlanOptions
	off  float64
}{
	{"fp32", prism.PlanOptions{}, 1e-4},
	{"fp32 fused", fused(prism.PlanOptions{}), 1e-4},
	{"bf16x3", fused(prism.PlanOptions{Products: nn.BF16x3}), 1e-3},
	{"tf32", fused(prism.PlanOptions{Products: nn.TF32}), 0.02},
	{"bf16", fused(prism.PlanOptions{AMP: tensor.BFloat16}), 0.05},
	{"fp16", fused(prism.PlanOptions{AMP: tensor.Float16}), 0.05},
}

func fused(o prism.PlanOptions) prism.PlanOptions {
	o.Fused, o.Pruned, o.SharedSpectrum, o.FusedOptimizer = true, true, true, true
	return o
}

// small is a decoder that trains in a moment.
var small = prism.DecoderConfig{Size: 64, ObjectSize: 32, BatchNorm: true, Seed: 3}

// drift is how far later losses may be from those of the processor: the first steps of Adam move every weight by the
// learning rate, in the direction of its gradient's sign, which rounding decides for those that are nearly zero.
const drift = 0.03

// follows checks that a device's training follows the processor's.
func follows(t *testing.T, open func() nn.Backend, c prism.DecoderConfig, iterations int) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			mode.o.Loss = l1(t)
			host, err := cpu.New(cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			exact := mode.o
			if exact.Products == nn.TF32 { // which no processor has
				exact.Products = nn.Exact
			}
			want := newTraining(t, host, c, exact)
			first, again := newTraining(t, open(), c, mode.o), newTraining(t, open(), c, mode.o)
			for i := range iterations {
				w, g, g2 := want.iterate(), first.iterate(), again.iterate()
				if g != g2 {
					t.Fatalf("iteration %d: the loss is %v and, again, %v", i, g, g2)
				}
				limit := mode.off
				if i > 0 {
					limit = max(limit, drift)
				}
				if off := math.Abs(float64(g-w)) / float64(w); !(off <= limit) {
					t.Fatalf("iteration %d: loss %v, on the processor %v: off by %.2g", i, g, w, off)
				}
			}
			other := again.weights()
			for name, x := range first.weights() {
				for i := range x {
					if math.Float32bits(x[i]) != math.Float32bits(other[name][i]) {
						t.Fatalf("%s[%d] is %v and, again, %v", name, i, x[i], other[name][i])
					}
				}
			}
		})
	}
}

func l1(t testing.TB) prism.LossSpec {
	t.Helper()
	spec, err := prism.ParseLoss("l1", true, prism.CompositeWeights{})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// On the emulated device, too, without races and reads of memory that was never written.
func TestTrainingFollowsTheProcessor(t *testing.T) {
	c := prism.DecoderConfig{Size: 32, ObjectSize: 16, BatchNorm: true, Seed: 3}
	follows(t, func() nn.Backend { return emulated(t) }, c, 3)
}

// On a GPU, training follows the processor's loss curve, in every mode, and repeats bit for bit.
func TestGPUTrainingFollowsTheProcessor(t *testing.T) {
	b := realGPU(t, cuda.Options{})
	for _, c := range []prism.DecoderConfig{small, {Size: 512, ObjectSize: 128, BatchNorm: true, Seed: 1}} {
		t.Run(fmt.Sprintf("%d/%d", c.Size, c.ObjectSize), func(t *testing.T) {
			follows(t, func() nn.Backend { return b }, c, 20)
		})
	}
}

// BenchmarkGPUIteration is a training iteration with its loss read, as a run does it.
func BenchmarkGPUIteration(b *testing.B) {
	gpu := realGPU(b, cuda.Options{})
	for _, size := range [][2]int{{256, 128}, {512, 128}, {1024, 512}} {
		for _, mode := range modes {
			b.Run(fmt.Sprintf("%d-%d/%s", size[0], size[1], mode.name), func(b *testing.B) {
				mode.o.Loss = l1(b)
				r := newTraining(b, gpu, prism.DecoderConfig{Size: size[0], ObjectSize: size[1], BatchNorm: true, Seed: 1}, mode.o)
				for range 20 {
					r.iterate()
				}
				var phases [nn.NumPhases]int64
				began := time.Now()
				for b.Loop() {
					r.iterate()
				}
				b.ReportMetric(float64(time.Since(began).Microseconds())/float64(b.N), "µs/iteration")
				r.exe.StepNanos()
				r.iterate()
				r.state.Read(0, make([]float32, r.model.Variables()[0].Shape.Elements())) // waits for the update
				for i, nanos := range r.exe.StepNanos() {
					phases[r.plan.Steps[i].Phase] += nanos
				}
				for p, nanos := range phases {
					b.ReportMetric(float64(nanos)/1e3, nn.Phase(p).String()+"-µs")
				}
			})
		}
	}
}

// On a GPU, every step that computes something has a time of its own when asked for; copies share a launch, which has the time of the last.
// With -v the times are printed.
func TestGPUStepsAreTimed(t *testing.T) {
	gpu := realGPU(t, cuda.Options{})
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			mode.o.Loss = l1(t)
			r := newTraining(t, gpu, prism.DecoderConfig{Size: 512, ObjectSize: 128, BatchNorm: true, Seed: 1}, mode.o)
			r.exe.(interface{ Detail(bool) }).Detail(true)
			least := make([]int64, len(r.plan.Steps))
			for i := range 30 {
				r.iterate()
				r.state.Read(0, make([]float32, r.model.Variables()[0].Shape.Elements()))
				for s, nanos := range r.exe.StepNanos() {
					if i == 0 || nanos < least[s] {
						least[s] = nanos
					}
				}
			}
			for s, nanos := range least {
				step := &r.plan.Steps[s]
				_, placed := step.Op.(nn.Place)
				_, cast := step.Op.(nn.Cast)
				if nanos == 0 && step.Bytes > 1<<20 && step.Phase != nn.PhaseOptimizer && !placed && !cast {
					t.Errorf("%s has no time", step.Name)
				}
				t.Logf("%8.1f µs  %v  %s", float64(nanos)/1e3, step.Phase, step.Name)
			}
		})
	}
}

// On a GPU, every operator conforms.
func TestGPUConforms(t *testing.T) {
	nntest.Options{Threads: 1, Allocates: true}.Run(t, func(t *testing.T, _ int) nn.Backend { return realGPU(t, cuda.Options{}) })
}
