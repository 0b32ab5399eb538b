package prism_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/npy/npytest"
	"prismtop/sim/prism"
)

// goldenFile holds a small decoder's numbers, made by PyTorch in float64 (suffix
// _64) and float32 (suffix _32).
const goldenFile = "../../../shared/golden/decoder_64_32.npz"

const goldenSide = 64

// golden is the open file.
type golden struct {
	t      testing.TB
	arrays *npytest.Reader
	read   map[string]any // arrays that were read before, because reading is slow
}

func openGolden(t testing.TB) golden {
	t.Helper()
	if _, err := os.Stat(goldenFile); err != nil {
		t.Skipf("no reference numbers here: %v", err)
	}
	r, err := npytest.Open(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	return golden{t, r, map[string]any{}}
}

func (g golden) has(name string) bool {
	return g.arrays.Has(name)
}

func (g golden) float32s(name string) []float32 { return readArray[float32](g, name) }
func (g golden) float64s(name string) []float64 { return readArray[float64](g, name) }

func (g golden) mask(name string) []float32 {
	bytes := readArray[uint8](g, name)
	mask := make([]float32, len(bytes))
	for i, b := range bytes {
		mask[i] = float32(b)
	}
	return mask
}

func readArray[T any](g golden, name string) []T {
	g.t.Helper()
	if x, ok := g.read[name].([]T); ok {
		return x
	}
	var x []T
	if err := g.arrays.Read(name, &x); err != nil {
		g.t.Fatal(err)
	}
	g.read[name] = x
	return x
}

// check compares with the float64 truth. The tolerance is the file's own advice
// for a float32 program: eight times PyTorch's float32 error, plus 1e-6 of the
// largest value.
func (g golden) check(name string, got []float32) {
	g.t.Helper()
	truth, single := g.float64s(name+"_64"), g.float32s(name+"_32")
	if len(got) != len(truth) {
		g.t.Errorf("%s has %d elements, want %d", name, len(got), len(truth))
		return
	}
	var largest, peer, worst float64
	for i, v := range truth {
		largest = max(largest, math.Abs(v))
		peer = max(peer, math.Abs(float64(single[i])-v))
		worst = max(worst, math.Abs(float64(got[i])-v))
	}
	limit := 8*peer + 1e-6*largest
	if !(worst <= limit) {
		g.t.Errorf("%s: off by %.3g, allowed %.3g (largest value %.3g)", name, worst, limit, largest)
	}
}

// bench is a decoder with a state on the CPU.
type bench struct {
	t       testing.TB
	decoder *prism.Decoder
	backend *cpu.Backend
	state   nn.State
}

func newBench(t testing.TB, c prism.DecoderConfig) *bench {
	t.Helper()
	return newBenchOn(t, c, cpu.Options{Threads: 2})
}

// newBenchOn is newBench under a variant of the kernels and a number of threads.
func newBenchOn(t testing.TB, c prism.DecoderConfig, o cpu.Options) *bench {
	t.Helper()
	d, err := prism.NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	state, err := backend.NewState(t.Context(), initial(t, d.Model()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(state.Close)
	return &bench{t, d, backend, state}
}

// goldenBench has the reference decoder with its first weights.
func goldenBench(g golden) *bench { return goldenBenchOn(g, cpu.Options{Threads: 2}) }

func goldenBenchOn(g golden, o cpu.Options) *bench {
	b := newBenchOn(g.t, prism.DecoderConfig{Size: goldenSide, ObjectSize: 32, BatchNorm: true, Activation: "sigmoid"}, o)
	for _, name := range b.decoder.Model().ParameterNames() {
		b.write(name, g.float32s("param."+name))
	}
	return b
}

func (b *bench) index(name string) int {
	b.t.Helper()
	i, ok := b.decoder.Model().Index(name)
	if !ok {
		b.t.Fatalf("no variable %q", name)
	}
	return i
}

func (b *bench) read(name string) []float32 {
	b.t.Helper()
	i := b.index(name)
	x := make([]float32, b.decoder.Model().Variables()[i].Shape.Elements())
	b.state.Read(i, x)
	return x
}

func (b *bench) write(name string, x []float32) {
	b.t.Helper()
	b.state.Write(b.index(name), x)
}

// loaded is a plan on the device.
type loaded struct {
	*bench
	plan *nn.Plan
	exe  nn.Executable
}

// load binds a plan; compile is one of the decoder's methods.
func (b *bench) load(compile func(context.Context, prism.PlanOptions) (*nn.Plan, error), o prism.PlanOptions) *loaded {
	b.t.Helper()
	plan, err := compile(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	exe, err := b.backend.Load(b.t.Context(), plan, b.state)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(exe.Close)
	return &loaded{b, plan, exe}
}

func (l *loaded) input(name string, x ...float32) {
	l.t.Helper()
	id, ok := l.plan.Input(name)
	if !ok {
		l.t.Fatalf("no input %q", name)
	}
	l.exe.Write(id, x)
}

func (l *loaded) output(name string) []float32 {
	l.t.Helper()
	id, ok := l.plan.Output(name)
	if !ok {
		l.t.Fatalf("no output %q", name)
	}
	x := make([]float32, l.plan.Buffers[id].Shape.Elements())
	l.exe.Read(id, x)
	return x
}

// iterate runs one whole iteration.
func (l *loaded) iterate() {
	for s := range nn.NumSegments {
		if err := l.exe.Run(l.t.Context(), s); err != nil {
			l.t.Fatal(err)
		}
	}
}

// goldenPlan is the progressive plan with the file's masks and targets.
func (b *bench) goldenPlan(g golden, o prism.PlanOptions) *loaded {
	b.t.Helper()
	l := b.load(b.decoder.ProgressivePlan, o)
	l.input(prism.MaskOldInput, g.mask("cum_mask")...)
	l.input(prism.MaskNewInput(0, 1), g.mask("new_mask")...)
	l.input(prism.TargetOldInput, g.float32s("target_old")...)
	l.input(prism.TargetNewInput, g.float32s("target_new")...)
	l.input(nn.LearningRateInput, 0)
	return l
}

func lossNamed(t *testing.T, name string) prism.LossSpec {
	t.Helper()
	s, err := prism.ParseLoss(name, true, prism.CompositeWeights{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eachVariant runs a test under every variant of the kernels that this machine
// runs and on one to four threads.
func eachVariant(t *testing.T, test func(t *testing.T, g golden, o cpu.Options)) {
	file := openGolden(t)
	for _, kernels := range cpu.KernelNames() {
		for threads := 1; threads <= 4; threads++ {
			t.Run(fmt.Sprintf("%s ×%d", kernels, threads), func(t *testing.T) {
				test(t, golden{t, file.arrays, file.read}, cpu.Options{Kernels: kernels, Threads: threads})
			})
		}
	}
}

func TestForwardAndGradientsAgreeWithPyTorch(t *testing.T) { eachVariant(t, forwardAndGradients) }

func forwardAndGradients(t *testing.T, g golden, o cpu.Options) {
	for _, c := range []struct {
		loss, gradients       string
		first                 int // of the file's losses
		shared, fused, layers bool
	}{
		{"l1", "grad.", 0, false, false, true}, {"l1", "grad.", 0, true, false, true},
		{"l1", "grad.", 0, true, true, true}, {"l1", "grad.", 0, true, true, false},
		{"ssim", "gradssim.", 2, false, false, true}, {"ssim", "gradssim.", 2, true, false, true},
		{"ssim", "gradssim.", 2, false, true, true}, {"ssim", "gradssim.", 2, true, true, true},
	} {
		b := goldenBenchOn(g, o)
		l := b.goldenPlan(g, prism.PlanOptions{Loss: lossNamed(t, c.loss), SharedSpectrum: c.shared,
			Fused: c.fused, Pruned: c.fused, Layers: c.layers})
		l.iterate()
		if c.layers {
			for _, layer := range []string{"conv0", "bn0", "conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "conv4", "bn4", "conv5"} {
				g.check("act."+layer, l.output("act."+layer))
			}
			g.check("meas_old", l.output(prism.MeasuredOldOutput))
			g.check("meas_new", l.output(prism.MeasuredNewOutput))
		}
		g.check("output", l.output(prism.ReconstructionOutput))
		want := g.float64s("losses_64")[c.first:]
		for i, name := range []string{prism.LossOldOutput, prism.LossNewOutput} {
			if got := float64(l.output(name)[0]); math.Abs(got-want[i]) > 2e-6*want[i] {
				t.Errorf("%s %s: %.9g, want %.9g", c.loss, name, got, want[i])
			}
		}
		for _, name := range b.decoder.Model().ParameterNames() {
			g.check(c.gradients+name, b.read(name+".grad"))
		}
	}
}

func TestThreeAdamStepsAgreeWithPyTorch(t *testing.T) { eachVariant(t, threeAdamSteps) }

func threeAdamSteps(t *testing.T, g golden, o cpu.Options) {
	b := goldenBenchOn(g, o)
	l := b.goldenPlan(g, prism.PlanOptions{SharedSpectrum: true})
	l.input(nn.LearningRateInput, 1e-3)
	var losses []float32
	for range 3 {
		l.iterate()
		losses = append(losses, l.output(prism.LossOutput)[0])
	}
	g.check("loss_steps", losses)
	for _, v := range b.decoder.Model().Variables() {
		if g.has("after3." + v.Name + "_64") {
			g.check("after3."+v.Name, b.read(v.Name))
		} else if v.Category == nn.Weights {
			t.Errorf("%s is not in the reference", v.Name)
		}
	}
	if k := b.read(nn.StepVariable)[0]; k != 3 {
		t.Errorf("step counter %v after three steps", k)
	}

	running := b.load(b.decoder.EvaluationPlan, prism.PlanOptions{RunningStatistics: true})
	running.iterate()
	g.check("output_eval_after3", running.output(prism.ReconstructionOutput))
	batch := b.load(b.decoder.EvaluationPlan, prism.PlanOptions{})
	batch.iterate()
	g.check("output_train_after3", batch.output(prism.ReconstructionOutput))
}

// A fresh Adam forgets its moments and keeps the weights, as at the start of a
// sample.
func TestFreshAdamTakesTheSameFirstStep(t *testing.T) {
	g := openGolden(t)
	b := goldenBench(g)
	l := b.goldenPlan(g, prism.PlanOptions{})
	l.input(nn.LearningRateInput, 0)
	l.iterate()
	l.iterate()
	if err := b.decoder.Model().ResetMoments(t.Context(), b.state); err != nil {
		t.Fatal(err)
	}
	l.input(nn.LearningRateInput, 1e-3)
	l.iterate()
	other := goldenBench(g)
	m := other.goldenPlan(g, prism.PlanOptions{})
	m.input(nn.LearningRateInput, 1e-3)
	m.iterate()
	for _, name := range b.decoder.Model().ParameterNames() {
		x, y := b.read(name), other.read(name)
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("%s[%d] is %v, in a new run %v", name, i, x[i], y[i])
			}
		}
	}
}

// initial are a model's variables with their first values.
func initial(t testing.TB, m *nn.Model) []nn.Variable {
	t.Helper()
	variables, err := m.InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return variables
}
