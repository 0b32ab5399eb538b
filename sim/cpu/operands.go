package cpu

import (
	"fmt"
	"slices"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The operands of a step: its inputs and outputs in the type that a kernel needs, and casts of variables.

// fail records an error and returns the nil closure.
func (b *binder) fail(format string, args ...any) func() {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return nil
}

func (b *binder) buffer(id nn.BufferID) *nn.Buffer { return &b.plan.Buffers[id] }

func (b *binder) inShape(i int) tensor.Shape  { return b.buffer(b.current.In[i]).Shape }
func (b *binder) outShape(i int) tensor.Shape { return b.buffer(b.current.Out[i]).Shape }

// listCasts lists the variables that the plan rounds to bfloat16 and does not change before the last
// reader of the result has read it. Nothing else changes them between the plan's segments.
func (b *binder) listCasts() {
	b.casts, b.copied = map[nn.BufferID]nn.BufferID{}, map[int]*copied{}
	for i, s := range b.plan.Steps {
		if _, ok := s.Op.(nn.Cast); !ok {
			continue
		}
		from, to := s.In[0], s.Out[0]
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
	if buf.DType == tensor.Float32 {
		return v.f
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
	if buf.DType == tensor.Float32 {
		return v.f
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
	return b.values(b.current.In[i])
}

func (b *binder) outValues(i int) volume.Values { return b.values(b.current.Out[i]) }

func (b *binder) values(id nn.BufferID) volume.Values {
	return volume.Values{F: b.views[id].f, H: b.views[id].h, Type: b.buffer(id).DType}
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

// half returns the i-th input, a 16-bit one, as it is.
func (b *binder) half(i int) []uint16 {
	id := b.current.In[i]
	b.reads(id)
	return b.views[id].h
}

// inComplex and outComplex return complex64 operands.
func (b *binder) inComplex(i int) []complex64  { return b.views[b.current.In[i]].c }
func (b *binder) outComplex(i int) []complex64 { return b.views[b.current.Out[i]].c }

// inParts and outParts return operands of any type as floats, complex64 ones as
// alternating parts, for operators that treat both parts alike.
func (b *binder) inParts(i int) []float32 {
	if id := b.current.In[i]; b.buffer(id).DType == tensor.Complex64 {
		return parts(b.views[id].c)
	}
	return b.in(i)
}

func (b *binder) outParts(i int) []float32 {
	if id := b.current.Out[i]; b.buffer(id).DType == tensor.Complex64 {
		return parts(b.views[id].c)
	}
	return b.out(i)
}

// planes splits a shape into its leading axes and the last two.
func planes(s tensor.Shape) (count, h, w int) {
	h, w = s.Plane()
	return s.Elements() / (h * w), h, w
}
