package im2im

import (
	"context"

	"prismtop/profiles"
	"prismtop/sim/cyto"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
)

// program is a learner of one training plan loaded on the device.
type program struct {
	*learning.Program

	image, target, rate nn.BufferID
	number              [1]float32
}

func load(ctx context.Context, plan *nn.Plan, m *Model) (*program, error) {
	loaded, err := learning.Load(ctx, plan, &recordedPhases, m.device.Backend, m.state)
	if err != nil {
		return nil, err
	}
	p := &program{Program: loaded}
	p.image, _ = plan.Input(cyto.ImageInput)
	p.target, _ = plan.Input(cyto.TargetInput)
	p.rate, _ = plan.Input(nn.LearningRateInput)
	return p, nil
}

func (p *program) close() { p.Close() }

func (p *program) begin(detail bool) bool { return p.Begin(detail) }

// write sets an input, in the device's own memory where it maps that.
func (p *program) write(id nn.BufferID, values []float32) {
	if own := p.Exe.Map(id); own != nil {
		copy(own, values)
		return
	}
	p.Exe.Write(id, values)
}

func (p *program) feed(images, targets []float32) {
	p.write(p.image, images)
	p.write(p.target, targets)
}

func (p *program) forward(ctx context.Context, phases *[profiles.MaxPhases]int64) (float64, error) {
	for _, segment := range []nn.Segment{nn.SegmentForward, nn.SegmentEvaluate} {
		if err := p.Run(ctx, segment, phases); err != nil {
			return 0, err
		}
	}
	return p.Scalar(cyto.LossOutput), nil
}

func (p *program) update(ctx context.Context, rate float64, phases *[profiles.MaxPhases]int64) error {
	p.number[0] = float32(rate)
	p.write(p.rate, p.number[:])
	return p.Run(ctx, nn.SegmentUpdate, phases)
}

func (p *program) steps() ([]profiles.Layer, []int64) { return p.Steps() }

func (p *program) memory(m *profiles.Memory, variables []nn.Variable) {
	addMemory(m, p.Plan, p.Exe.ScratchBytes(), variables, 1)
}
