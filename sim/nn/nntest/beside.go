package nntest

import (
	"fmt"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// checkBeside checks that plans that share their memory give the results that each gives alone, by
// turns, whichever is the larger, after the weights have changed, and after the other is closed.
func checkBeside(t *testing.T, be nn.Backend) {
	defer be.Close()
	for _, products := range []nn.Products{nn.Exact, nn.Winograd} {
		for _, batches := range [][2]int{{8, 3}, {3, 8}} {
			t.Run(fmt.Sprintf("%v %d beside %d", products, batches[1], batches[0]), func(t *testing.T) {
				besides(t, be, products, batches)
			})
		}
	}
}

// beside is a loaded convolution of a batch.
type beside struct {
	exe  nn.Executable
	plan *nn.Plan
	x    []float32
	want map[string][]float32 // alone, by the name of the weights
}

// besides checks plans of two batches, the second loaded beside the first.
func besides(t *testing.T, be nn.Backend, products nn.Products, batches [2]int) {
	s := newSource(13)
	model := nn.NewModel(nn.ModelOptions{Seed: 1})
	kernel := tensor.Shape{16, 16, 3, 3}
	weights := map[string][]float32{"first": s.normal(tensor.Float32, kernel...).Values,
		"second": s.normal(tensor.Float32, kernel...).Values}
	var all [2]*beside
	for i, n := range batches {
		g := nn.NewGraph(model)
		x := g.Input("x", tensor.Shape{n, 16, 16, 16})
		y := g.Conv2D(x, g.Parameter("w", kernel, nn.Constant(0)), nn.Value{}, 1, 1)
		g.Output("y", g.Conv2D(y, g.Parameter("w", kernel, nn.Constant(0)), nn.Value{}, 1, 1))
		plan, err := nn.Compile(t.Context(), g, nn.Value{}, nn.Options{Products: products})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &beside{plan: plan, x: s.normal(tensor.Float32, x.Shape()...).Values, want: map[string][]float32{}}
	}
	state, err := be.NewState(t.Context(), model.Variables())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	set := func(name string) { v, _ := model.Index("w"); state.Write(v, weights[name]) }
	for _, b := range all {
		if b.exe, err = be.Load(t.Context(), b.plan, state); err != nil {
			t.Fatal(err)
		}
		for name := range weights {
			set(name)
			b.want[name] = b.run(t)
		}
		b.exe.Close()
	}
	if all[0].exe, err = be.Load(t.Context(), all[0].plan, state); err != nil {
		t.Fatal(err)
	}
	if all[1].exe, err = be.LoadBeside(t.Context(), all[1].plan, state, all[0].exe); err != nil {
		t.Fatal(err)
	}
	check := func(b *beside, name, when string) {
		if at := firstDifference(b.run(t), b.want[name]); at >= 0 {
			t.Errorf("%s, %s weights: output[%d] is not that of the plan alone", when, name, at)
		}
	}
	for _, name := range []string{"first", "second", "first"} {
		set(name)
		for range 2 {
			check(all[0], name, "by turns")
			check(all[1], name, "by turns, beside")
		}
	}
	all[0].exe.Close()
	check(all[1], "first", "after the other is closed")
	if _, err := be.LoadBeside(t.Context(), all[0].plan, state, all[0].exe); err == nil {
		t.Error("a plan is loaded beside a closed one")
	}
	all[1].exe.Close()
}

// run runs the plan on its input.
func (b *beside) run(t *testing.T) []float32 {
	t.Helper()
	in, _ := b.plan.Input("x")
	out, _ := b.plan.Output("y")
	b.exe.Write(in, b.x)
	if err := b.exe.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	y := make([]float32, b.plan.Buffers[out].Shape.Elements())
	b.exe.Read(out, y)
	return y
}
