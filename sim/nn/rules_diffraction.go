package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

// Operators of ptychography: a group is C overlapping patches of an object, each
// with an offset (x, y) in pixels, x along columns, from the group's centre
// (spec/ptycho-cyto.md §A1.3–A1.5). A complex gradient is ∂L/∂re + i·∂L/∂im.
//
// To translate a plane by (x, y) is to sample it bilinearly at (row−y, column−x),
// zero outside; planes of different sizes share their centre.

// Polar is the complex number of an amplitude and a phase: z = a·e^(iφ). In: a, φ.
// Out: z complex64.
type Polar struct{}

// PolarGrad is the gradient of Polar. In: a, φ, gz. Out: ga, gφ.
type PolarGrad struct{}

// SumPatches adds the patches of each group, translated by the negative of their
// offsets, on a canvas. It is the adjoint of ExtractPatches. In: z [B, C, N, N]
// complex64, offsets [B, C, 2]. Out: [B, 1, S, S], S−N even.
type SumPatches struct{}

// ExtractPatches translates each group's canvas by every offset and keeps the
// central N×N. In: o [B, 1, S, S] complex64, offsets [B, C, 2]. Out: [B, C, N, N].
type ExtractPatches struct{}

// DivideByCoverage divides each group's canvas by the number of patches that cover
// a pixel, plus Epsilon. A patch covers a square of Support pixels at its centre,
// translated as by SumPatches. In: z [B, 1, S, S] complex64, offsets [B, C, 2].
// Out: [B, 1, S, S].
type DivideByCoverage struct {
	Support int
	Epsilon float32
}

// ProbeMultiply multiplies each plane by the probe, or by its conjugate. In: z
// [..., N, N] complex64, probe [2, N, N], its real and its imaginary part. Out:
// complex64.
type ProbeMultiply struct{ Conjugate bool }

// Intensity is |z|². In: z complex64. Out: y.
type Intensity struct{}

// IntensityGrad is 2·gy·z. In: z complex64, gy. Out: gz complex64.
type IntensityGrad struct{}

// Softplus is ln(1 + e^x), an amplitude without an upper bound. In: x. Out: y.
type Softplus struct{}

// SoftplusGrad is ∂L/∂x of Softplus. In: x, gy. Out: gx.
type SoftplusGrad struct{}

// ExpScale multiplies by e^(Power·s) of a scalar s. In: x, s. Out: y.
type ExpScale struct{ Power float32 }

// ExpScaleGrad is ∂L/∂s of ExpScale: Power·Σ y·gy. In: y, gy. Out: a scalar.
type ExpScaleGrad struct{ Power float32 }

// PoissonLoss is the mean of p − t·ln(p + Epsilon), the negative log-likelihood of
// counts t where p are expected, without the term that only depends on t. In:
// prediction, target. Out: a scalar.
type PoissonLoss struct{ Epsilon float32 }

// PoissonLossGrad is ∂L/∂p of PoissonLoss. In: prediction, target, the loss's
// gradient (scalar). Out: gp.
type PoissonLossGrad struct{ Epsilon float32 }

func (Polar) opName() string            { return "polar" }
func (PolarGrad) opName() string        { return "polar grad" }
func (SumPatches) opName() string       { return "sum patches" }
func (ExtractPatches) opName() string   { return "extract patches" }
func (DivideByCoverage) opName() string { return "coverage" }
func (ProbeMultiply) opName() string    { return "probe" }
func (Intensity) opName() string        { return "intensity" }
func (IntensityGrad) opName() string    { return "intensity grad" }
func (Softplus) opName() string         { return "softplus" }
func (SoftplusGrad) opName() string     { return "softplus grad" }
func (ExpScale) opName() string         { return "exp scale" }
func (ExpScaleGrad) opName() string     { return "exp scale grad" }
func (PoissonLoss) opName() string      { return "Poisson loss" }
func (PoissonLossGrad) opName() string  { return "Poisson loss grad" }

// Polar is the complex number of an amplitude and a phase.
func (g *Graph) Polar(amplitude, phase Value) Value { return g.apply(Polar{}, amplitude, phase) }

// SumPatches adds each group's patches, moved against their offsets, on a canvas of
// side×side pixels.
func (g *Graph) SumPatches(z, offsets Value, side int) Value {
	return g.apply(sumPatches{side: side}, z, offsets)
}

// ExtractPatches returns the patches of side×side pixels at the offsets of each
// group.
func (g *Graph) ExtractPatches(canvas, offsets Value, side int) Value {
	return g.apply(extractPatches{side: side}, canvas, offsets)
}

// DivideByCoverage divides a sum of patches by the number that cover each pixel.
func (g *Graph) DivideByCoverage(z, offsets Value, support int, epsilon float32) Value {
	return g.apply(DivideByCoverage{Support: support, Epsilon: epsilon}, z, offsets)
}

