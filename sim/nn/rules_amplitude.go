package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

// Amplitudes is the telescope for any loss, which works like Measure on strips of
// sixteen rows or columns: measurement i is the mean of flip|F(m · F(x))| over
// the next Apertures[i] masks m, see FFT. It keeps the directions z/|z| for its
// gradient.
//
// In: x (float32, one plane, sides MeasureSides allows), then the masks [H, W]. Out:
// for each measurement an amplitude of x's shape, then directions (float32,
// MeasureSaved(H, W) elements per mask, private to the backend).
type Amplitudes struct {
	Apertures []int
	MeasureFrame
}

// AmplitudesGrad is ∂L/∂x of Amplitudes. In: directions, the gradient of each
// amplitude, the masks. Out: gx.
type AmplitudesGrad struct{ Amplitudes }

func (Amplitudes) opName() string     { return "amplitudes" }
func (AmplitudesGrad) opName() string { return "amplitudes grad" }

// Masks is the number of masks of all measurements.
func (o Amplitudes) Masks() int {
	n := 0
	for _, c := range o.Apertures {
		n += c
	}
	return n
}

func (o Amplitudes) infer(in []spec) ([]result, error) {
	if len(in) < 2 || len(in) != 1+o.Masks() {
		return nil, fmt.Errorf("has %d operands", len(in))
	}
	x := in[0]
	if err := o.frames(x); err != nil {
		return nil, err
	}
	h, w := x.shape.Plane()
	for _, s := range in[1:] {
		if !s.shape.Equal(tensor.Shape{h, w}) || s.dtype != tensor.Float32 {
			return nil, fmt.Errorf("has a mask of %v for %v", s.shape, x.shape)
		}
	}
	var all []result
	for _, c := range o.Apertures {
		if c < 1 {
			return nil, errors.New("has a measurement without a mask")
		}
		all = append(all, one(x.shape, tensor.Float32)...)
	}
	return append(all, one(tensor.Shape{o.Masks(), MeasureSaved(h, w)}, tensor.Float32)...), nil
}

func (Amplitudes) precision() precision { return full }

func (o Amplitudes) backward(b *backward, t *taped, gy BufferID) error {
	n := len(o.Apertures)
	in := []BufferID{t.out[n], gy}
	for i := 1; i < n; i++ {
		in = append(in, b.gradient(t, i))
	}
	for _, m := range t.in[1:] {
		if b.wants(m) {
			return errors.New("has no gradient to its masks")
		}
	}
	b.give(t.in[0], b.emit(t, AmplitudesGrad{o}, append(in, t.in[1:]...), b.like(t.in[0])))
	return nil
}

// Amplitudes adds the telescope's amplitude of an image for each measurement's
// masks.
func (g *Graph) Amplitudes(x Value, o MeasureFrame, masks ...[]Value) []Value {
	op, in := Amplitudes{MeasureFrame: o}, []Value{x}
	for _, m := range masks {
		op.Apertures = append(op.Apertures, len(m))
		in = append(in, m...)
	}
	return g.applyAll(op, len(masks), in...)
}

// Transforms are counted as if unpruned: one of the real plane and one for every
// mask.
func (o Amplitudes) flops(in, _ []spec) int64 {
	plane := []spec{{in[0].shape, tensor.Complex64}}
	n := int64(o.Masks())
	return o.spectra(plane, n) + n*(FFT{}.flops(plane, plane)+(2+7)*in[0].elements())
}

func (o AmplitudesGrad) flops(_, out []spec) int64 {
	plane := []spec{{out[0].shape, tensor.Complex64}}
	n := int64(o.Masks())
	return o.spectra(plane, n) + n*(FFT{}.flops(plane, plane)+(2+2)*out[0].elements())
}
