package nn

import (
	"errors"
	"fmt"
	"math"

	"prismtop/sim/tensor"
)

func (o FFT) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if len(in[0].shape) < 2 {
		return nil, fmt.Errorf("needs planes, not %v", in[0].shape)
	}
	return one(in[0].shape, tensor.Complex64), nil
}

func (FFT) precision() precision { return full }

// The transform is unitary: its adjoint is its inverse. The gradient with respect
// to a real operand is the real part.
func (o FFT) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, FFT{Inverse: !o.Inverse}, []BufferID{gy}, b.like(t.in[0])))
	return nil
}

func (MaskMultiply) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	if err := complexPlanes(in[0]); err != nil {
		return nil, err
	}
	h, w := in[0].shape.Plane()
	if !in[1].shape.Equal(tensor.Shape{h, w}) {
		return nil, fmt.Errorf("has shape %v, the spectrum %v", in[1].shape, in[0].shape)
	}
	return one(in[0].shape, tensor.Complex64), nil
}

func (MaskMultiply) precision() precision { return full }

func (o MaskMultiply) backward(b *backward, t *taped, gy BufferID) error {
	if b.wants(t.in[1]) {
		return errors.New("has no gradient")
	}
	b.give(t.in[0], b.emit(t, o, []BufferID{gy, t.in[1]}, b.like(t.in[0])))
	return nil
}

func (ModulusFlip) infer(in []spec) ([]result, error) {
	if err := operands(in, 1, 1); err != nil {
		return nil, err
	}
	if err := complexPlanes(in[0]); err != nil {
		return nil, err
	}
	return one(in[0].shape, tensor.Float32), nil
}

func (ModulusFlip) precision() precision { return full }

func (ModulusFlip) backward(b *backward, t *taped, gy BufferID) error {
	b.give(t.in[0], b.emit(t, ModulusFlipGrad{}, []BufferID{t.in[0], gy}, b.like(t.in[0])))
	return nil
}

func complexPlanes(s spec) error {
	if s.dtype != tensor.Complex64 || len(s.shape) < 2 {
		return fmt.Errorf("needs a spectrum, not %v %v", s.dtype, s.shape)
	}
	return nil
}

// reals returns the number of real numbers in an element.
func (s spec) reals() int64 {
	if s.dtype == tensor.Complex64 {
		return 2
	}
	return 1
}

// A complex transform of n points counts, as usual, as 5·n·log₂n, or half of that
// if one side is real; the orthonormal factor adds 2·n.
func (FFT) flops(in, out []spec) int64 {
	h, w := in[0].shape.Plane()
	n := float64(in[0].elements())
	cost := 5 * n * math.Log2(float64(h)*float64(w))
	if in[0].dtype != tensor.Complex64 || out[0].dtype != tensor.Complex64 {
		cost /= 2
	}
	return int64(cost) + 2*int64(n)
}
func (MaskMultiply) flops(in, _ []spec) int64    { return 2 * in[0].elements() }
func (ModulusFlip) flops(in, _ []spec) int64     { return 4 * in[0].elements() }
func (ModulusFlipGrad) flops(in, _ []spec) int64 { return 7 * in[0].elements() }