// ProbeMultiply multiplies each plane by the probe [2, N, N].
func (g *Graph) ProbeMultiply(z, probe Value) Value { return g.apply(ProbeMultiply{}, z, probe) }

// Intensity is |z|².
func (g *Graph) Intensity(z Value) Value { return g.apply(Intensity{}, z) }

// Softplus is ln(1 + e^x).
func (g *Graph) Softplus(x Value) Value { return g.apply(Softplus{}, x) }

// ExpScale is x·e^(power·s).
func (g *Graph) ExpScale(x, s Value, power float32) Value {
	return g.apply(ExpScale{Power: power}, x, s)
}

// PoissonLoss compares expected intensities with counts; the target gets no
// gradient.
func (g *Graph) PoissonLoss(prediction, target Value, epsilon float32) Value {
	return g.apply(PoissonLoss{Epsilon: epsilon}, prediction, target)
}

func (Polar) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	if !in[0].shape.Equal(in[1].shape) || in[0].dtype == tensor.Complex64 || in[1].dtype == tensor.Complex64 {
		return nil, fmt.Errorf("of %v %v and %v %v", in[0].dtype, in[0].shape, in[1].dtype, in[1].shape)
	}
	return one(in[0].shape, tensor.Complex64), nil
}

func (Polar) precision() precision { return full }

func (Polar) backward(b *backward, t *taped, gz BufferID) error {
	a, phase := t.in[0], t.in[1]
	g := b.emitAll(t, PolarGrad{}, []BufferID{a, phase, gz}, b.like(a), b.like(phase))
	b.give(a, g[0])
	b.give(phase, g[1])
	return nil
}

// sumPatches and extractPatches know the size of their results.
type (
	sumPatches struct {
		SumPatches
		side int
	}
	extractPatches struct {
		ExtractPatches
		side int
	}
)

func (o sumPatches) kernel() Op     { return o.SumPatches }
func (o extractPatches) kernel() Op { return o.ExtractPatches }

// group checks square complex planes [B, ·, N, N] and offsets [B, C, 2].
func group(in []spec) error {
	if err := operands(in, 2, 2); err != nil {
		return err
	}
	z, offsets := in[0].shape, in[1].shape
	if len(z) != 4 || z[2] != z[3] || in[0].dtype != tensor.Complex64 {
		return fmt.Errorf("needs square complex planes [B, C, N, N], not %v %v", in[0].dtype, z)
	}
	if len(offsets) != 3 || offsets[0] != z[0] || offsets[2] != 2 {
		return fmt.Errorf("needs offsets [%d, C, 2], not %v", z[0], offsets)
	}
	return nil
}

func (o sumPatches) infer(in []spec) ([]result, error) {
	if err := group(in); err != nil {
		return nil, err
	}
	z := in[0].shape
	if z[1] != in[1].shape[1] || o.side < 1 || (o.side-z[2])%2 != 0 {
		return nil, fmt.Errorf("of %v at offsets %v on a canvas of %d pixels", z, in[1].shape, o.side)
	}
	return one(tensor.Shape{z[0], 1, o.side, o.side}, tensor.Complex64), nil
}

func (o extractPatches) infer(in []spec) ([]result, error) {
	if err := group(in); err != nil {
		return nil, err
	}
	z := in[0].shape
	if z[1] != 1 || o.side < 1 || (o.side-z[2])%2 != 0 {
		return nil, fmt.Errorf("of %d pixels from %v", o.side, z)
	}
	return one(tensor.Shape{z[0], in[1].shape[1], o.side, o.side}, tensor.Complex64), nil
}

func (o DivideByCoverage) infer(in []spec) ([]result, error) {
	if err := group(in); err != nil {
		return nil, err
	}
	z := in[0].shape
	if z[1] != 1 || o.Support < 1 || o.Support > z[2] || (z[2]-o.Support)%2 != 0 || !(o.Epsilon > 0) {
		return nil, fmt.Errorf("of %d pixels plus %g on %v", o.Support, o.Epsilon, z)
	}
	return one(z, tensor.Complex64), nil
}

func (SumPatches) precision() precision       { return full }
func (ExtractPatches) precision() precision   { return full }
func (DivideByCoverage) precision() precision { return full }

func (o sumPatches) backward(b *backward, t *taped, gy BufferID) error {
	return b.linear(t, gy, ExtractPatches{})
}

func (o extractPatches) backward(b *backward, t *taped, gy BufferID) error {
	return b.linear(t, gy, SumPatches{})
}

func (o DivideByCoverage) backward(b *backward, t *taped, gy BufferID) error {
	return b.linear(t, gy, o)
}

