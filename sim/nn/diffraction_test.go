package nn_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// diffractionNetwork uses every operator of ptychography.
func diffractionNetwork(m *nn.Model) (*nn.Graph, nn.Value) {
	const groups, channels, side, canvas = 2, 4, 8, 14
	g := nn.NewGraph(m)
	g.Layer("net", nn.PhaseForward)
	x := g.Parameter("x", tensor.Shape{groups, 3, side, side}, nn.Normal())
	scale := g.Parameter("log_scale", nil, nn.Constant(0.4))
	x = g.ExpScale(x, scale, -1)
	w0 := g.Parameter("w0", tensor.Shape{6, 3, 3, 3}, nn.FanInUniform(27))
	b0 := g.Parameter("b0", tensor.Shape{6}, nn.Normal())
	x = g.Upsample(g.MaxPool(g.Conv2D(x, w0, b0, 1, 1)))
	outer, inner := g.Split(x, channels)
	wi := g.Parameter("wi", tensor.Shape{channels, 2, 3, 3}, nn.FanInUniform(9))
	inner = g.Place(g.Conv2D(inner, wi, nn.Value{}, 1, 1), -2, -2, 4, 4)
	amplitude := g.Inset(g.Swish(outer), g.Activation(inner, nn.Sigmoid), 2, 2)
	wp := g.Parameter("wp", tensor.Shape{channels, 6, 3, 3}, nn.FanInUniform(54))
	z := g.Polar(amplitude, g.PiTanh(g.Conv2D(x, wp, nn.Value{}, 1, 1)))

	offsets := g.Input("offsets", tensor.Shape{groups, channels, 2})
	object := g.DivideByCoverage(g.SumPatches(z, offsets, canvas), offsets, side, 0.5)
	g.EndForward(object)
	field := g.ProbeMultiply(g.ExtractPatches(object, offsets, side), g.Input("probe", tensor.Shape{2, side, side}))
	y := g.ExpScale(g.Intensity(g.FFT(field)), scale, 2)
	loss := g.PoissonLoss(y, g.Input("counts", tensor.Shape{groups, channels, side, side}), 1e-2)
	g.Output("loss", loss)
	return g, loss
}

// See TestGradientsMatchDifferences for the tolerance.
func TestDiffractionGradientsMatchDifferences(t *testing.T) {
	g, loss := diffractionNetwork(nn.NewModel(nn.ModelOptions{Seed: 3}))
	d := newDevice(t, g, loss, nn.Options{Train: true})
	r := rand.New(rand.NewPCG(9, 9))
	for name, bounds := range map[string][2]float32{"offsets": {-2, 2}, "probe": {-1, 1}, "counts": {0, 2}} {
		id, ok := d.plan.Input(name)
		if !ok {
			t.Fatalf("the plan has no input %s", name)
		}
		values := make([]float32, d.plan.Buffers[id].Shape.Elements())
		for i := range values {
			values[i] = bounds[0] + (bounds[1]-bounds[0])*r.Float32()
		}
		d.exe.Write(id, values)
	}
	d.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
	compareWithDifferences(t, d)
}

// A ReLU fused into a convolution computes what it does by itself, and so do the
// gradients.
func TestReLUAfterConvolutionIsFused(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		checkFusedReLU(t, transposed)
	}
}

func checkFusedReLU(t *testing.T, transposed bool) {
	t.Helper()
	train := func(apart bool) (*device, []float32) {
		g := nn.NewGraph(nn.NewModel(nn.ModelOptions{Seed: 5}))
		g.Layer("net", nn.PhaseForward)
		x := g.Parameter("x", tensor.Shape{2, 3, 20, 20}, nn.Normal())
		w := g.Parameter("w", tensor.Shape{4, 3, 3, 3}, nn.Normal())
		b := g.Parameter("b", tensor.Shape{4}, nn.Normal())
		y := nn.Value{}
		if transposed {
			y = g.ConvTranspose2D(x, g.Parameter("wt", tensor.Shape{3, 4, 4, 4}, nn.Normal()), b, 2, 1, 0)
		} else {
			y = g.Conv2D(x, w, b, 1, 1)
		}
		if apart {
			g.Output("before", y)
		}
		y = g.Activation(y, nn.ReLU)
		g.Output("y", y)
		loss := g.PoissonLoss(y, g.Input("t", y.Shape()), 1)
		d := newDevice(t, g, loss, nn.Options{Train: true})
		target := make([]float32, y.Shape().Elements())
		for i := range target {
			target[i] = float32(math.Mod(float64(i)*0.37, 3))
		}
		id, _ := d.plan.Input("t")
		d.exe.Write(id, target)
		d.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
		id, _ = d.plan.Output("y")
		out := make([]float32, y.Shape().Elements())
		d.exe.Read(id, out)
		return d, out
	}
	first, weight := "net conv+ReLU", "w.grad"
	if transposed {
		first, weight = "net convT+ReLU", "wt.grad"
	}
	apart, want := train(true)
	fused, got := train(false)
	if len(fused.plan.Steps) >= len(apart.plan.Steps) || fused.plan.Steps[0].Name != first {
		t.Errorf("%d steps, of which the first is %q; apart there are %d", len(fused.plan.Steps), fused.plan.Steps[0].Name, len(apart.plan.Steps))
	}
	if !slices.Equal(got, want) || slices.Max(want) <= 0 || slices.Min(want) != 0 {
		t.Error("the fused result differs")
	}
	for _, name := range []string{"x.grad", weight, "b.grad"} {
		if !slices.Equal(fused.read(name), apart.read(name)) {
			t.Errorf("%s differs", name)
		}
	}
}
