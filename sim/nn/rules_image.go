package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

func (o BatchNorm) infer(in []spec) ([]result, error) {
	if err := operands(in, 5, 5); err != nil {
		return nil, err
	}
	if err := image(in[0]); err != nil {
		return nil, err
	}
	x := in[0].shape
	c := tensor.Shape{x[1]}
	for _, s := range in[1:] {
		if !s.shape.Equal(c) {
			return nil, fmt.Errorf("needs %d values per statistic, not %v", x[1], s.shape)
		}
	}
	y := one(x, in[0].dtype)
	if !o.Train {
		return y, nil
	}
	if x[0]*x[2]*x[3] < 2 {
		return nil, fmt.Errorf("of %v has one value per channel, which has no variance", x)
	}
	saved := result{spec: spec{c, tensor.Float32}}
	mean := result{spec: in[3], inPlace: true, operand: 3}
	variance := result{spec: in[4], inPlace: true, operand: 4}
	return append(y, saved, saved, mean, variance), nil
}

func (BatchNorm) precision() precision { return follow }

func (o BatchNorm) backward(b *backward, t *taped, gy BufferID) error {
	if !o.Train {
		return errors.New("has no gradient with running statistics")
	}
	x, gamma, beta := t.in[0], t.in[1], t.in[2]
	in := []BufferID{x, gy, gamma, t.out[1], t.out[2]}
	if o.ReLU {
		in = append(in, beta)
	}
	g := b.emitAll(t, BatchNormGrad{ReLU: o.ReLU}, in,
		b.like(x), b.float32Like(gamma), b.float32Like(beta))
	b.give(x, g[0])
	b.give(gamma, g[1])
	b.give(beta, g[2])
	return nil
}

func (o Activation) infer(in []spec) ([]result, error) {
	if err := o.Kind.check(); err != nil {
		return nil, err
	}
	return unary(in)
}

func (Activation) precision() precision { return follow }

func (o Activation) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, ActivationGrad(o), []BufferID{t.out[0], gy}, b.like(t.in[0])))
	return nil
}

func (k ActivationKind) check() error { return unless(k <= Tanh, "of a kind that there is not") }

// place is a Place that knows the size of its result.
type place struct {
	Place
	h, w int
}

func (o place) kernel() Op { return o.Place }

func (o place) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	x := in[0].shape
	if len(x) < 2 || o.h < 1 || o.w < 1 {
		return nil, fmt.Errorf("needs planes, not %v to %dx%d", x, o.h, o.w)
	}
	y := append(tensor.Shape{}, x...)
	y[len(y)-2], y[len(y)-1] = o.h, o.w
	return one(y, in[0].dtype), nil
}

// Padding is a copy, and what is cut out of it or follows it is float32: a conversion before it is of
// fewer elements.
func (place) precision() precision { return full }

func (o place) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, Place{Top: -o.Top, Left: -o.Left}, []BufferID{gy}, b.like(t.in[0])))
	return nil
}

func (Add) infer(in []spec) ([]result, error) {
	if len(in) < 2 {
		return nil, fmt.Errorf("has %d operands", len(in))
	}
	for _, s := range in[1:] {
		if !s.shape.Equal(in[0].shape) || (s.dtype == tensor.Complex64) != (in[0].dtype == tensor.Complex64) {
			return nil, fmt.Errorf("of %v %v and %v %v", in[0].dtype, in[0].shape, s.dtype, s.shape)
		}
	}
	return one(in[0].shape, in[0].dtype), nil
}

func (Add) precision() precision { return widest }

func (Add) backward(b *backward, t *taped, gy BufferID) error {
	for _, x := range t.in {
		b.give(x, gy)
	}
	return nil
}

func (Scale) infer(in []spec) ([]result, error) { return unary(in) }
func (Scale) precision() precision              { return follow }
func (o Scale) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, o, []BufferID{gy}, b.like(t.in[0])))
	return nil
}

func (Concat) infer(in []spec) ([]result, error) {
	if len(in) < 2 {
		return nil, fmt.Errorf("has %d operands", len(in))
	}
	channels := 0
	for _, s := range in {
		if err := image(s); err != nil {
			return nil, err
		}
		x, first := s.shape, in[0].shape
		if x[0] != first[0] || x[2] != first[2] || x[3] != first[3] {
			return nil, fmt.Errorf("of %v and %v", first, x)
		}
		channels += x[1]
	}
	x := in[0].shape
	return one(tensor.Shape{x[0], channels, x[2], x[3]}, in[0].dtype), nil
}

func (Concat) precision() precision { return widest }

func (Concat) backward(b *backward, t *taped, gy BufferID) error {
	from := 0
	for _, x := range t.in {
		if b.wants(x) {
			b.give(x, b.emit(t, Channels{From: from}, []BufferID{gy}, b.like(x)))
		}
		from += b.shape(x)[1]
	}
	return nil
}

// Cast occurs in graphs only where mixed precision inserted it. The gradient of a
// converted weight is already float32 and passes unchanged.
func (Cast) infer(in []spec) ([]result, error) { return unary(in) }
func (Cast) precision() precision              { return follow }
func (Cast) backward(b *backward, t *taped, gy BufferID) error {
	x := t.in[0]
	if b.spec(gy).dtype != b.spec(x).dtype {
		gy = b.emit(t, Cast{}, []BufferID{gy}, b.like(x))
	}
	b.give(x, gy)
	return nil
}

// unary is the rule for element-wise operators of one operand.
func unary(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	return one(in[0].shape, in[0].dtype), nil
}

// Batch normalisation makes two passes over the values: a sum and a sum of
// squares, then a multiplication and an addition.
func (BatchNorm) flops(in, _ []spec) int64      { return 6 * in[0].elements() }
func (BatchNormGrad) flops(in, _ []spec) int64  { return 10 * in[0].elements() }
func (Activation) flops(in, _ []spec) int64     { return in[0].elements() }
func (ActivationGrad) flops(in, _ []spec) int64 { return in[0].elements() }
func (Place) flops(_, _ []spec) int64           { return 0 }
func (Scale) flops(in, _ []spec) int64          { return in[0].elements() }
func (Concat) flops(_, _ []spec) int64          { return 0 }
func (Channels) flops(_, _ []spec) int64        { return 0 }
func (Cast) flops(_, _ []spec) int64            { return 0 }
func (Fill) flops(_, _ []spec) int64            { return 0 }
func (Add) flops(in, out []spec) int64 {
	return int64(len(in)-1) * out[0].elements() * out[0].reals()
}