// linear emits the adjoint of an operator that is linear in its first operand; the
// second gets no gradient.
func (b *backward) linear(t *taped, gy BufferID, adjoint Op) error {
	if b.wants(t.in[1]) {
		return errors.New("has no gradient to its second operand")
	}
	b.give(t.in[0], b.emit(t, adjoint, []BufferID{gy, t.in[1]}, b.like(t.in[0])))
	return nil
}

func (o ProbeMultiply) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	if err := complexPlanes(in[0]); err != nil {
		return nil, err
	}
	h, w := in[0].shape.Plane()
	if !in[1].shape.Equal(tensor.Shape{2, h, w}) {
		return nil, fmt.Errorf("has shape %v, must be 2x%dx%d", in[1].shape, h, w)
	}
	return one(in[0].shape, tensor.Complex64), nil
}

func (ProbeMultiply) precision() precision { return full }

func (o ProbeMultiply) backward(b *backward, t *taped, gy BufferID) error {
	return b.linear(t, gy, ProbeMultiply{Conjugate: !o.Conjugate})
}

func (Intensity) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if err := complexPlanes(in[0]); err != nil {
		return nil, err
	}
	return one(in[0].shape, tensor.Float32), nil
}

func (Intensity) precision() precision { return full }

func (Intensity) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, IntensityGrad{}, []BufferID{t.in[0], gy}, b.like(t.in[0])))
	return nil
}

func (Softplus) infer(in []spec) ([]result, error) { return unary(in) }
func (Softplus) precision() precision              { return follow }
func (Softplus) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, SoftplusGrad{}, []BufferID{t.in[0], gy}, b.like(t.in[0])))
	return nil
}

func (ExpScale) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	if in[0].dtype == tensor.Complex64 || len(in[1].shape) != 0 || in[1].dtype != tensor.Float32 {
		return nil, fmt.Errorf("of %v %v by %v", in[0].dtype, in[0].shape, in[1].shape)
	}
	return one(in[0].shape, in[0].dtype), nil
}

func (ExpScale) precision() precision { return full }

func (o ExpScale) backward(b *backward, t *taped, gy BufferID) error {
	x, s := t.in[0], t.in[1]
	if b.wants(x) {
		b.give(x, b.emit(t, o, []BufferID{gy, s}, b.like(x)))
	}
	if b.wants(s) {
		b.give(s, b.emit(t, ExpScaleGrad(o), []BufferID{t.out[0], gy}, b.like(s)))
	}
	return nil
}

func (o PoissonLoss) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	if !in[0].shape.Equal(in[1].shape) || in[0].dtype == tensor.Complex64 || !(o.Epsilon > 0) {
		return nil, fmt.Errorf("of %v %v against %v, epsilon %g", in[0].dtype, in[0].shape, in[1].shape, o.Epsilon)
	}
	return one(nil, tensor.Float32), nil
}

func (PoissonLoss) precision() precision { return full }

func (o PoissonLoss) backward(b *backward, t *taped, gy BufferID) error {
	if b.wants(t.in[1]) {
		return errors.New("has no gradient to its target")
	}
	b.give(t.in[0], b.emit(t, PoissonLossGrad(o), []BufferID{t.in[0], t.in[1], gy}, b.like(t.in[0])))
	return nil
}

// A bilinear sample of a complex plane takes four multiplications and additions of
// two parts; a sine, a cosine, an exponential and a logarithm count as one each.
func (Polar) flops(in, _ []spec) int64           { return 4 * in[0].elements() }
func (PolarGrad) flops(in, _ []spec) int64       { return 9 * in[0].elements() }
func (SumPatches) flops(in, out []spec) int64    { return 16 * out[0].elements() * int64(in[0].shape[1]) }
func (ExtractPatches) flops(_, out []spec) int64 { return 16 * out[0].elements() }
func (DivideByCoverage) flops(in, _ []spec) int64 {
	return (3 + 2*int64(in[1].shape[1])) * in[0].elements()
}
func (ProbeMultiply) flops(in, _ []spec) int64   { return 6 * in[0].elements() }
func (Intensity) flops(in, _ []spec) int64       { return 3 * in[0].elements() }
func (IntensityGrad) flops(in, _ []spec) int64   { return 3 * in[0].elements() }
func (Softplus) flops(in, _ []spec) int64        { return 3 * in[0].elements() }
func (SoftplusGrad) flops(in, _ []spec) int64    { return 3 * in[0].elements() }
func (ExpScale) flops(in, _ []spec) int64        { return in[0].elements() }
func (ExpScaleGrad) flops(in, _ []spec) int64    { return 2 * in[0].elements() }
func (PoissonLoss) flops(in, _ []spec) int64     { return 5 * in[0].elements() }
func (PoissonLossGrad) flops(in, _ []spec) int64 { return 4 * in[0].elements() }
