package nntest

import (
	"testing"

	"prismtop/sim/nn"
)

// Program is a plan on a backend in a test, whose inputs and outputs have names. What fails ends the test.
type Program struct {
	Plan    *nn.Plan
	Backend nn.Backend
	State   nn.State
	Exe     nn.Executable

	t testing.TB
}

// Load loads a plan with a model's initial values until the test ends.
func Load(t testing.TB, backend nn.Backend, m *nn.Model, plan *nn.Plan) *Program {
	t.Helper()
	variables, err := m.InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := backend.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(state.Close)
	return LoadOn(t, backend, state, plan)
}

// LoadOn loads a plan on a state until the test ends.
func LoadOn(t testing.TB, backend nn.Backend, state nn.State, plan *nn.Plan) *Program {
	t.Helper()
	exe, err := backend.Load(t.Context(), plan, state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exe.Close)
	return &Program{plan, backend, state, exe, t}
}

// Run runs segments of the plan, all if none is named.
func (p *Program) Run(segments ...nn.Segment) {
	p.t.Helper()
	if len(segments) == 0 {
		for s := range nn.NumSegments {
			segments = append(segments, s)
		}
	}
	for _, s := range segments {
		if err := p.Exe.Run(p.t.Context(), s); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Write sets an input.
func (p *Program) Write(input string, values []float32) {
	p.t.Helper()
	id, ok := p.Plan.Input(input)
	if !ok {
		p.t.Fatalf("the plan has no input %s", input)
	}
	p.Exe.Write(id, values)
}

// Read returns an output, complex numbers as pairs.
func (p *Program) Read(output string) []float32 {
	p.t.Helper()
	id, ok := p.Plan.Output(output)
	if !ok {
		p.t.Fatalf("the plan has no output %s", output)
	}
	values := make([]float32, floatsOf(p.Plan.Buffers[id].Shape, p.Plan.Buffers[id].DType))
	p.Exe.Read(id, values)
	return values
}

// Scalar returns an output of one number.
func (p *Program) Scalar(output string) float64 {
	p.t.Helper()
	return float64(p.Read(output)[0])
}
