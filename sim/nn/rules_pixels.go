package nn

import (
	"fmt"
	"math"

	"prismtop/sim/tensor"
)

// MaxPool halves both sides of each plane: y[i,j] is the largest of the four values
// x[2i…2i+1, 2j…2j+1]. In: x, sides even. Out: y.
type MaxPool struct{}

// MaxPoolGrad is ∂L/∂x of MaxPool: gy goes to the largest of the four values, the
// first in row order if several are equal. In: x, gy. Out: gx.
type MaxPoolGrad struct{}

// Upsample doubles both sides of each plane by repetition: y[i,j] = x[⌊i/2⌋,⌊j/2⌋].
// In: x. Out: y.
type Upsample struct{}

// UpsampleGrad is ∂L/∂x of Upsample, the sum over each 2×2 block. In: gy. Out: gx.
type UpsampleGrad struct{}

// Inset replaces a rectangle of each plane by another plane: y[i,j] =
// inner[i−Top, j−Left] where that exists, outer[i,j] elsewhere. In: outer, inner;
// only their last two axes differ. Out: y, of outer's shape.
type Inset struct{ Top, Left int }

// InsetGrad is ∂L/∂outer of Inset: gy, but 0 in the rectangle of Height×Width
// at (Top, Left). In: gy. Out: the gradient.
type InsetGrad struct{ Top, Left, Height, Width int }

// Split divides an image's channels: the first Channels, and the rest. In: x. Out:
// both parts.
type Split struct{ Channels int }

// Swish is x·sigmoid(x). In: x. Out: y.
type Swish struct{}

// SwishGrad is ∂L/∂x of Swish. In: x, gy. Out: gx.
type SwishGrad struct{}

func (MaxPool) opName() string      { return "max-pool" }
func (MaxPoolGrad) opName() string  { return "max-pool grad" }
func (Upsample) opName() string     { return "upsample" }
func (UpsampleGrad) opName() string { return "upsample grad" }
func (Inset) opName() string        { return "inset" }
func (InsetGrad) opName() string    { return "inset grad" }
func (Split) opName() string        { return "split" }
func (Swish) opName() string        { return "swish" }
func (SwishGrad) opName() string    { return "swish grad" }

// MaxPool is the largest value of each 2×2 block of an image.
func (g *Graph) MaxPool(x Value) Value { return g.apply(MaxPool{}, x) }

// Upsample repeats each pixel of an image in a 2×2 block.
func (g *Graph) Upsample(x Value) Value { return g.apply(Upsample{}, x) }

// Inset replaces the planes of outer by those of inner from (top, left) on.
func (g *Graph) Inset(outer, inner Value, top, left int) Value {
	return g.apply(Inset{Top: top, Left: left}, outer, inner)
}

// Split divides an image's channels into the first count and the rest.
func (g *Graph) Split(x Value, count int) (first, rest Value) {
	parts := g.applyAll(Split{Channels: count}, 2, x)
	return parts[0], parts[1]
}

// Swish is x·sigmoid(x).
func (g *Graph) Swish(x Value) Value { return g.apply(Swish{}, x) }

// PiTanh is π·tanh(x), an angle.
func (g *Graph) PiTanh(x Value) Value { return g.Scale(g.Activation(x, Tanh), math.Pi) }

func (MaxPool) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if err := image(in[0]); err != nil {
		return nil, err
	}
	x := in[0].shape
	if x[2]%2 != 0 || x[3]%2 != 0 {
		return nil, fmt.Errorf("needs even sides, not %v", x)
	}
	return one(tensor.Shape{x[0], x[1], x[2] / 2, x[3] / 2}, in[0].dtype), nil
}

func (MaxPool) precision() precision { return follow }

func (MaxPool) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, MaxPoolGrad{}, []BufferID{t.in[0], gy}, b.like(t.in[0])))
	return nil
}

func (Upsample) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if err := image(in[0]); err != nil {
		return nil, err
	}
	x := in[0].shape
	return one(tensor.Shape{x[0], x[1], 2 * x[2], 2 * x[3]}, in[0].dtype), nil
}

func (Upsample) precision() precision { return follow }

func (Upsample) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, UpsampleGrad{}, []BufferID{gy}, b.like(t.in[0])))
	return nil
}

func (o Inset) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	outer, inner := in[0].shape, in[1].shape
	if len(outer) < 2 || len(inner) != len(outer) || !outer[:len(outer)-2].Equal(inner[:len(inner)-2]) {
		return nil, fmt.Errorf("of %v into %v", inner, outer)
	}
	h, w := inner.Plane()
	if outH, outW := outer.Plane(); o.Top < 0 || o.Left < 0 || o.Top+h > outH || o.Left+w > outW {
		return nil, fmt.Errorf("of %v at (%d, %d) exceeds %v", inner, o.Top, o.Left, outer)
	}
	return one(outer, in[0].dtype), nil
}

func (Inset) precision() precision { return widest }

func (o Inset) backward(b *backward, t *taped, gy BufferID) error {
	outer, inner := t.in[0], t.in[1]
	if b.wants(outer) {
		h, w := b.shape(inner).Plane()
		b.give(outer, b.emit(t, InsetGrad{o.Top, o.Left, h, w}, []BufferID{gy}, b.like(outer)))
	}
	if b.wants(inner) {
		b.give(inner, b.emit(t, Place{Top: -o.Top, Left: -o.Left}, []BufferID{gy}, b.like(inner)))
	}
	return nil
}

func (o Split) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if err := image(in[0]); err != nil {
		return nil, err
	}
	x := in[0].shape
	if o.Channels < 1 || o.Channels >= x[1] {
		return nil, fmt.Errorf("of %d channels at %d", x[1], o.Channels)
	}
	first := one(tensor.Shape{x[0], o.Channels, x[2], x[3]}, in[0].dtype)
	return append(first, one(tensor.Shape{x[0], x[1] - o.Channels, x[2], x[3]}, in[0].dtype)...), nil
}

func (Split) precision() precision { return follow }

func (Split) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, Concat{}, []BufferID{gy, b.gradient(t, 1)}, b.like(t.in[0])))
	return nil
}

func (Swish) infer(in []spec) ([]result, error) { return unary(in) }
func (Swish) precision() precision              { return follow }
func (Swish) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, SwishGrad{}, []BufferID{t.in[0], gy}, b.like(t.in[0])))
	return nil
}

func (MaxPool) flops(in, _ []spec) int64      { return in[0].elements() }
func (MaxPoolGrad) flops(in, _ []spec) int64  { return in[0].elements() }
func (Upsample) flops(_, _ []spec) int64      { return 0 }
func (UpsampleGrad) flops(in, _ []spec) int64 { return in[0].elements() }
func (Inset) flops(_, _ []spec) int64         { return 0 }
func (InsetGrad) flops(_, _ []spec) int64     { return 0 }
func (Split) flops(_, _ []spec) int64         { return 0 }
func (Swish) flops(in, _ []spec) int64        { return 3 * in[0].elements() }
func (SwishGrad) flops(in, _ []spec) int64    { return 6 * in[0].elements() }
