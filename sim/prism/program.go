package prism

import (
	"context"
	"fmt"

	"prismtop/profiles"
	"prismtop/sim/nn"
)

// programKind names the plans that a reconstruction trains with.
type programKind uint8

const (
	initialisationProgram programKind = iota
	firstSampleProgram
	progressiveProgram
)

// program is a plan loaded on the device, with the buffers that the loop reads
// and writes at hand.
type program struct {
	kind   programKind
	plan   *nn.Plan
	layers []profiles.Layer // its steps
	exe    nn.Executable
	fresh  bool // has not run yet: its first iteration is warm-up
	fed    bool // targets and masks are written

	reconstruction, lossOld, lossNew nn.BufferID
	hasLossOld                       bool
	scale, overflow                  nn.BufferID
	scaled                           bool // has a gradient scaler

	number [1]float32 // a scalar on its way to or from the device
}

func loadProgram(ctx context.Context, kind programKind, d *Decoder, o PlanOptions, backend nn.Backend, state nn.State) (*program, error) {
	compile := map[programKind]func(context.Context, PlanOptions) (*nn.Plan, error){
		initialisationProgram: d.InitialisationPlan,
		firstSampleProgram:    d.FirstSamplePlan,
		progressiveProgram:    d.ProgressivePlan,
	}[kind]
	plan, err := compile(ctx, o)
	if err != nil {
		return nil, err
	}
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	p := &program{kind: kind, plan: plan, layers: layersOf(plan), exe: exe, fresh: true}
	p.reconstruction, _ = plan.Output(ReconstructionOutput)
	p.lossNew, _ = plan.Output(LossNewOutput)
	p.lossOld, p.hasLossOld = plan.Output(LossOldOutput)
	p.scale, p.scaled = plan.Output(nn.GradientScaleOutput)
	p.overflow, _ = plan.Output(nn.OverflowOutput)
	return p, nil
}

func (p *program) close() { p.exe.Close() }

// run executes a segment and adds the steps' times to their phases, if there are any.
func (p *program) run(ctx context.Context, s nn.Segment, phases *[profiles.MaxPhases]int64) error {
	if err := p.exe.Run(ctx, s); err != nil {
		return err
	}
	if phases == nil {
		return nil
	}
	nanos := p.exe.StepNanos()
	for i := p.plan.Segments[s][0]; i < p.plan.Segments[s][1]; i++ {
		phases[RecordedPhase(p.plan.Steps[i].Phase)] += nanos[i]
	}
	return nil
}

// write sets an input of the plan; a plan without it has no use for it.
func (p *program) write(name string, values []float32) {
	if id, ok := p.plan.Input(name); ok {
		p.exe.Write(id, values)
	}
}

// target is where an input of the plan is to be written: its own memory where the
// device has that, else instead; nil where the plan has no use for it. Filled, it is
// handed over by deliver.
func (p *program) target(name string, instead []float32) []float32 {
	id, ok := p.plan.Input(name)
	if !ok {
		return nil
	}
	if own := p.exe.Map(id); own != nil {
		return own
	}
	return instead
}

// deliver gives the plan an input that was written where target said.
func (p *program) deliver(name string, filled []float32) {
	if id, ok := p.plan.Input(name); ok && p.exe.Map(id) == nil {
		p.exe.Write(id, filled)
	}
}

// keep copies an input from the plan's memory, where that is the only place it is.
func (p *program) keep(name string, to []float32) {
	if id, ok := p.plan.Input(name); ok {
		copy(to, p.exe.Map(id))
	}
}

// writeScalar sets a scalar input.
func (p *program) writeScalar(name string, value float64) {
	p.number[0] = float32(value)
	p.write(name, p.number[:])
}

// scalar reads a scalar output.
func (p *program) scalar(id nn.BufferID) float64 {
	p.exe.Read(id, p.number[:])
	return float64(p.number[0])
}

// memory is what the program and the model's variables take.
func (p *program) memory(variables []nn.Variable) profiles.Memory {
	u, own := p.plan.VariableUsage(variables), p.plan.ArenaUsage()
	return profiles.Memory{Parts: [profiles.MaxMemory]int64{
		MemoryWeights: u[nn.Weights], MemoryGradients: u[nn.Gradients], MemoryMoments: u[nn.Moments],
		MemoryActivations: p.plan.ArenaBytes - own[nn.Inputs] - own[nn.Scratch],
		MemoryInputs:      own[nn.Inputs],
		MemoryScratch:     u[nn.Scratch] + own[nn.Scratch] + p.exe.ScratchBytes(),
	}}
}
