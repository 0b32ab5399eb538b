package nn

import (
	"slices"

	"prismtop/sim/tensor"
)

// ConvAdam is Adam of a convolution's weights together with their gradient, that of
// Conv2D or, Transposed, of ConvTranspose2D: a part of the gradient is used as soon as it is
// computed and kept by nobody. The numbers are those of the two operators in turn.
//
// The step's time is that of Adam; a GradientShare step after it has the gradient's.
// With GradInput, where the gradient is Outer, the step also gives the image's gradient, from
// the weights before their update: a multiplication and an addition for each while it is at
// hand, which have no time of their own either.
// In: x, gy, lr (scalar), step (scalar), p, m, v, then vmax with AMSGrad. Out: p, m, v,
// then vmax with AMSGrad (the same buffers), then gx with GradInput.
type ConvAdam struct {
	Stride, Pad int
	Transposed  bool
	GradInput   bool
	Update      Adam // without a Scaler
}

// GradientShare does no work: its time is what the ConvAdam step before it took for the
// gradient, by clocks between the parts. It reads what the gradient is computed from.
// In: x, gy. Out: nothing.
type GradientShare struct{ Conv ConvAdam }

// Outer tells whether the gradient is the product of an image of one pixel and gy,
// which costs a multiplication for each weight and has no time of its own.
func (o ConvAdam) Outer(x tensor.Shape) bool {
	return len(x) == 4 && x.Elements() == x[1] && o.Transposed && o.Pad == 0
}

func (o ConvAdam) gradient() Op {
	if o.Transposed {
		return ConvTranspose2DGradWeight{o.Stride, o.Pad}
	}
	return Conv2DGradWeight{o.Stride, o.Pad}
}

func (o ConvAdam) opName() string {
	if o.GradInput {
		return "convT dX+dW+Adam"
	}
	return o.gradient().opName() + "+Adam"
}

func (o GradientShare) opName() string { return o.Conv.gradient().opName() }

func (o ConvAdam) flops(in, _ []spec) int64 {
	n := o.Update.flops([]spec{in[4]}, nil)
	if o.Outer(in[0].shape) {
		n += in[4].elements()
	}
	if o.GradInput {
		n += 2 * in[4].elements()
	}
	return n
}

// The compiler knows the weights, which a share does not read.
func (GradientShare) flops(_, _ []spec) int64 { return 0 }

// updates is what the fused optimiser's steps have in common.
type updates struct {
	rate, step BufferID
}

// updatesAtOnce emits the step counter's advance before the first gradient, where the
// optimiser is fused. Under a gradient scaler it cannot be: whether a step is taken is known
// when all gradients are.
func (b *backward) updatesAtOnce(s *scaler) {
	if !b.c.options.FusedOptimizer || s != nil {
		return
	}
	rate, step := b.c.beginAdam(nil)
	b.fused = &updates{rate: rate, step: step}
}

// weight is the parameter that a convolution reads as w, itself or converted, and that
// nobody else reads; false where there is none such.
func (b *backward) weight(w BufferID) (p *parameter, value BufferID, ok bool) {
	c, value := b.c, w
	for cast, to := range c.casts {
		if to == w {
			value = cast.from
		}
	}
	for v, x := range c.graph.values {
		if id, used := c.buffers[v]; used && id == value && x.source == fromParameter {
			p = x.parameter
		}
	}
	if p == nil {
		return nil, 0, false
	}
	readers := 0
	for _, n := range c.nodes {
		for _, v := range n.in {
			if c.graph.values[v].parameter == p {
				readers++
			}
		}
	}
	return p, value, readers == 1
}

// gradInputAtOnce emits a weight's gradient and its update in one step with the image's gradient,
// and tells whether it could: where one pass over the weights can do all three with the
// products of three steps.
func (b *backward) gradInputAtOnce(t *taped, gy BufferID, o ConvAdam) bool {
	x, w := t.in[0], t.in[1]
	if b.fused == nil || !b.wants(x) || !b.wants(w) || !o.Outer(b.shape(x)) || b.c.options.Products != Exact {
		return false
	}
	if _, value, ok := b.weight(w); !ok || value != w {
		return false // the image's gradient is that of rounded weights
	}
	if !slices.Equal(b.shape(gy)[2:], b.shape(w)[2:]) {
		return false // with output padding
	}
	o.GradInput = true
	return b.convAdam(t, gy, o)
}

// convAdam emits a weight's gradient and its update in one step of a fused optimiser, and
// tells whether it could.
func (b *backward) convAdam(t *taped, gy BufferID, o ConvAdam) bool {
	p, value, ok := b.weight(t.in[1])
	if !ok {
		return false
	}
	c := b.c
	o.Update = c.adam(false)
	out := c.adamState(p, value)
	in := append([]BufferID{t.in[0], gy, b.fused.rate, b.fused.step}, out...)
	name := c.name(t.layer, o.opName())
	if o.GradInput {
		x := t.in[0]
		s := b.like(x)
		gx := c.allocate(Buffer{Name: name, Shape: s.shape, DType: s.dtype, Category: Gradients, Variable: -1})
		out = append(out, gx)
		b.give(x, gx)
	}
	c.step(name, o, PhaseOptimizer, in, out)
	if o.Outer(b.shape(t.in[0])) {
		return true
	}
	share := GradientShare{o}
	c.step(c.name(t.layer, share.opName()), share, PhaseBackward, in[:2:2], nil)
	image := b.c.spec(t.in[0])
	if !o.Transposed {
		image = b.c.spec(gy)
	}
	c.plan.Steps[len(c.plan.Steps)-1].FLOPs = kernelFLOPs(image, b.c.spec(value))
	return true
}
