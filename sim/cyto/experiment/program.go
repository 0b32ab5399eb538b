package experiment

import (
	"context"
	"fmt"

	"prismtop/profiles"
	"prismtop/sim/cyto"
	"prismtop/sim/nn"
)

// program is a learner of one training plan loaded on the device.
type program struct {
	plan   *nn.Plan
	layers []profiles.Layer // its steps
	exe    nn.Executable

	image, target, rate, loss nn.BufferID
	number                    [1]float32
}

func load(ctx context.Context, plan *nn.Plan, m *Model) (*program, error) {
	exe, err := m.backend.Load(ctx, plan, m.state)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	p := &program{plan: plan, layers: layersOf(plan), exe: exe}
	p.image, _ = plan.Input(cyto.ImageInput)
	p.target, _ = plan.Input(cyto.TargetInput)
	p.rate, _ = plan.Input(nn.LearningRateInput)
	p.loss, _ = plan.Output(cyto.LossOutput)
	return p, nil
}

// layersOf describes the steps of a plan.
func layersOf(plan *nn.Plan) (all []profiles.Layer) {
	for i := range plan.Steps {
		s := &plan.Steps[i]
		all = append(all, profiles.Layer{Name: s.Name, Phase: recordedPhases[s.Phase], FLOPs: s.FLOPs, Bytes: s.Bytes})
	}
	return all
}

func (p *program) close() { p.exe.Close() }

// write sets an input, in the device's own memory where it maps that.
func (p *program) write(id nn.BufferID, values []float32) {
	if own := p.exe.Map(id); own != nil {
		copy(own, values)
		return
	}
	p.exe.Write(id, values)
}

func (p *program) feed(images, targets []float32) {
	p.write(p.image, images)
	p.write(p.target, targets)
}

func (p *program) forward(ctx context.Context, phases *[profiles.MaxPhases]int64) (float64, error) {
	for _, segment := range []nn.Segment{nn.SegmentForward, nn.SegmentEvaluate} {
		if err := p.run(ctx, segment, phases); err != nil {
			return 0, err
		}
	}
	p.exe.Read(p.loss, p.number[:])
	return float64(p.number[0]), nil
}

func (p *program) update(ctx context.Context, rate float64, phases *[profiles.MaxPhases]int64) error {
	p.number[0] = float32(rate)
	p.write(p.rate, p.number[:])
	return p.run(ctx, nn.SegmentUpdate, phases)
}

// run executes a segment and adds the steps' times to their phases, unless that is nil.
func (p *program) run(ctx context.Context, s nn.Segment, phases *[profiles.MaxPhases]int64) error {
	err := p.exe.Run(ctx, s)
	if err == nil && phases != nil {
		add(phases, p.plan, p.layers, p.exe.StepNanos(), s)
	}
	return err
}

func (p *program) steps() ([]profiles.Layer, []int64) { return p.layers, p.exe.StepNanos() }

func (p *program) memory(m *profiles.Memory, variables []nn.Variable) {
	addMemory(m, p.plan, p.exe.ScratchBytes(), variables, 1)
}
