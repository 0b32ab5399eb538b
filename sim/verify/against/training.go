package against

import (
	"context"
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// drift is how far losses may be apart after the first: the first steps of Adam move every weight by the learning
// rate, in the direction of its gradient's sign, which rounding decides where the gradient is nearly zero.
const drift = 0.03

// train compares whole iterations in a mode with those of the reference in float32.
func (c *comparison) train(ctx context.Context, p *problem, name string) error {
	if c.options.Iterations == 0 {
		return nil
	}
	m := modes[name]
	want, err := c.losses(ctx, c.reference, p, variants(modes["off"])[0])
	if err != nil {
		return fmt.Errorf("training on %s: %w", c.reference.Name(), err)
	}
	t := Training{Size: p.size, Mode: name, Iterations: c.options.Iterations, Worst: -1, Limit: max(m.loss, drift),
		FirstLimit: m.loss}
	var curves [2][]float32
	for i := range curves {
		if err == nil {
			curves[i], err = c.losses(ctx, c.candidate, p, variants(m)[0])
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		t.Error = err.Error()
		c.report.Trainings = append(c.report.Trainings, t)
		return c.lost(err)
	}
	t.Worst, t.Repeats = 0, true
	for i, w := range want {
		got := curves[0][i]
		if d := math.Abs(float64(got-w)) / math.Abs(float64(w)); !(d <= t.Worst) {
			t.Worst = d
		}
		if i == 0 {
			t.First = t.Worst
		}
		t.Repeats = t.Repeats && math.Float32bits(got) == math.Float32bits(curves[1][i])
	}
	t.OK = t.First <= t.FirstLimit && t.Worst <= t.Limit && t.Repeats
	c.report.Trainings = append(c.report.Trainings, t)
	return nil
}

// losses trains from the first weights and returns the loss of each iteration.
func (c *comparison) losses(ctx context.Context, b nn.Backend, p *problem, o prism.PlanOptions) ([]float32, error) {
	plan, err := p.decoder.ProgressivePlan(ctx, o)
	if err != nil {
		return nil, err
	}
	state, err := b.NewState(ctx, p.variables)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	exe, err := b.Load(ctx, plan, state)
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	for name, values := range p.inputs {
		if id, ok := plan.Input(name); ok {
			exe.Write(id, values)
		}
	}
	id, _ := plan.Output(prism.LossOutput)
	losses := make([]float32, c.options.Iterations)
	for i := range losses {
		for s := range nn.NumSegments {
			if err := exe.Run(ctx, s); err != nil {
				return nil, err
			}
			if s == nn.SegmentEvaluate {
				exe.Read(id, losses[i:i+1])
			}
		}
	}
	if f, ok := b.(nn.Fallible); ok {
		return losses, f.Failure()
	}
	return losses, nil
}
