package against

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// steps runs a plan step by step on the reference, and every step that was not compared yet on the candidate, with the
// same operands.
func (c *comparison) steps(ctx context.Context, p *problem, plan *nn.Plan, mode string) error {
	values := make([][]float32, len(plan.Buffers))
	for i := range plan.Buffers {
		b := &plan.Buffers[i]
		values[i] = make([]float32, floats(b))
		if b.Variable >= 0 {
			copy(values[i], p.variables[b.Variable].Initial)
		}
	}
	for name, input := range p.inputs {
		if id, ok := plan.Input(name); ok {
			copy(values[id], input)
		}
	}
	private := map[nn.BufferID][]float32{} // of the candidate
	for i := range plan.Steps {
		step := &plan.Steps[i]
		switch step.Op.(type) {
		case nn.MeasureShare, nn.GradientShare: // no work
			continue
		}
		exact := *step
		if exact.Products == nn.TF32 { // which the processor does not have
			exact.Products = nn.Exact
		}
		want, err := single(ctx, c.reference, plan, &exact, values)
		if err != nil {
			return fmt.Errorf("%s on %s: %w", step.Name, c.reference.Name(), err)
		}
		compared := len(step.Out)
		if hasPrivate(step.Op) {
			compared--
		}
		if key := keyOf(plan, step); !c.seen[key] || compared < len(step.Out) {
			own := values
			if len(private) > 0 {
				own = slices.Clone(values)
				for id, x := range private {
					own[id] = x
				}
			}
			got, err := single(ctx, c.candidate, plan, step, own)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			worst := -1.0
			if err == nil {
				worst = 0
				for o := range want[:compared] {
					if d := distance(got[o], want[o]); !(d <= worst) {
						worst = d
					}
				}
				for o := compared; o < len(got); o++ {
					private[step.Out[o]] = got[o]
				}
			}
			if !c.seen[key] {
				c.add(step, mode, step.Name+" "+p.name, worst, err)
			}
			c.seen[key] = true
			if err := c.lost(err); err != nil {
				return err
			}
		}
		for o, id := range step.Out {
			copy(values[id], want[o])
		}
	}
	return nil
}

// hasPrivate reports whether the last result of an operator is what a backend keeps for the gradient, in a form of its
// own.
func hasPrivate(op nn.Op) bool {
	switch op.(type) {
	case nn.Loss, nn.Measure, nn.Amplitudes:
		return true
	}
	return false
}

// add adds the result of a step to that of its operator.
func (c *comparison) add(step *nn.Step, mode, at string, worst float64, err error) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", step.Op), "nn.")
	var o *Operator
	for i := range c.report.Operators {
		if have := &c.report.Operators[i]; have.Name == name && have.Mode == mode {
			o = have
		}
	}
	if o == nil {
		c.report.Operators = append(c.report.Operators, Operator{Name: name, Mode: mode, Limit: modes[mode].step,
			OK: true})
		o = &c.report.Operators[len(c.report.Operators)-1]
	}
	o.Steps++
	if err != nil {
		if o.OK = false; o.Error == "" {
			o.Error, o.Worst, o.At = err.Error(), -1, at
		}
		return
	}
	if o.Error == "" && !(worst <= o.Worst) || o.At == "" {
		o.Worst, o.At = worst, at
	}
	o.OK = o.OK && worst <= o.Limit
}

// keyOf tells steps apart that a backend may compute by different kernels.
func keyOf(plan *nn.Plan, step *nn.Step) string {
	key := fmt.Sprintf("%T %+v %v", step.Op, step.Op, step.Products)
	for _, ids := range [][]nn.BufferID{step.In, step.Out} {
		for _, id := range ids {
			key += fmt.Sprint(" ", plan.Buffers[id].Shape, plan.Buffers[id].DType)
		}
	}
	return key
}

// single runs one step of a plan and returns its results.
func single(ctx context.Context, b nn.Backend, plan *nn.Plan, step *nn.Step, values [][]float32) ([][]float32, error) {
	one := &nn.Plan{}
	at := map[nn.BufferID]nn.BufferID{}
	place := func(ids []nn.BufferID) []nn.BufferID {
		placed := make([]nn.BufferID, len(ids))
		for i, id := range ids {
			to, ok := at[id]
			if !ok {
				buffer := plan.Buffers[id]
				buffer.Variable, buffer.Offset, buffer.Pinned = -1, one.ArenaBytes, true
				one.ArenaBytes += (buffer.Bytes() + 63) &^ 63
				to = nn.BufferID(len(one.Buffers))
				one.Buffers, at[id] = append(one.Buffers, buffer), to
			}
			placed[i] = to
		}
		return placed
	}
	own := *step
	own.In, own.Out = place(step.In), place(step.Out)
	one.Steps = []nn.Step{own}
	for s := range one.Segments {
		one.Segments[s] = [2]int{1, 1}
	}
	one.Segments[nn.SegmentForward] = [2]int{0, 1}
	state, err := b.NewState(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	exe, err := b.Load(ctx, one, state)
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	for id, to := range at {
		exe.Write(to, values[id])
	}
	if err := exe.Run(ctx, nn.SegmentForward); err != nil {
		return nil, err
	}
	out := make([][]float32, len(step.Out))
	for i, id := range step.Out {
		out[i] = make([]float32, len(values[id]))
		exe.Read(at[id], out[i])
	}
	if f, ok := b.(nn.Fallible); ok {
		return out, f.Failure()
	}
	return out, nil
}

// floats returns the numbers that hold a buffer's elements.
func floats(b *nn.Buffer) int {
	if b.DType == tensor.Complex64 {
		return 2 * b.Shape.Elements()
	}
	return b.Shape.Elements()
}
