package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

// Measure is the telescope and a pointwise loss in one operator: for every mask m and
// target t, Loss(flip|F(m · F(x))|, t), see FFT and Loss. It works on sixteen rows at a
// time and keeps, instead of amplitudes, the gradient of these rows already transformed
// back. Kind is L1 or L2.
//
// The step's time is that of the telescope; the following MeasureShare steps take the
// rest.
//
// In: x (float32, one plane, sides MeasureSides allows), then a mask [H, W] and a target
// for each measurement. Out: losses [n], factors [n] of the gradients, fields
// (n·MeasureSaved(H, W) float32 elements, private to the backend).
type Measure struct {
	Kind      LossKind
	Normalize bool
	MeasureFrame
}

// MeasureFrame configures the transforms of Measure and Amplitudes. Shared computes the
// spectrum of x once for all masks. Pruned skips parts that are zero or not needed: x
// is zero outside the rows [Top, Bottom) and columns [Left, Right), and its spectrum is
// not needed outside a mask's columns. Both change results by rounding only.
type MeasureFrame struct {
	Shared, Pruned           bool
	Top, Bottom, Left, Right int
}

// MeasureGrad is Σ upstream[i]·∂loss[i]/∂x of Measure. In: fields, factors, upstream [n]
// and the masks. Out: gx.
type MeasureGrad struct{ Measure }

// MeasureShare does no work: its time is the share of the preceding Measure step
// that belongs to the phase, measured by clocks between the parts. In, Out: nothing.
type MeasureShare struct{ Phase Phase }

// Element copies one element of a vector. In: x [n]. Out: scalar.
type Element struct{ Index int }

// ElementGrad is the vector that is 0 except for one element. In: gy (scalar). Out:
// gx.
type ElementGrad struct{ Index int }

func (Measure) opName() string     { return "measure" }
func (MeasureGrad) opName() string { return "measure grad" }
func (s MeasureShare) opName() string {
	if s.Phase == PhaseLoss {
		return "loss"
	}
	return "adjoint rows"
}
func (Element) opName() string     { return "value" }
func (ElementGrad) opName() string { return "value grad" }

// measureLanes divides the sides of a measured plane.
const measureLanes = 16

// MeasureSides reports whether Measure supports planes of h×w: squares whose side is a
// power of two, at least 16.
func MeasureSides(h, w int) bool { return h == w && h >= measureLanes && h&(h-1) == 0 }

// MeasureSaved returns the number of elements of one measurement's field: complex
// planes in strips of sixteen columns with a pad after every 64 rows.
func MeasureSaved(h, w int) int { return w / measureLanes * (2*measureLanes*h + h/64*2*measureLanes) }

func (o Measure) infer(in []spec) ([]result, error) {
	if len(in) < 3 || len(in)%2 == 0 {
		return nil, fmt.Errorf("has %d operands", len(in))
	}
	x := in[0]
	if err := o.frames(x); err != nil {
		return nil, err
	}
	if o.Kind != L1 && o.Kind != L2 {
		return nil, errors.New("of a loss that is not pointwise")
	}
	h, w := x.shape.Plane()
	for i, s := range in[1:] {
		if i%2 == 0 && !s.shape.Equal(tensor.Shape{h, w}) || s.shape.Elements() != h*w {
			return nil, fmt.Errorf("of %v against %v", s.shape, x.shape)
		}
	}
	n := len(in) / 2
	vector := result{spec: spec{tensor.Shape{n}, tensor.Float32}}
	fields := result{spec: spec{tensor.Shape{n, MeasureSaved(h, w)}, tensor.Float32}}
	return []result{vector, vector, fields}, nil
}

// frames checks that the frame fits a picture.
func (o MeasureFrame) frames(x spec) error {
	if len(x.shape) < 2 || x.dtype == tensor.Complex64 {
		return fmt.Errorf("needs a real plane, not %v %v", x.dtype, x.shape)
	}
	h, w := x.shape.Plane()
	switch {
	case !MeasureSides(h, w) || x.shape.Elements() != h*w:
		return fmt.Errorf("needs one square plane with a power of two for its side, not %v", x.shape)
	case o.Top < 0 || o.Left < 0 || o.Bottom > h || o.Right > w || o.Top >= o.Bottom || o.Left >= o.Right:
		return fmt.Errorf("of rows %d to %d and columns %d to %d of %v", o.Top, o.Bottom, o.Left, o.Right, x.shape)
	}
	return nil
}

func (Measure) precision() precision { return full }

func (o Measure) backward(b *backward, t *taped, gy BufferID) error {
	in := []BufferID{t.out[2], t.out[1], gy}
	for i := 1; i < len(t.in); i += 2 {
		if b.wants(t.in[i]) || b.wants(t.in[i+1]) {
			return errors.New("has no gradient to its masks and targets")
		}
		in = append(in, t.in[i])
	}
	b.give(t.in[0], b.emit(t, MeasureGrad{o}, in, b.like(t.in[0])))
	return nil
}

// shares returns the steps that follow a step of the operator.
func (Measure) shares() []MeasureShare { return []MeasureShare{{PhaseLoss}, {PhaseBackward}} }

func (o Element) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if len(in[0].shape) != 1 || o.Index < 0 || o.Index >= in[0].shape[0] {
		return nil, fmt.Errorf("%d of %v", o.Index, in[0].shape)
	}
	return one(nil, in[0].dtype), nil
}

func (Element) precision() precision { return full }

func (o Element) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, ElementGrad(o), []BufferID{gy}, b.like(t.in[0])))
	return nil
}

// Measurements adds a Measure of an image and returns the losses, one per mask.
func (g *Graph) Measurements(x Value, o Measure, masks, targets []Value) []Value {
	in := []Value{x}
	for i, m := range masks {
		in = append(in, m, targets[i])
	}
	all := g.apply(o, in...)
	losses := make([]Value, len(masks))
	for i := range losses {
		losses[i] = g.apply(Element{Index: i}, all)
	}
	return losses
}

// Transforms are counted as if unpruned: one of the real plane and two per
// measurement; transforming the rows back is half of one.
func (o Measure) flops(in, _ []spec) int64 {
	plane := []spec{{in[0].shape, tensor.Complex64}}
	n := int64(len(in) / 2)
	return o.spectra(plane, n) + n*(FFT{}.flops(plane, plane)*3/2+(2+4+7+7)*in[0].elements())
}

// spectra returns the cost of the spectra of a real plane for n masks.
func (o MeasureFrame) spectra(plane []spec, n int64) int64 {
	if o.Shared {
		n = 1
	}
	return n * FFT{}.flops(plane, plane) / 2
}
func (o MeasureGrad) flops(_, out []spec) int64 {
	plane := []spec{{out[0].shape, tensor.Complex64}}
	return FFT{}.flops(plane, plane)
}
func (MeasureShare) flops(_, _ []spec) int64 { return 0 }
func (Element) flops(_, _ []spec) int64      { return 0 }
func (ElementGrad) flops(_, _ []spec) int64  { return 0 }
