package nn

import (
	"prismtop/profiles"
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

// newScaler makes the scaler's buffers and names its outputs; nil without
// float16, whose small range alone needs one.
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

// optimize emits Adam for the parameters, between the scaler's steps if there is one.
func (c *compiler) optimize(all []trained, s *scaler) {
	emit := func(layer string, op Op, in, out []BufferID) {
		c.step(c.name(layer, op.opName()), op, profiles.Optimizer, in, out)
	}
	rate := c.input(LearningRateInput, nil)
	step := c.variable(c.graph.model.step)
	advance := []BufferID{step}
	if s != nil {
		emit("overflow", Fill{}, nil, []BufferID{s.found})
		for _, p := range all {
			emit(p.name, Unscale{}, []BufferID{p.gradient, s.scale, s.found}, []BufferID{p.gradient, s.found})
		}
		advance = append(advance, s.found)
	}
	emit("", AdamStep{}, advance, []BufferID{step})
	adam := Adam{
		Beta1: c.options.Adam.Beta1, Beta2: c.options.Adam.Beta2, Eps: c.options.Adam.Eps,
		AMSGrad: c.graph.model.amsgrad, Scaler: s != nil,
	}
	for _, p := range all {
		out := []BufferID{p.value, c.variable(p.moment), c.variable(p.second)}
		if adam.AMSGrad {
			out = append(out, c.variable(p.vm))
		}
		in := append([]BufferID{p.gradient, rate, step}, out...)
		if s != nil {
			in = append(in, s.found)
		}
		emit(p.name, adam, in, out)
	}
	if s != nil {
		emit("", ScalerUpdate{Interval: scalerInterval}, []BufferID{s.found, s.scale, s.good}, []BufferID{s.scale, s.good})
	}
}
