package ptycho

import (
	"math"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

// The gradients of the training plan agree with differences of its loss: for one array of
// every part, along the gradient, where the loss falls fastest. The steps are small because
// of ReLU's corners, and the loss is float32, so that some per cent are left.
func TestGradientsOfTrainingAreDifferencesOfTheLoss(t *testing.T) {
	for _, activation := range []string{"sigmoid", "swish", "softplus"} { // relu's corner moves differences by a few per cent
		t.Run(activation, func(t *testing.T) {
			testGradients(t, Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true, AmpActivation: activation, Seed: 4})
		})
	}
}

func testGradients(t *testing.T, c Config) {
	const photons = 1e3
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := n.TrainingPlan(t.Context(), PlanOptions{Batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, n, plan, cpu.Options{Threads: 2})
	scale := IntensityScale(photons, c.Size)
	n.SetScale(p.State, scale)
	writeScan(t, p, c, scale, photons)
	p.Write(nn.LearningRateInput, []float32{0}) // the update changes nothing
	p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)

	for _, name := range []string{"log_scale", "enc.0.a.weight", "enc.2.b.weight", "amp.stages.0.a.weight", "amp.inner.weight",
		"phase.stages.1.b.bias", "phase.inner.bias", "phase.outer_b.weight"} {
		v, ok := n.model.Index(name)
		g, found := n.model.Index(name + ".grad")
		if !ok || !found {
			t.Fatalf("the model has no %s with a gradient", name)
		}
		at := make([]float32, n.model.Variables()[v].Shape.Elements())
		gradient := make([]float32, len(at))
		p.State.Read(v, at)
		p.State.Read(g, gradient)
		norm := 0.0
		for _, x := range gradient {
			norm += float64(x) * float64(x)
		}
		if norm = math.Sqrt(norm); norm == 0 {
			t.Errorf("%s: no gradient", name)
			continue
		}
		loss := func(step float64) float64 {
			moved := make([]float32, len(at))
			for i := range at {
				moved[i] = at[i] + float32(step*float64(gradient[i])/norm)
			}
			p.State.Write(v, moved)
			p.Run(nn.SegmentForward, nn.SegmentEvaluate)
			p.State.Write(v, at)
			return float64(p.Read(LossOutput)[0])
		}
		const step = 1e-3
		difference := (loss(step) - loss(-step)) / (2 * step)
		t.Logf("%s: gradient %.6g, difference %.6g", name, norm, difference)
		if math.Abs(difference-norm) > 0.02*norm {
			t.Errorf("%s: the gradient is %g, the difference of the loss %g", name, norm, difference)
		}
	}
}

// Checkpointing and the fused optimizer train to the same bits.
func TestTrainingPlansAgree(t *testing.T) {
	train := func(o PlanOptions) []float32 {
		c := Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true, Seed: 4}
		n, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		o.Batch = 1
		plan, err := n.TrainingPlan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		p := load(t, n, plan, cpu.Options{Threads: 2})
		scale := IntensityScale(1e5, c.Size)
		n.SetScale(p.State, scale)
		writeScan(t, p, c, scale, 1e5)
		var losses []float32
		for range 2 {
			p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
			losses = append(losses, p.Read(LossOutput)[0])
		}
		return losses
	}
	want := train(PlanOptions{})
	for _, o := range []PlanOptions{{Checkpointing: true}, {FusedOptimizer: true}} {
		if got := train(o); !slices.Equal(got, want) {
			t.Errorf("%+v: losses %v, want %v", o, got, want)
		}
	}
}
