package prism

import (
	"context"
	"fmt"

	"prismtop/profiles"
	"prismtop/sim/nn"
)

// programKind identifies the training plans of a reconstruction.
type programKind uint8

const (
	initialisationProgram programKind = iota
	firstSampleProgram
	progressiveProgram
)

// program is a plan loaded on the device, with the buffers that the loop reads
// and writes.
type program struct {
	kind   programKind
	plan   *nn.Plan
	layers []profiles.Layer // its steps
	exe    nn.Executable
	fresh  bool // has not run yet: its first iteration is warm-up
	fed    bool // targets and masks are written
	passed bool // the device has the output of a complete forward pass

	reconstruction, lossOld, lossNew nn.BufferID
	hasLossOld                       bool
	scale, overflow                  nn.BufferID
	scaled                           bool // has a gradient scaler
	unread                           bool // the scaler of the newest update was not read yet

	number [1]float32 // for copying a scalar to or from the device

	detailer nn.Detailer // of a device that computes beside the host; else nil
	runs     int64       // iterations so far
	detailed bool        // the newest iteration timed every step
	ran      [nn.NumSegments]bool
}

// detailEvery is the number of iterations from one that times every step to the next, on a device where that takes
// longer than an iteration; the first of them is detailFirst.
const (
	detailEvery = 50
	detailFirst = 10
)

func loadProgram(ctx context.Context, kind programKind, d *Decoder, o PlanOptions, backend nn.Backend,
	state nn.State) (*program, error) {
	compile := map[programKind]func(context.Context, PlanOptions) (*nn.Plan, error){
		initialisationProgram: d.InitialisationPlan,
		firstSampleProgram:    d.FirstSamplePlan,
		progressiveProgram:    d.ProgressivePlan,
	}[kind]
	_, o.Factored = backend.(nn.Factoring)
	plan, err := compile(ctx, o)
	if err != nil {
		return nil, err
	}
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		return nil, &deviceError{fmt.Errorf("load plan: %w", err)}
	}
	p := &program{kind: kind, plan: plan, layers: layersOf(plan, exe), exe: exe, fresh: true}
	p.reconstruction, _ = plan.Output(ReconstructionOutput)
	p.lossNew, _ = plan.Output(LossNewOutput)
	p.lossOld, p.hasLossOld = plan.Output(LossOldOutput)
	p.scale, p.scaled = plan.Output(nn.GradientScaleOutput)
	p.overflow, _ = plan.Output(nn.OverflowOutput)
	p.detailer, _ = exe.(nn.Detailer)
	return p, nil
}

func (p *program) close() { p.exe.Close() }

// begin begins an iteration. With detail, some time every step; it returns whether this one does.
func (p *program) begin(detail bool) (detailed bool) {
	p.ran = [nn.NumSegments]bool{}
	p.detailed = p.detailer == nil
	if p.detailer != nil {
		p.detailed = detail && p.runs%detailEvery == detailFirst
		p.detailer.Detail(p.detailed)
		detailed = p.detailed
	}
	p.runs++
	return detailed
}

// run executes a segment.
func (p *program) run(ctx context.Context, s nn.Segment) error {
	err := p.exe.Run(ctx, s)
	p.ran[s] = err == nil
	return err
}

// account adds the times of the steps of the iteration's segments to their phases. On a device that computes beside the
// host, those of a segment that has not ended are of the iteration before.
func (p *program) account(ctx context.Context, phases *[profiles.MaxPhases]int64) error {
	if p.detailer != nil && p.detailed {
		if err := p.detailer.Settle(ctx); err != nil {
			return err
		}
	}
	nanos := p.exe.StepNanos()
	for s, ran := range p.ran {
		if !ran {
			continue
		}
		for i := p.plan.Segments[s][0]; i < p.plan.Segments[s][1]; i++ {
			phases[RecordedPhase(p.plan.Steps[i].Phase)] += nanos[i]
		}
	}
	return nil
}

// steps returns the steps of the plan and the time of each in the newest iteration; none if they were not timed.
func (p *program) steps() ([]profiles.Layer, []int64) {
	if !p.detailed {
		return nil, nil
	}
	return p.layers, p.exe.StepNanos()
}

// write sets an input of the plan; it does nothing if the plan has no such input.
func (p *program) write(name string, values []float32) {
	if id, ok := p.plan.Input(name); ok {
		p.exe.Write(id, values)
	}
}

// target returns the slice to fill with an input of the plan: the input's own memory
// if the device maps it, else instead; nil if the plan has no such input. deliver
// then hands it over.
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

// deliver passes an input written to the slice from target to the plan.
func (p *program) deliver(name string, filled []float32) {
	if id, ok := p.plan.Input(name); ok && p.exe.Map(id) == nil {
		p.exe.Write(id, filled)
	}
}

// keep copies an input from the plan's memory, if that holds the only copy.
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

// memory returns the memory of the program and the model's variables.
func (p *program) memory(variables []nn.Variable) profiles.Memory {
	return memoryOf(p.plan, variables, p.exe.ScratchBytes())
}

// recordedPhases maps the phases of a plan's steps to the phases of a record.
var recordedPhases = [nn.NumPhases]profiles.Phase{
	nn.PhaseForward:   PhaseForward,
	nn.PhaseTelescope: PhaseTelescope,
	nn.PhaseLoss:      PhaseLoss,
	nn.PhaseBackward:  PhaseBackward,
	nn.PhaseOptimizer: PhaseOptimizer,
}

// RecordedPhase returns the phase of a record to which a step's time counts.
func RecordedPhase(p nn.Phase) profiles.Phase { return recordedPhases[p] }
