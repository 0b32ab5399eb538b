package cpu

import (
	"errors"
	"fmt"
	"slices"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The operands of a step: its inputs and outputs in the type that a kernel needs, checked, and casts of variables.

var errOperands = errors.New("wrong number of operands")

// fail records an error and returns the nil closure.
func (b *binder) fail(format string, args ...any) func() {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return nil
}

// operands checks the number of inputs and outputs of the step.
func (b *binder) operands(minIn, maxIn, outs int) bool {
	in, out := len(b.current.In), len(b.current.Out)
	if in < minIn || in > maxIn || out != outs {
		want := fmt.Sprint(minIn)
		if maxIn > minIn {
			want = fmt.Sprintf("%d to %d", minIn, maxIn)
		}
		b.fail("%w: %d inputs and %d outputs, want %s and %d", errOperands, in, out, want, outs)
		return false
	}
	return true
}

func (b *binder) buffer(id nn.BufferID) *nn.Buffer { return &b.plan.Buffers[id] }

func (b *binder) inShape(i int) tensor.Shape  { return b.buffer(b.current.In[i]).Shape }
func (b *binder) outShape(i int) tensor.Shape { return b.buffer(b.current.Out[i]).Shape }

// listCasts lists the variables that the plan rounds to bfloat16 and does not change before the last
// reader of the result has read it. Nothing else changes them between the plan's segments.
func (b *binder) listCasts() {
	b.casts, b.copied = map[nn.BufferID]nn.BufferID{}, map[int]*copied{}
	for i, s := range b.plan.Steps {
		if _, ok := s.Op.(nn.Cast); !ok || len(s.In) != 1 || len(s.Out) != 1 {
			continue
		}
		from, to := s.In[0], s.Out[0]
		if min(from, to) < 0 || int(max(from, to)) >= len(b.plan.Buffers) {
			continue // step reports it
		}
		if b.buffer(from).Variable < 0 || b.buffer(to).DType != tensor.BFloat16 || b.buffer(to).Pinned {
			continue
		}
		written, kept := false, true
		for _, later := range b.plan.Steps[i+1:] {
			if _, rowByRow := later.Op.(nn.ConvAdam); !rowByRow {
				written = written || slices.Contains(later.Out, from)
			}
			kept = kept && !(written && slices.Contains(later.In, to))
			written = written || slices.Contains(later.Out, from)
		}
		if kept {
			b.casts[to] = from
		}
	}
}

// unrounded returns the variable whose values in bfloat16 the i-th input has, for kernels that keep
// them in another form.
func (b *binder) unrounded(i int) (x []float32, ok bool) {
	from, ok := b.casts[b.current.In[i]]
	if !ok {
		return nil, false
	}
	return b.views[from].f, true
}

// reads is called for every buffer that a kernel reads. The values of a variable in bfloat16 are read
// from the state's copy.
func (b *binder) reads(id nn.BufferID) {
	from, ok := b.casts[id]
	if !ok || b.backend.pairs == vec.NoPairs {
		return
	}
	v := b.buffer(from).Variable
	c := b.state.copies[v]
	if c == nil {
		n := b.buffer(id).Shape.Elements()
		memory := b.slab(2 * int64(n))
		c = &copied{values: cut[uint16](&memory, 0, n), seen: -1}
		b.state.copies[v] = c
	}
	if b.copied[v] == nil && c.users == 0 {
		b.tables += 2 * 2 * int64(len(c.values)) // tables are counted in both rounds
	}
	b.copied[v], b.views[id].h = c, c.values
}

// castVariable returns the closure of the current step if it rounds a variable that is kept in
// bfloat16, or that no kernel reads; nil otherwise. Before the second round it is not known.
func (b *binder) castVariable() func() {
	from, ok := b.casts[b.current.Out[0]]
	if !ok || !b.final {
		return nil
	}
	v := b.buffer(from).Variable
	c := b.copied[v]
	switch {
	case c == nil && b.backend.pairs == vec.NoPairs:
		return nil
	case c == nil:
		return func() {}
	}
	x, set, state := b.views[from].f, b.backend.set, b.state
	round := b.each(len(x), grain, func(lo, hi int) { half.Narrow(set, tensor.BFloat16, c.values[lo:hi], x[lo:hi]) })
	pool := b.backend.pool
	return func() {
		if c.seen != state.changes[v] {
			c.seen = -1
			if round(); !pool.Ended() {
				c.seen = state.changes[v]
			}
		}
	}
}

// in returns the i-th input as float32, widened into scratch before the kernel if
// its type is a 16-bit one.
func (b *binder) in(i int) []float32 {
	id := b.current.In[i]
	b.reads(id)
	buf, v := b.buffer(id), b.views[id]
	switch buf.DType {
	case tensor.Float32:
		return v.f
	case tensor.Complex64:
		b.fail("input %d (%q) is complex64, want real", i, buf.Name)
		return nil
	}
	if x, ok := b.widened[id]; ok {
		return x
	}
	x, set := b.floats(len(v.h)), b.backend.set
	b.widened[id] = x
	b.before = append(b.before, b.each(len(x), grain, func(lo, hi int) {
		half.Widen(set, buf.DType, x[lo:hi], v.h[lo:hi])
	}))
	return x
}

// out returns the i-th output as float32, rounded from scratch after the kernel
// if its type is a 16-bit one.
func (b *binder) out(i int) []float32 {
	id := b.current.Out[i]
	buf, v := b.buffer(id), b.views[id]
	switch buf.DType {
	case tensor.Float32:
		return v.f
	case tensor.Complex64:
		b.fail("output %d (%q) is complex64, want real", i, buf.Name)
		return nil
	}
	x, ok := b.widened[id]
	if !ok {
		x = b.floats(len(v.h))
		b.widened[id] = x
	}
	set := b.backend.set
	b.after = append(b.after, b.each(len(x), grain, func(lo, hi int) {
		half.Narrow(set, buf.DType, v.h[lo:hi], x[lo:hi])
	}))
	return x
}

// inValues and outValues return operands in their own real type, for kernels that convert
// pieces themselves.
func (b *binder) inValues(i int) volume.Values {
	b.reads(b.current.In[i])
	return b.values("input", i, b.current.In[i])
}

func (b *binder) outValues(i int) volume.Values {
	return b.values("output", i, b.current.Out[i])
}

func (b *binder) values(role string, i int, id nn.BufferID) volume.Values {
	buf := b.buffer(id)
	if buf.DType == tensor.Complex64 {
		b.fail("%s %d (%q) is complex64, want real", role, i, buf.Name)
	}
	return volume.Values{F: b.views[id].f, H: b.views[id].h, Type: buf.DType}
}

// constant returns the variable whose values in bfloat16 the i-th input has, if the plan
// does not change it; else a negative number.
func (b *binder) constant(i int) (variable int) {
	from, ok := b.casts[b.current.In[i]]
	if !ok {
		return -1
	}
	variable = b.buffer(from).Variable
	for _, s := range b.plan.Steps {
		for _, id := range s.Out {
			if b.buffer(id).Variable == variable {
				return -1
			}
		}
	}
	return variable
}

// inComplex and outComplex return complex64 operands; other types are an error.
// half returns the i-th input, a 16-bit one, as it is.
func (b *binder) half(i int) []uint16 {
	id := b.current.In[i]
	b.reads(id)
	return b.views[id].h
}

func (b *binder) inComplex(i int) []complex64  { return b.complexView("input", i, b.current.In[i]) }
func (b *binder) outComplex(i int) []complex64 { return b.complexView("output", i, b.current.Out[i]) }

func (b *binder) complexView(role string, i int, id nn.BufferID) []complex64 {
	if buf := b.buffer(id); buf.DType != tensor.Complex64 {
		b.fail("%s %d (%q) is %v, want complex64", role, i, buf.Name, buf.DType)
	}
	return b.views[id].c
}

// inParts and outParts return operands of any type as floats, complex64 ones as
// alternating parts, for operators that treat both parts alike.
func (b *binder) inParts(i int) (x []float32, isComplex bool) {
	if id := b.current.In[i]; b.buffer(id).DType == tensor.Complex64 {
		return parts(b.views[id].c), true
	}
	return b.in(i), false
}

func (b *binder) outParts(i int) (x []float32, isComplex bool) {
	if id := b.current.Out[i]; b.buffer(id).DType == tensor.Complex64 {
		return parts(b.views[id].c), true
	}
	return b.out(i), false
}

// sameShape checks that all operands have the first one's shape.
func (b *binder) sameShape(first tensor.Shape, others ...tensor.Shape) bool {
	for _, s := range others {
		if !first.Equal(s) {
			b.fail("shapes %v and %v differ", first, s)
			return false
		}
	}
	return true
}

// image checks that a shape is [N, C, H, W] with no empty axis.
func (b *binder) image(s tensor.Shape) bool {
	if len(s) != 4 || min(s[0], s[1], s[2], s[3]) < 1 {
		b.fail("shape %v is not an image [N, C, H, W]", s)
		return false
	}
	return true
}

// planes splits a shape into its leading axes and the last two.
func (b *binder) planes(s tensor.Shape) (count, h, w int, ok bool) {
	if len(s) < 2 || s.Elements() < 1 {
		b.fail("shape %v has no planes", s)
		return 0, 0, 0, false
	}
	h, w = s.Plane()
	return s.Elements() / (h * w), h, w, true
}

// scalar checks that an operand has one element.
func (b *binder) scalar(x []float32, what string) []float32 {
	if len(x) != 1 {
		b.fail("%s has %d elements, want a scalar", what, len(x))
	}
	return x
}
