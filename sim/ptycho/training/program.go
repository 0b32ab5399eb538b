package training

import (
	"context"

	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
)

// program is a plan loaded on the device.
type program struct {
	*learning.Program
	fresh bool // has not run yet: its first iteration is warm-up

	inputs map[string][]float32 // host memory of inputs that the device does not map
}

func load(ctx context.Context, plan *nn.Plan, backend nn.Backend, state nn.State) (*program, error) {
	loaded, err := learning.Load(ctx, plan, &recordedPhases, backend, state)
	if err != nil {
		return nil, err
	}
	return &program{Program: loaded, fresh: true, inputs: map[string][]float32{}}, nil
}

func (p *program) close() {
	if p != nil {
		p.Close()
	}
}

// target returns the memory to fill with an input: the device's own where it maps that;
// nil if the plan has no such input.
func (p *program) target(name string) []float32 {
	id, ok := p.Plan.Input(name)
	if !ok {
		return nil
	}
	if own := p.Exe.Map(id); own != nil {
		return own
	}
	if p.inputs[name] == nil {
		p.inputs[name] = make([]float32, p.Plan.Buffers[id].Shape.Elements())
	}
	return p.inputs[name]
}

// feed writes a minibatch of groups to the inputs, and returns the least possible loss.
func (p *program) feed(g *groups, members []group) (least float64) {
	least = g.fill(members, p.target(ptycho.DiffractionInput), p.target(ptycho.CountsInput),
		p.target(ptycho.OffsetsInput))
	for name, filled := range p.inputs {
		p.write(name, filled)
	}
	return least
}

// write sets an input of the plan.
func (p *program) write(name string, values []float32) {
	if id, ok := p.Plan.Input(name); ok {
		p.Exe.Write(id, values)
	}
}

// elements returns the numbers of an output, two for a complex one.
func (p *program) elements(name string) (id nn.BufferID, n int) {
	id, _ = p.Plan.Output(name)
	b := &p.Plan.Buffers[id]
	return id, int(b.Bytes() / 4)
}
