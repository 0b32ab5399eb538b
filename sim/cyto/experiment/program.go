package experiment

import (
	"context"
	"fmt"

	"prismtop/profiles"
	"prismtop/sim/cyto"
	"prismtop/sim/nn"
)

// program is a training plan loaded on the device.
type program struct {
	plan   *nn.Plan
	layers []profiles.Layer // its steps
	exe    nn.Executable
	fresh  bool // has not run yet: its first iteration is warm-up

	image, target, rate, loss nn.BufferID
	number                    [1]float32
}

func load(ctx context.Context, plan *nn.Plan, m *Model) (*program, error) {
	exe, err := m.backend.Load(ctx, plan, m.state)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	p := &program{plan: plan, layers: layersOf(plan), exe: exe, fresh: true}
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

func (p *program) close() {
	if p != nil {
		p.exe.Close()
	}
}

// write sets an input, in the device's own memory where it maps that.
func (p *program) write(id nn.BufferID, values []float32) {
	if own := p.exe.Map(id); own != nil {
		copy(own, values)
		return
	}
	p.exe.Write(id, values)
}

// setRate sets the learning rate.
func (p *program) setRate(rate float64) {
	p.number[0] = float32(rate)
	p.write(p.rate, p.number[:])
}

// lossValue reads the loss of the batch.
func (p *program) lossValue() float64 {
	p.exe.Read(p.loss, p.number[:])
	return float64(p.number[0])
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
