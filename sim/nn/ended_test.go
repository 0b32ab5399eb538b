package nn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// deep returns a graph with the given number of layers, and its loss.
func deep(layers int) (*nn.Graph, nn.Value) {
	g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
	x := g.Parameter("x", tensor.Shape{1, 1, 4, 4}, nn.Normal())
	for i := range layers {
		g.Layer(fmt.Sprintf("layer %d", i), nn.PhaseForward)
		x = g.Activation(g.Add(x, g.Input(fmt.Sprintf("in %d", i), tensor.Shape{1, 1, 4, 4})), nn.ReLU)
	}
	return g, g.Loss(x, g.Input("target", tensor.Shape{1, 1, 4, 4}), nn.L1, false)
}

// Every part of compiling checks the context: the steps, their gradients, the places
// of the buffers, the choice of what is computed again.
func TestAContextEndsCompiling(t *testing.T) {
	const layers = 20
	g, loss := deep(layers)
	for _, o := range []nn.Options{{}, {Train: true}, {Train: true, Checkpointing: true}} {
		whole := awaittest.After(1 << 40)
		if _, err := nn.Compile(whole, g, loss, o); err != nil {
			t.Fatal(err)
		}
		least := 2 * layers
		if o.Train {
			least *= 3
		}
		if o.Checkpointing {
			least *= layers
		}
		if whole.Looks() < least {
			t.Errorf("%+v: the context was looked at %d times, want %d at least", o, whole.Looks(), least)
		}
		for _, looks := range []int{0, whole.Looks() / 2, whole.Looks() - 1} {
			p, err := nn.Compile(awaittest.After(looks), g, loss, o)
			if p != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%+v, ended after %d looks: %v", o, looks, err)
			}
		}
	}
}

// A large parameter is drawn part by part, and to the same bits.
func TestAContextEndsDrawingWeights(t *testing.T) {
	const n = 5 << 20
	m := nn.NewModel(nn.ModelOptions{Seed: 3})
	nn.NewGraph(m).Parameter("w", tensor.Shape{n}, nn.FanInUniform(9))
	if _, err := m.InitialVariables(awaittest.After(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	whole := awaittest.After(1 << 40)
	if _, err := m.InitialVariables(whole); err != nil || whole.Looks() < 5 {
		t.Errorf("%d looks, %v", whole.Looks(), err)
	}
}
