package nn_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// deepNetwork is a chain of layers of growing images, with a connection that skips
// some of them, so that a run of layers has several results that others read.
func deepNetwork(m *nn.Model) (*nn.Graph, nn.Value) {
	g := nn.NewGraph(m)
	bn := nn.BatchNormOptions{Eps: 1e-5, Momentum: 0.1, BatchStatistics: true}
	x := g.Parameter("latent", tensor.Shape{1, 8, 2, 2}, nn.Normal())
	var skip nn.Value
	for i, c := range []int{8, 6, 4, 4, 2} {
		g.Layer(fmt.Sprintf("layer %d", i), nn.PhaseForward)
		stride, pad, k := 2, 1, 4
		if i > 2 {
			stride, k = 1, 3
		}
		w := g.Parameter(fmt.Sprintf("w%d", i), tensor.Shape{x.Shape()[1], c, k, k}, nn.FanInUniform(c*k*k))
		x = g.Activation(g.BatchNorm(fmt.Sprintf("bn%d", i), g.ConvTranspose2D(x, w, nn.Value{}, stride, pad, 0), bn), nn.ReLU)
		switch i {
		case 2:
			skip = x
		case 3:
			x = g.Add(x, skip)
		}
	}
	g.Layer("head", nn.PhaseForward)
	w := g.Parameter("head", tensor.Shape{1, 2, 3, 3}, nn.FanInUniform(18))
	y := g.Activation(g.Conv2D(x, w, nn.Value{}, 1, 1), nn.Sigmoid)
	g.EndForward(y)
	g.Layer("loss", nn.PhaseLoss)
	loss := g.Loss(g.Telescope(y, g.Input("mask", tensor.Shape{16, 16})), g.Input("target", tensor.Shape{1, 1, 16, 16}), nn.L1, true)
	g.Output("loss", loss)
	return g, loss
}

// Whatever is computed again, every variable has the same bits after some
// iterations as when everything is kept: also the running statistics, which a
// second normalisation leaves alone.
func TestCheckpointingChangesNoBit(t *testing.T) {
	train := func(o nn.Options) *device {
		g, loss := deepNetwork(nn.NewModel(nn.ModelOptions{Seed: 4}))
		d := newDevice(t, g, loss, o)
		r := rand.New(rand.NewPCG(5, 6))
		for _, name := range []string{"mask", "target"} {
			values := make([]float32, 16*16)
			for i := range values {
				values[i] = float32(int(r.Float32() * 1.9))
			}
			id, _ := d.plan.Input(name)
			d.exe.Write(id, values)
		}
		rate, _ := d.plan.Input(nn.LearningRateInput)
		d.exe.Write(rate, []float32{1e-2})
		for range 5 {
			d.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
		}
		return d
	}
	for _, amp := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
		kept := train(nn.Options{Train: true, AMP: amp})
		again := train(nn.Options{Train: true, AMP: amp, Checkpointing: true})
		if n := countAgain(t, again.plan); n == 0 || countAgain(t, kept.plan) != 0 {
			t.Errorf("%v: %d steps are computed again, without checkpointing %d", amp, n, countAgain(t, kept.plan))
		}
		for _, v := range kept.model.Variables() {
			x, y := kept.read(v.Name), again.read(v.Name)
			for i := range x {
				if x[i] != y[i] {
					t.Fatalf("%v: %s[%d] is %v, with everything kept %v", amp, v.Name, i, y[i], x[i])
				}
			}
		}
	}
}

// countAgain counts the steps that repeat another and checks their phase.
func countAgain(t *testing.T, p *nn.Plan) (n int) {
	t.Helper()
	for i, s := range p.Steps {
		if !strings.Contains(s.Name, " again") {
			continue
		}
		n++
		if s.Phase != nn.PhaseBackward || i < p.Segments[nn.SegmentUpdate][0] {
			t.Errorf("%q is step %d, of phase %v", s.Name, i, s.Phase)
		}
		if o, ok := s.Op.(nn.BatchNorm); ok && o.Momentum != 0 {
			t.Errorf("%q moves the running statistics a second time", s.Name)
		}
	}
	return n
}

// No plan of a random network with checkpointing reads what is not there or takes
// more memory than the plan without.
func TestCheckpointedPlansAreSound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var smaller int
	for range 40 {
		g, loss := randomGraph(r)
		for _, amp := range []tensor.DType{tensor.Float32, tensor.Float16} {
			kept, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true, AMP: amp})
			if err != nil {
				t.Fatal(err)
			}
			p, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true, AMP: amp, Checkpointing: true})
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p)
			countAgain(t, p)
			if p.ArenaBytes > kept.ArenaBytes {
				t.Errorf("arena of %d bytes with checkpointing, %d without", p.ArenaBytes, kept.ArenaBytes)
			}
			if p.ArenaBytes < kept.ArenaBytes {
				smaller++
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	if smaller < 20 {
		t.Errorf("of 80 plans checkpointing makes %d smaller", smaller)
	}
}
