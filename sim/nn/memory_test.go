package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// span is a buffer's offset and the steps between which it holds values, counted
// here from the plan alone.
type span struct {
	name        string
	from, to    int64
	first, last int
}

func spans(p *nn.Plan) []span {
	all := make([]span, 0, len(p.Buffers))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Variable >= 0 {
			continue
		}
		s := span{b.Name, b.Offset, b.Offset + b.Bytes(), len(p.Steps), -1}
		if b.Pinned {
			s.first, s.last = 0, len(p.Steps)
		}
		for at, step := range p.Steps {
			for _, id := range append(append([]nn.BufferID{}, step.In...), step.Out...) {
				if id == nn.BufferID(i) {
					s.first, s.last = min(s.first, at), max(s.last, at)
				}
			}
		}
		all = append(all, s)
	}
	return all
}

// checkMemory checks properties of every plan: no two buffers that are alive
// together share a byte, offsets are aligned and inside the arena, and the
// categories add up.
func checkMemory(t *testing.T, p *nn.Plan) {
	t.Helper()
	all := spans(p)
	for i, a := range all {
		if a.last < 0 {
			t.Errorf("%q is never used", a.name)
		}
		if a.from%64 != 0 || a.from < 0 || a.to > p.ArenaBytes {
			t.Errorf("%q is at %d to %d of %d", a.name, a.from, a.to, p.ArenaBytes)
		}
		for _, b := range all[:i] {
			if a.first <= b.last && b.first <= a.last && a.from < b.to && b.from < a.to {
				t.Errorf("%q and %q share memory at the same time", a.name, b.name)
			}
		}
	}
	u, sum := p.ArenaUsage(), int64(0)
	for _, n := range u {
		sum += n
	}
	if sum != p.ArenaBytes {
		t.Errorf("categories %v sum to %d of %d bytes", u, sum, p.ArenaBytes)
	}
}

// randomGraph draws a network of some twenty operators over one image size.
func randomGraph(r *rand.Rand) (*nn.Graph, nn.Value) {
	g := newGraph()
	side := 6 + r.IntN(8)
	values := []nn.Value{g.Parameter("x0", tensor.Shape{1, 1 + r.IntN(4), side, side}, nn.Normal())}
	pick := func() nn.Value { return values[r.IntN(len(values))] }
	for i := range 12 + r.IntN(10) {
		x := pick()
		c := x.Shape()[1]
		name := string(rune('a' + i))
		g.Layer(fmt.Sprintf("layer %d", i/4), nn.PhaseForward)
		switch r.IntN(7) {
		case 0:
			x = g.Activation(x, nn.Sigmoid)
		case 1:
			x = g.Conv2D(x, g.Parameter(name, tensor.Shape{1 + r.IntN(5), c, 3, 3}, nn.FanInUniform(9*c)), nn.Value{}, 1, 1)
		case 2:
			out := 1 + r.IntN(5)
			w := g.Parameter(name, tensor.Shape{c, out, 3, 3}, nn.FanInUniform(9*out))
			x = g.ConvTranspose2D(x, w, g.Parameter(name+".b", tensor.Shape{out}, nn.Normal()), 1, 1, 0)
		case 3:
			x = g.BatchNorm(name, x, nn.BatchNormOptions{Eps: 1e-5, Momentum: 0.1, BatchStatistics: true})
		case 4:
			if y := pick(); y.Shape().Equal(x.Shape()) {
				x = g.Add(x, y)
			}
		case 5:
			x = g.Concat(x, pick())
		case 6:
			x = g.Place(g.Scale(x, 0.5), 1-r.IntN(3), 1-r.IntN(3), side, side)
		}
		if r.IntN(8) == 0 {
			g.Output(name, x)
		}
		values = append(values, x)
	}
	x := g.Concat(values[len(values)-1], values[0], pick())
	y := g.Conv2D(x, g.Parameter("head", tensor.Shape{1, x.Shape()[1], 3, 3}, nn.FanInUniform(9*x.Shape()[1])), nn.Value{}, 1, 1)
	m := g.Telescope(y, g.Input("mask", tensor.Shape{side, side}))
	return g, g.Loss(m, g.Input("target", tensor.Shape{1, 1, side, side}), nn.L2, true)
}

func TestNoTwoLiveBuffersShareMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		g, loss := randomGraph(r)
		for _, o := range []nn.Options{{Train: true}, {Train: true, AMP: tensor.Float16}, {AMP: tensor.BFloat16}} {
			p, err := nn.Compile(t.Context(), g, loss, o)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p)
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// The plan takes less than its buffers one beside the other, and cannot take
// less than the step that has most alive.
func TestPlanningSavesMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var arena, bound int64
	for range 50 {
		g, loss := randomGraph(r)
		p, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true})
		if err != nil {
			t.Fatal(err)
		}
		var sum, most int64
		all := spans(p)
		for at := range p.Steps {
			var alive int64
			for _, s := range all {
				if s.first <= at && at <= s.last {
					alive += (s.to - s.from + 63) / 64 * 64
				}
			}
			most = max(most, alive)
		}
		for _, s := range all {
			sum += s.to - s.from
		}
		if p.ArenaBytes >= sum || p.ArenaBytes < most {
			t.Errorf("arena of %d bytes: buffers sum to %d, at most %d are alive", p.ArenaBytes, sum, most)
		}
		arena, bound = arena+p.ArenaBytes, bound+most
	}
	if float64(arena) > 1.1*float64(bound) {
		t.Errorf("arenas are %.0f %% of what is alive at once", 100*float64(arena)/float64(bound))
	}
}

func TestUsageByCategory(t *testing.T) {
	m := nn.NewModel(nn.ModelOptions{AMSGrad: true})
	p := compile(t, m, nn.Options{Train: true, AMP: tensor.BFloat16})
	weights := int64(4 * (m.ParameterCount() + 2*2)) // and the statistics of two channels
	v := nn.VariableUsage(m.Variables())
	if v[nn.Weights] != weights || v[nn.Gradients] != int64(4*m.ParameterCount()) || v[nn.Moments] != int64(12*m.ParameterCount()+4) {
		t.Errorf("variables of %d parameters: %v", m.ParameterCount(), v)
	}
	u := p.ArenaUsage()
	if copies := int64(2 * (4*2*16 + 2*2*9 + 4*9)); u[nn.Weights] < copies {
		t.Errorf("weights take %d bytes of the arena, their 16-bit copies alone %d", u[nn.Weights], copies)
	}
	if inputs := int64(3*12*12*4 + 64); u[nn.Inputs] != inputs {
		t.Errorf("inputs take %d bytes, want %d", u[nn.Inputs], inputs)
	}
	if own := p.VariableUsage(m.Variables()); own != v {
		t.Errorf("a plan that stores all gradients uses %v of variables of %v", own, v)
	}
}
