package nn

import (
	"context"
	"fmt"

	"prismtop/sim/tensor"
)

// scalerInterval is the number of good steps after which PyTorch's gradient
// scaler doubles its factor (spec/prism.md §5.7).
const scalerInterval = 2000

// trained is a parameter with its gradient.
type trained struct {
	*parameter
	value, gradient BufferID
}

// scaler holds the buffers of the gradient scaler of a float16 plan.
type scaler struct{ scale, good, found BufferID }

// newScaler makes the scaler's buffers and names its outputs; it returns nil
// unless the type is float16, the only one whose range is small enough to need a
// scaler.
func (c *compiler) newScaler() *scaler {
	if c.options.AMP != tensor.Float16 {
		return nil
	}
	m := c.graph.model
	s := &scaler{scale: c.variable(m.scale), good: c.variable(m.good)}
	s.found = c.allocate(Buffer{Name: "overflow", Category: Scratch, Variable: -1})
	c.output(GradientScaleOutput, s.scale)
	c.output(OverflowOutput, s.found)
	return s
}

// emitOptimizer emits a step of the optimiser.
func (c *compiler) emitOptimizer(layer string, op Op, in, out []BufferID) {
	c.step(c.name(layer, op.opName()), op, PhaseOptimizer, in, out)
}

// beginAdam advances the step counter and returns the operands common to all
// updates.
func (c *compiler) beginAdam(s *scaler) (rate, step BufferID) {
	rate, step = c.input(LearningRateInput, spec{dtype: tensor.Float32}), c.variable(c.graph.model.step)
	advance := []BufferID{step}
	if s != nil {
		advance = append(advance, s.found)
	}
	c.emitOptimizer("", AdamStep{}, advance, []BufferID{step})
	return rate, step
}

// adam returns the operator with the plan's constants.
func (c *compiler) adam(scaler bool) Adam {
	o := c.options.Adam
	return Adam{Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, Decay: o.Decay, AMSGrad: c.graph.model.amsgrad,
		Scaler: scaler}
}

// adamState returns the variables of a parameter that Adam updates: its value and
// its moments.
func (c *compiler) adamState(p *parameter, value BufferID) []BufferID {
	state := []BufferID{value, c.variable(p.moment), c.variable(p.second)}
	if c.graph.model.amsgrad {
		state = append(state, c.variable(p.vm))
	}
	return state
}

// optimize emits Adam for the parameters, between the scaler's steps if there is one.
// begun means that updates were already emitted, and with them the step counter's
// advance.
func (c *compiler) optimize(all []trained, s *scaler, begun *updates) {
	emit := c.emitOptimizer
	if s != nil {
		emit("overflow", Fill{}, nil, []BufferID{s.found})
		for _, p := range all {
			emit(p.name, Unscale{}, []BufferID{p.gradient, s.scale, s.found}, []BufferID{p.gradient, s.found})
		}
	}
	var rate, step BufferID
	if begun != nil {
		rate, step = begun.rate, begun.step
	} else {
		rate, step = c.beginAdam(s)
	}
	adam := c.adam(s != nil)
	for _, p := range all {
		out := c.adamState(p.parameter, p.value)
		in := append([]BufferID{p.gradient, rate, step}, out...)
		if s != nil {
			in = append(in, s.found)
		}
		emit(p.name, adam, in, out)
		if g := &c.plan.Buffers[p.gradient]; g.Factored {
			c.plan.Steps[len(c.plan.Steps)-1].FLOPs += int64(g.Shape.Elements())
		}
	}
	if s != nil {
		emit("", ScalerUpdate{Interval: scalerInterval}, []BufferID{s.found, s.scale, s.good},
			[]BufferID{s.scale, s.good})
	}
}

// CompileOptimizer compiles a plan whose update segment is Adam for every parameter of a
// model, from the gradients in the model's variables: those that plans with
// Options.GradientsOnly store, or that the caller wrote. Its only input is
// LearningRateInput.
func CompileOptimizer(ctx context.Context, m *Model, o AdamOptions) (*Plan, error) {
	c := newCompiler(NewGraph(m), Options{Adam: o.orDefault()})
	var all []trained
	for _, p := range m.params {
		all = append(all, trained{parameter: p, value: c.variable(p.value), gradient: c.variable(p.grad)})
	}
	c.optimize(all, nil, nil)
	c.plan.Segments[SegmentUpdate] = [2]int{0, len(c.plan.Steps)}
	if err := c.plan.planMemory(ctx); err != nil {
		return nil, fmt.Errorf("compile the optimiser: %w", err)
	}
	return c.plan, nil
}

// The optimiser's operators occur in no graph; the compiler adds them.

func (Seed) flops(in, _ []spec) int64        { return int64(len(in)) }
func (Unscale) flops(in, _ []spec) int64     { return in[0].elements() }
func (AdamStep) flops(_, _ []spec) int64     { return 1 }
func (ScalerUpdate) flops(_, _ []spec) int64 { return 2 }
func (o Adam) flops(in, _ []spec) int64 {
	perElement := int64(13) // moments 7, corrections 2, root, sum, quotient and update
	if o.AMSGrad {
		perElement++
	}
	if o.Decay != 0 {
		perElement += 2
	}
	return perElement * in[0].elements()
}
