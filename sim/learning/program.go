package learning

import (
	"context"
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// Phases maps the phases of a plan's steps to those of a workload's records.
type Phases = [nn.NumPhases]profiles.Phase

// Program is a plan loaded on a device.
type Program struct {
	Plan   *nn.Plan
	Layers []profiles.Layer // its steps
	Exe    nn.Executable

	detailer nn.Detailer // of a device that computes beside the host; else nil
	runs     int64       // iterations so far
	detailed bool        // the newest iteration times every step
}

// Load loads a plan, whose steps count to the phases.
func Load(ctx context.Context, plan *nn.Plan, phases *Phases, backend nn.Backend, state nn.State) (*Program, error) {
	// which Go's runtime does not survive
	if need, has := plan.ArenaBytes, machine.ReadMemory().Allowed(); has > 0 && need > has &&
		!workload.OwnMemory(backend) {
		return nil, fmt.Errorf("load plan: needs %s of memory, this machine has %s: the batch must be smaller",
			unit.Size(need), unit.Size(has))
	}
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	p := &Program{Plan: plan, Layers: LayersOf(plan, phases), Exe: exe}
	p.detailer, _ = exe.(nn.Detailer)
	return p, nil
}

// LayersOf describes the steps of a plan.
func LayersOf(plan *nn.Plan, phases *Phases) []profiles.Layer {
	all := make([]profiles.Layer, len(plan.Steps))
	for i := range plan.Steps {
		s := &plan.Steps[i]
		all[i] = profiles.Layer{Name: s.Name, Phase: phases[s.Phase], FLOPs: s.FLOPs, Bytes: s.Bytes}
	}
	return all
}

// AddTimes adds the times in nanoseconds of a segment's steps to their phases.
func AddTimes(to *[profiles.MaxPhases]int64, plan *nn.Plan, layers []profiles.Layer, nanos []int64, s nn.Segment) {
	for i := plan.Segments[s][0]; i < plan.Segments[s][1]; i++ {
		to[layers[i].Phase] += nanos[i]
	}
}

// Close frees the plan. It does nothing for nil.
func (p *Program) Close() {
	if p != nil {
		p.Exe.Close()
	}
}

// Begin begins an iteration. On a device that computes beside the host, some time every step, where that is wanted; it
// returns whether this one does, and takes longer than others.
func (p *Program) Begin(wanted bool) (slower bool) {
	if p.detailer == nil {
		return false
	}
	p.detailed = wanted && Detailed(p.runs)
	p.detailer.Detail(p.detailed)
	p.runs++
	return p.detailed
}

// Run executes a segment and adds the steps' times to their phases, unless that is nil. It waits for the device.
func (p *Program) Run(ctx context.Context, s nn.Segment, phases *[profiles.MaxPhases]int64) error {
	err := p.Exe.Run(ctx, s)
	if err == nil && p.detailer != nil {
		err = p.detailer.Settle(ctx)
	}
	if err == nil && phases != nil {
		AddTimes(phases, p.Plan, p.Layers, p.Exe.StepNanos(), s)
	}
	return err
}

// Steps returns the steps and the nanoseconds each took when it ran last; none if the
// newest iteration did not time every step.
func (p *Program) Steps() ([]profiles.Layer, []int64) {
	if p.detailer != nil && !p.detailed {
		return nil, nil
	}
	return p.Layers, p.Exe.StepNanos()
}

// Scalar reads a scalar output of float32.
func (p *Program) Scalar(name string) float64 {
	var one [1]float32
	if id, ok := p.Plan.Output(name); ok {
		p.Exe.Read(id, one[:])
	}
	return float64(one[0])
}
