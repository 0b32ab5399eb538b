package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// device is a plan on the CPU, with the state of its model.
type device struct {
	t     *testing.T
	model *nn.Model
	plan  *nn.Plan
	state nn.State
	exe   nn.Executable
}

func newDevice(t *testing.T, g *nn.Graph, loss nn.Value, o nn.Options) *device {
	t.Helper()
	plan, err := nn.Compile(t.Context(), g, loss, o)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	state, err := backend.NewState(t.Context(), initial(t, g.Model()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(state.Close)
	exe, err := backend.Load(t.Context(), plan, state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exe.Close)
	return &device{t, g.Model(), plan, state, exe}
}

func (d *device) run(segments ...nn.Segment) {
	for _, s := range segments {
		if err := d.exe.Run(d.t.Context(), s); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *device) variable(name string) int {
	d.t.Helper()
	i, ok := d.model.Index(name)
	if !ok {
		d.t.Fatalf("no variable %q", name)
	}
	return i
}

func (d *device) read(name string) []float32 {
	i := d.variable(name)
	x := make([]float32, d.model.Variables()[i].Shape.Elements())
	d.state.Read(i, x)
	return x
}

// loss runs the plan with a parameter moved along a direction and returns the
// loss.
func (d *device) loss(name string, at, direction []float32, step float64) float64 {
	moved := make([]float32, len(at))
	for i := range at {
		moved[i] = at[i] + float32(step*float64(direction[i]))
	}
	i := d.variable(name)
	d.state.Write(i, moved)
	d.run(nn.SegmentForward, nn.SegmentEvaluate)
	d.state.Write(i, at)
	id, _ := d.plan.Output("loss")
	var l [1]float32
	d.exe.Read(id, l[:])
	return float64(l[0])
}

// smoothNetwork uses every differentiable operator, with functions that have no
// corners, so that differences of the loss can be compared with its gradient.
func smoothNetwork(m *nn.Model) (*nn.Graph, nn.Value) {
	const side = 16
	g := nn.NewGraph(m)
	g.Layer("net", nn.PhaseForward)
	bn := nn.BatchNormOptions{Eps: 1e-5, Momentum: 0.1, BatchStatistics: true}
	latent := g.Parameter("latent", tensor.Shape{1, 6, 3, 3}, nn.Normal())
	w0 := g.Parameter("w0", tensor.Shape{6, 4, 4, 4}, nn.FanInUniform(16))
	b0 := g.Parameter("b0", tensor.Shape{4}, nn.Normal())
	x := g.Activation(g.ConvTranspose2D(latent, w0, b0, 2, 1, 0), nn.Tanh)
	w1 := g.Parameter("w1", tensor.Shape{4, 3, 3, 3}, nn.FanInUniform(9))
	x = g.Activation(g.BatchNorm("bn1", g.ConvTranspose2D(x, w1, nn.Value{}, 2, 1, 1), bn), nn.Sigmoid)
	w2 := g.Parameter("w2", tensor.Shape{3, 3, 3, 3}, nn.FanInUniform(27))
	y := g.BatchNorm("bn2", g.Conv2D(x, w2, nn.Value{}, 1, 1), bn)
	both := g.Concat(g.Add(x, y), g.Scale(y, -0.5), x) // x and y have three consumers
	w3 := g.Parameter("w3", tensor.Shape{1, 9, 3, 3}, nn.FanInUniform(81))
	b3 := g.Parameter("b3", tensor.Shape{1}, nn.Normal())
	z := g.Activation(g.Conv2D(both, w3, b3, 1, 0), nn.ScaleSigmoid)
	z = g.CropPad(g.CropPad(z, 9), side)
	g.EndForward(z)

	plane := tensor.Shape{side, side}
	spectrum := g.FFT(z)
	a := g.Telescope(spectrum, g.Input("mask_a", plane))
	b := g.Telescope(spectrum, g.Input("mask_b", plane))
	c := g.Telescope(z, g.Input("mask_b", plane))
	target := g.Input("target", tensor.Shape{1, 1, side, side})
	loss := g.WeightedSum([]float32{1, 0.5, 0.25},
		g.Loss(a, target, nn.L2, true), g.Loss(g.Mean(b, c), target, nn.SSIM, false), g.Loss(z, target, nn.MSSSIM, false))
	g.Output("loss", loss)
	return g, loss
}

// fillInputs draws the smooth network's masks and target.
func fillInputs(d *device) {
	r := rand.New(rand.NewPCG(9, 9))
	for name, shift := range map[string]int{"mask_a": 0, "mask_b": 2} {
		id, _ := d.plan.Input(name)
		mask := make([]float32, 16*16)
		for i := range mask {
			if dy, dx := i/16-8-shift, i%16-8; dy*dy+dx*dx <= 20 {
				mask[i] = 1
			}
		}
		d.exe.Write(id, mask)
	}
	id, _ := d.plan.Input("target")
	target := make([]float32, 16*16)
	for i := range target {
		target[i] = 0.3 + 0.4*r.Float32()
	}
	d.exe.Write(id, target)
}

// Along its own direction the loss must change by the gradient's length. The
// steps are small beside the parameters, which are of order 1, and change the
// loss by 5e-5 or more, so that its float32 rounding of 1e-7 is at most 0.2 % of
// the difference; the rest of the tolerance is for the third derivative.
func TestGradientsMatchDifferences(t *testing.T) {
	g, loss := smoothNetwork(nn.NewModel(nn.ModelOptions{Seed: 3}))
	d := newDevice(t, g, loss, nn.Options{Train: true})
	fillInputs(d)
	d.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
	compareWithDifferences(t, d)
}

// compareWithDifferences checks every gradient of an iteration against the loss on both
// sides of the point at which it was taken.
func compareWithDifferences(t *testing.T, d *device) {
	t.Helper()
	for _, name := range d.model.ParameterNames() {
		at, gradient := d.read(name), d.read(name+".grad")
		var square float64
		for _, v := range gradient {
			square += float64(v) * float64(v)
		}
		norm := math.Sqrt(square)
		if norm < 1e-3 {
			t.Errorf("%s: gradient of length %g tells nothing", name, norm)
			continue
		}
		direction := make([]float32, len(gradient))
		for i, v := range gradient {
			direction[i] = float32(float64(v) / norm)
		}
		step := min(2e-3/norm, 0.05)
		slope := (d.loss(name, at, direction, step) - d.loss(name, at, direction, -step)) / (2 * step)
		if !(math.Abs(slope-norm) <= 0.01*norm) {
			t.Errorf("%s: the loss rises by %.5g a unit along its gradient of length %.5g", name, slope, norm)
		}
	}
}

// Where no corner can flip, mixed precision's gradients differ by roundings
// alone: 2⁻⁹ in bf16, 2⁻¹² in fp16, some ten of them one after the other.
func TestMixedPrecisionOfASmoothNetwork(t *testing.T) {
	gradients := func(amp tensor.DType) map[string][]float32 {
		g, loss := smoothNetwork(nn.NewModel(nn.ModelOptions{Seed: 3}))
		d := newDevice(t, g, loss, nn.Options{Train: true, AMP: amp})
		fillInputs(d)
		d.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
		all := map[string][]float32{}
		for _, name := range d.model.ParameterNames() {
			all[name] = d.read(name + ".grad")
		}
		return all
	}
	exact := gradients(tensor.Float32)
	for amp, limit := range map[tensor.DType]float64{tensor.BFloat16: 0.05, tensor.Float16: 0.05 / 8} {
		for name, got := range gradients(amp) {
			var off, size float64
			for i, v := range exact[name] {
				off += math.Pow(float64(got[i])-float64(v), 2)
				size += float64(v) * float64(v)
			}
			if e := math.Sqrt(off / size); !(e <= limit) || e == 0 {
				t.Errorf("%v: gradient of %s is off by %.3g of its size, allowed above 0 and up to %g", amp, name, e, limit)
			}
		}
	}
}
