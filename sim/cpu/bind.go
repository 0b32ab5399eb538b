package cpu

import (
	"errors"
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// grain is the least number of elements of a cheap loop that is worth giving to
// another thread.
const grain = 4096

// binder makes the closure of one step after the other. Its methods that fetch
// operands note the first error instead of returning it; a closure is used only
// if there was none.
type binder struct {
	backend *Backend
	plan    *nn.Plan
	views   []view

	current       *nn.Step
	err           error
	widened       map[nn.BufferID][]float32
	before, after []func()

	memory slab
	used   int64 // by the current step
	most   int64 // by any step
	tables int64 // bytes of tables that closures keep
}

// step returns the closure of a step.
func (b *binder) step(s *nn.Step) (func(), error) {
	b.current, b.err, b.used = s, nil, 0
	b.widened, b.before, b.after = map[nn.BufferID][]float32{}, nil, nil
	for _, id := range append(append([]nn.BufferID{}, s.In...), s.Out...) {
		if id < 0 || int(id) >= len(b.views) {
			return nil, fmt.Errorf("no buffer %d", id)
		}
	}
	kernel := b.bind(s.Op)
	b.most = max(b.most, b.used)
	if b.err != nil {
		return nil, b.err
	}
	before, after := b.before, b.after
	if len(before)+len(after) == 0 {
		return kernel, nil
	}
	return func() {
		for _, f := range before {
			f()
		}
		kernel()
		for _, f := range after {
			f()
		}
	}, nil
}

// bind is the table from operators to kernels.
func (b *binder) bind(op nn.Op) func() {
	switch op := op.(type) {
	case nn.Conv2D:
		return b.convGather(op.Stride, op.Pad)
	case nn.Conv2DGradInput:
		return b.convScatter(op.Stride, op.Pad, anyOutputPad)
	case nn.Conv2DGradWeight:
		return b.convWeight(op.Stride, op.Pad, true)
	case nn.ConvTranspose2D:
		return b.convScatter(op.Stride, op.Pad, op.OutputPad)
	case nn.ConvTranspose2DGradInput:
		return b.convGather(op.Stride, op.Pad)
	case nn.ConvTranspose2DGradWeight:
		return b.convWeight(op.Stride, op.Pad, false)
	case nn.BiasGrad:
		return b.biasGrad()
	case nn.BatchNorm:
		return b.batchNorm(op)
	case nn.BatchNormGrad:
		return b.batchNormGrad()
	case nn.Activation:
		return b.activation(op.Kind)
	case nn.ActivationGrad:
		return b.activationGrad(op.Kind)
	case nn.Place:
		return b.place(op)
	case nn.Add:
		return b.add()
	case nn.Scale:
		return b.scale(op.Factor)
	case nn.Concat:
		return b.concat()
	case nn.Channels:
		return b.channels(op.From)
	case nn.Cast:
		return b.cast()
	case nn.Fill:
		return b.fill(op.Value)
	}
	return b.bindRest(op)
}

// bindRest is the table's second half: optics, losses and the optimiser.
func (b *binder) bindRest(op nn.Op) func() {
	switch op := op.(type) {
	case nn.FFT:
		return b.fft(op.Inverse)
	case nn.MaskMultiply:
		return b.maskMultiply()
	case nn.ModulusFlip:
		return b.modulusFlip()
	case nn.ModulusFlipGrad:
		return b.modulusFlipGrad()
	case nn.Loss:
		return b.loss(op)
	case nn.LossGrad:
		return b.lossGrad(op)
	case nn.WeightedSum:
		return b.weightedSum(op.Weights)
	case nn.Seed:
		return b.seed(op.Weight)
	case nn.Unscale:
		return b.unscale()
	case nn.AdamStep:
		return b.adamStep()
	case nn.Adam:
		return b.adam(op)
	case nn.ScalerUpdate:
		return b.scalerUpdate(op.Interval)
	}
	return b.fail("no kernel for this operator")
}

var errOperands = errors.New("wrong number of operands")

// fail notes an error and returns the nil closure.
func (b *binder) fail(format string, args ...any) func() {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return nil
}

// operands checks how many inputs and outputs the step has.
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

// in is the i-th input as float32, widened into scratch before the kernel when
// it is of a 16-bit type.
func (b *binder) in(i int) []float32 {
	id := b.current.In[i]
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
	x := b.floats(len(v.h))
	b.widened[id] = x
	b.before = append(b.before, b.each(len(x), grain, func(lo, hi int) {
		tensor.Widen(buf.DType, x[lo:hi], v.h[lo:hi])
	}))
	return x
}

// out is the i-th output as float32, rounded from scratch after the kernel when
// it is of a 16-bit type.
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
	b.after = append(b.after, b.each(len(x), grain, func(lo, hi int) {
		tensor.Narrow(buf.DType, v.h[lo:hi], x[lo:hi])
	}))
	return x
}

// inComplex and outComplex are complex64 operands; other types are an error.
func (b *binder) inComplex(i int) []complex64  { return b.complexView("input", i, b.current.In[i]) }
func (b *binder) outComplex(i int) []complex64 { return b.complexView("output", i, b.current.Out[i]) }

func (b *binder) complexView(role string, i int, id nn.BufferID) []complex64 {
	if buf := b.buffer(id); buf.DType != tensor.Complex64 {
		b.fail("%s %d (%q) is %v, want complex64", role, i, buf.Name, buf.DType)
	}
	return b.views[id].c
}

// sameShape checks that operands have one shape; it gets their shapes in pairs
// with the first.
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

// floats, float64s and complexes are scratch for the current step's kernel.
func (b *binder) floats(n int) []float32      { return scratch[float32](b, n, 4) }
func (b *binder) float64s(n int) []float64    { return scratch[float64](b, n, 8) }
func (b *binder) complexes(n int) []complex64 { return scratch[complex64](b, n, 8) }

func scratch[T float32 | float64 | complex64](b *binder, n int, size int64) []T {
	offset := b.used
	b.used += roundUp(int64(n) * size)
	if b.used > b.memory.size {
		b.memory = newSlab(b.used) // only in the first round, where nothing runs
	}
	return cut[T](&b.memory, offset, n)
}

// table accounts for n elements of size bytes that a closure keeps.
func (b *binder) table(n int, size int64) { b.tables += int64(n) * size }

// each returns a closure that runs body over [0, n) on the pool.
func (b *binder) each(n, grain int, body func(lo, hi int)) func() {
	p := b.backend.pool
	return func() { p.For(n, grain, body) }
}
