package nn

import (
	"slices"

	"prismtop/sim/tensor"
)

// ConvAdam fuses Adam with the gradient of a convolution's weights, that of Conv2D or, if
// Transposed, of ConvTranspose2D: each part of the gradient is used as soon as it is
// computed and never stored. The results are those of the two separate operators.
//
// The step's time is that of Adam; a following GradientShare step takes that of the gradient.
// With GradInput, if the gradient is Outer, the step also computes the image's gradient from
// the weights before their update: one multiplication and one addition per loaded weight,
// which are not timed separately either. In: x, gy, lr (scalar), step (scalar), p, m, v, then
// vmax with AMSGrad, then with GradInput the weights in bfloat16 if the image's gradient is to be
// computed from these. Out: p, m, v, then vmax with AMSGrad (the same buffers), then gx with
// GradInput.
type ConvAdam struct {
	Stride, Pad int
	Transposed  bool
	GradInput   bool
	Update      Adam // neither under a Scaler nor with Decay
}

// GradientShare does no work: its time is the gradient's share of the preceding
// ConvAdam step, measured by clocks between the parts. It reads the operands of the
// gradient. In: x, gy. Out: nothing.
type GradientShare struct{ Conv ConvAdam }

// Outer reports whether the gradient is the product of a one-pixel image and gy,
// which costs one multiplication per weight and is not timed separately.
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

// The compiler knows the weights, which GradientShare does not read.
func (GradientShare) flops(_, _ []spec) int64 { return 0 }

// updates is the common part of the fused optimiser's steps.
type updates struct {
	rate, step BufferID
}

// updatesAtOnce emits the step counter's advance before the first gradient, if the optimiser
// is fused. It cannot be fused under a gradient scaler, which decides whether to take a step
// only once all gradients are known, nor with weight decay, which changes the gradient.
func (b *backward) updatesAtOnce(s *scaler) {
	if !b.c.options.FusedOptimizer || s != nil || b.c.options.Adam.Decay != 0 {
		return
	}
	rate, step := b.c.beginAdam(nil)
	b.fused = &updates{rate: rate, step: step}
}

// weight returns the parameter that a convolution reads as w, directly or converted,
// and that has no other reader; false if there is none.
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

// gradInputAtOnce emits the gradient of the weights, their update and the image's gradient as one
// step, and reports whether it could: one pass over the weights must be able to do all three with
// the same products as three steps.
func (b *backward) gradInputAtOnce(t *taped, gy BufferID, o ConvAdam) bool {
	if b.fused == nil || !b.wants(t.in[0]) || !b.outer(t, gy, o) {
		return false
	}
	o.GradInput = true
	return b.convAdam(t, gy, o)
}

// outer reports whether the gradient of the weights is an outer product whose only reader is their update.
func (b *backward) outer(t *taped, gy BufferID, o ConvAdam) bool {
	x, w := t.in[0], t.in[1]
	if !b.wants(w) || !o.Outer(b.shape(x)) || b.c.options.Products != Exact {
		return false
	}
	if _, value, ok := b.weight(w); !ok || value != w && b.spec(w).dtype != tensor.BFloat16 {
		return false
	}
	return slices.Equal(b.shape(gy)[2:], b.shape(w)[2:]) // without output padding
}

// factors marks the newest step's result, if it is an outer product that Adam is to multiply itself.
func (b *backward) factors(t *taped, gy BufferID, o ConvAdam) {
	c := b.c
	if !c.options.Factored || c.options.GradientsOnly || c.options.Adam.Decay != 0 || !b.outer(t, gy, o) {
		return
	}
	s := &c.plan.Steps[len(c.plan.Steps)-1]
	g := &c.plan.Buffers[s.Out[0]]
	s.Bytes -= g.Bytes()
	g.Factored = true
	s.Bytes += g.Stored()
	s.FLOPs = 0
}

// convAdam emits the gradient of the weights and their update as one step of a fused
// optimiser, and reports whether it could.
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
		if w := t.in[1]; w != value {
			in = append(in, w)
		}
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
