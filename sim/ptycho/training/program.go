package training

import (
	"context"
	"fmt"

	"prismtop/profiles"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
)

// program is a plan loaded on the device.
type program struct {
	plan   *nn.Plan
	layers []profiles.Layer // its steps
	exe    nn.Executable
	fresh  bool // has not run yet: its first iteration is warm-up

	inputs map[string][]float32 // host memory of inputs that the device does not map
}

func load(ctx context.Context, plan *nn.Plan, backend nn.Backend, state nn.State) (*program, error) {
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	p := &program{plan: plan, exe: exe, fresh: true, inputs: map[string][]float32{}}
	for _, s := range plan.Steps {
		p.layers = append(p.layers, profiles.Layer{Name: s.Name, Phase: recordedPhases[s.Phase], FLOPs: s.FLOPs, Bytes: s.Bytes})
	}
	return p, nil
}

func (p *program) close() {
	if p != nil {
		p.exe.Close()
	}
}

// run executes a segment and adds the steps' times to their phases, unless that is nil.
func (p *program) run(ctx context.Context, s nn.Segment, phases *[profiles.MaxPhases]int64) error {
	if err := p.exe.Run(ctx, s); err != nil || phases == nil {
		return err
	}
	nanos := p.exe.StepNanos()
	for i := p.plan.Segments[s][0]; i < p.plan.Segments[s][1]; i++ {
		phases[p.layers[i].Phase] += nanos[i]
	}
	return nil
}

// target returns the memory to fill with an input: the device's own where it maps that;
// nil if the plan has no such input.
func (p *program) target(name string) []float32 {
	id, ok := p.plan.Input(name)
	if !ok {
		return nil
	}
	if own := p.exe.Map(id); own != nil {
		return own
	}
	if p.inputs[name] == nil {
		p.inputs[name] = make([]float32, p.plan.Buffers[id].Shape.Elements())
	}
	return p.inputs[name]
}

// feed writes a minibatch of groups to the inputs, and returns the least possible loss.
func (p *program) feed(g *groups, members []group) (least float64) {
	least = g.fill(members, p.target(ptycho.DiffractionInput), p.target(ptycho.CountsInput), p.target(ptycho.OffsetsInput))
	for name, filled := range p.inputs {
		p.write(name, filled)
	}
	return least
}

// write sets an input of the plan.
func (p *program) write(name string, values []float32) {
	if id, ok := p.plan.Input(name); ok {
		p.exe.Write(id, values)
	}
}

// loss reads the loss of the minibatch.
func (p *program) loss() float64 {
	var one [1]float32
	if id, ok := p.plan.Output(ptycho.LossOutput); ok {
		p.exe.Read(id, one[:])
	}
	return float64(one[0])
}

// elements returns the numbers of an output, two for a complex one.
func (p *program) elements(name string) (id nn.BufferID, n int) {
	id, _ = p.plan.Output(name)
	b := &p.plan.Buffers[id]
	return id, int(b.Bytes() / 4)
}
