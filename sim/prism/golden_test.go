package prism_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/npy/npytest"
	"prismtop/sim/prism"
)

// goldenSide is the side of the field of the small decoder whose numbers PyTorch made.
const goldenSide = 64

func openGolden(t testing.TB) npytest.Golden {
	t.Helper()
	return npytest.OpenGolden(t, "../../../shared/golden", "decoder_64_32.npz")
}

// mask reads a mask of zeros and ones.
func mask(g npytest.Golden, name string) []float32 {
	bytes := npytest.Read[uint8](g, name)
	mask := make([]float32, len(bytes))
	for i, b := range bytes {
		mask[i] = float32(b)
	}
	return mask
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
func goldenBench(t testing.TB, g npytest.Golden) *bench {
	return goldenBenchOn(t, g, cpu.Options{Threads: 2})
}

func goldenBenchOn(t testing.TB, g npytest.Golden, o cpu.Options) *bench {
	b := newBenchOn(t, prism.DecoderConfig{Size: goldenSide, ObjectSize: 32, BatchNorm: true, Activation: "sigmoid"}, o)
	for _, name := range b.decoder.Model().ParameterNames() {
		b.write(name, npytest.Read[float32](g, "param."+name))
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
	*nntest.Program
}

// load binds a plan; compile is one of the decoder's methods.
func (b *bench) load(compile func(context.Context, prism.PlanOptions) (*nn.Plan, error), o prism.PlanOptions) *loaded {
	b.t.Helper()
	plan, err := compile(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	return &loaded{b, nntest.LoadOn(b.t, b.backend, b.state, plan)}
}

func (l *loaded) input(name string, x ...float32) { l.Write(name, x) }

func (l *loaded) output(name string) []float32 { return l.Read(name) }

// iterate runs one whole iteration.
func (l *loaded) iterate() { l.Run() }

// goldenPlan is the progressive plan with the file's masks and targets.
func (b *bench) goldenPlan(g npytest.Golden, o prism.PlanOptions) *loaded {
	b.t.Helper()
	l := b.load(b.decoder.ProgressivePlan, o)
	l.input(prism.MaskOldInput, mask(g, "cum_mask")...)
	l.input(prism.MaskNewInput(0, 1), mask(g, "new_mask")...)
	l.input(prism.TargetOldInput, npytest.Read[float32](g, "target_old")...)
	l.input(prism.TargetNewInput, npytest.Read[float32](g, "target_new")...)
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

// eachVariant runs a test under every variant of the kernels that this machine runs, and under the fastest on one to
// four threads.
func eachVariant(t *testing.T, test func(t *testing.T, g npytest.Golden, o cpu.Options)) {
	file := openGolden(t)
	for i, kernels := range cpu.KernelNames() { // the fastest first
		for threads := 1; threads <= 4; threads++ {
			if i > 0 && threads != 3 {
				continue
			}
			t.Run(fmt.Sprintf("%s ×%d", kernels, threads), func(t *testing.T) {
				test(t, file.For(t), cpu.Options{Kernels: kernels, Threads: threads})
			})
		}
	}
}

func TestForwardAndGradientsAgreeWithPyTorch(t *testing.T) { eachVariant(t, forwardAndGradients) }

func forwardAndGradients(t *testing.T, g npytest.Golden, o cpu.Options) {
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
		b := goldenBenchOn(t, g, o)
		l := b.goldenPlan(g, prism.PlanOptions{Loss: lossNamed(t, c.loss), SharedSpectrum: c.shared,
			Fused: c.fused, Pruned: c.fused, Layers: c.layers})
		l.iterate()
		if c.layers {
			for _, layer := range []string{"conv0", "bn0", "conv1", "bn1", "conv2", "bn2", "conv3", "bn3", "conv4", "bn4", "conv5"} {
				g.Accept("act."+layer, l.output("act."+layer))
			}
			g.Accept("meas_old", l.output(prism.MeasuredOldOutput))
			g.Accept("meas_new", l.output(prism.MeasuredNewOutput))
		}
		g.Accept("output", l.output(prism.ReconstructionOutput))
		want := npytest.Read[float64](g, "losses_64")[c.first:]
		for i, name := range []string{prism.LossOldOutput, prism.LossNewOutput} {
			if got := float64(l.output(name)[0]); math.Abs(got-want[i]) > 2e-6*want[i] {
				t.Errorf("%s %s: %.9g, want %.9g", c.loss, name, got, want[i])
			}
		}
		for _, name := range b.decoder.Model().ParameterNames() {
			g.Accept(c.gradients+name, b.read(name+".grad"))
		}
	}
}

func TestThreeAdamStepsAgreeWithPyTorch(t *testing.T) { eachVariant(t, threeAdamSteps) }

func threeAdamSteps(t *testing.T, g npytest.Golden, o cpu.Options) {
	b := goldenBenchOn(t, g, o)
	l := b.goldenPlan(g, prism.PlanOptions{SharedSpectrum: true})
	l.input(nn.LearningRateInput, 1e-3)
	var losses []float32
	for range 3 {
		l.iterate()
		losses = append(losses, l.output(prism.LossOutput)[0])
	}
	g.Accept("loss_steps", losses)
	for _, v := range b.decoder.Model().Variables() {
		if g.Has("after3." + v.Name + "_64") {
			g.Accept("after3."+v.Name, b.read(v.Name))
		} else if v.Category == nn.Weights {
			t.Errorf("%s is not in the reference", v.Name)
		}
	}
	if k := b.read(nn.StepVariable)[0]; k != 3 {
		t.Errorf("step counter %v after three steps", k)
	}

	running := b.load(b.decoder.EvaluationPlan, prism.PlanOptions{RunningStatistics: true})
	running.iterate()
	g.Accept("output_eval_after3", running.output(prism.ReconstructionOutput))
	batch := b.load(b.decoder.EvaluationPlan, prism.PlanOptions{})
	batch.iterate()
	g.Accept("output_train_after3", batch.output(prism.ReconstructionOutput))
}

// A fresh Adam forgets its moments and keeps the weights, as at the start of a
// sample.
func TestFreshAdamTakesTheSameFirstStep(t *testing.T) {
	g := openGolden(t)
	b := goldenBench(t, g)
	l := b.goldenPlan(g, prism.PlanOptions{})
	l.input(nn.LearningRateInput, 0)
	l.iterate()
	l.iterate()
	if err := b.decoder.Model().ResetMoments(t.Context(), b.state); err != nil {
		t.Fatal(err)
	}
	l.input(nn.LearningRateInput, 1e-3)
	l.iterate()
	other := goldenBench(t, g)
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
