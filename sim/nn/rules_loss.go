package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

func (o Loss) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	for _, s := range in {
		if len(s.shape) < 2 || s.dtype == tensor.Complex64 {
			return nil, fmt.Errorf("needs real planes, not %v %v", s.dtype, s.shape)
		}
		h, w := s.shape.Plane()
		if s.shape.Elements() != h*w {
			return nil, fmt.Errorf("needs one plane, not %v", s.shape)
		}
	}
	if !in[0].shape.Equal(in[1].shape) {
		return nil, fmt.Errorf("of %v against %v", in[0].shape, in[1].shape)
	}
	h, w := in[0].shape.Plane()
	switch {
	case o.Kind > MSSSIM:
		return nil, errors.New("of a kind that there is not")
	case o.Kind == SSIM && min(h, w) <= ssimPad:
		return nil, fmt.Errorf("SSIM needs sides above %d pixels, not %dx%d", ssimPad, h, w)
	case o.Kind == MSSSIM && MSSSIMScales(h, w) == 0:
		return nil, fmt.Errorf("MS-SSIM needs sides of %d pixels, not %dx%d", ssimWindow, h, w)
	}
	saved := result{spec: spec{tensor.Shape{LossSaved(o.Kind, h, w)}, tensor.Float32}}
	return append(one(nil, tensor.Float32), saved), nil
}

func (Loss) precision() precision { return full }

func (o Loss) backward(b *backward, t *taped, gy BufferID) error {
	prediction, target := t.in[0], t.in[1]
	if b.wants(target) {
		return errors.New("has no gradient to its target")
	}
	in := []BufferID{prediction, target, t.out[1], gy}
	b.give(prediction, b.emit(t, LossGrad(o), in, b.like(prediction)))
	return nil
}

func (o WeightedSum) infer(in []spec) ([]result, error) {
	if len(in) == 0 || len(in) != len(o.Weights) {
		return nil, fmt.Errorf("has %d operands and %d weights", len(in), len(o.Weights))
	}
	for _, s := range in {
		if len(s.shape) != 0 || s.dtype != tensor.Float32 {
			return nil, fmt.Errorf("needs scalars, not %v", s.shape)
		}
	}
	return one(nil, tensor.Float32), nil
}

func (WeightedSum) precision() precision { return full }

func (o WeightedSum) backward(b *backward, t *taped, gy BufferID) error {
	for i, x := range t.in {
		switch {
		case !b.wants(x):
		case o.Weights[i] == 1:
			b.give(x, gy)
		default:
			b.give(x, b.emit(t, Scale{Factor: o.Weights[i]}, []BufferID{gy}, b.like(x)))
		}
	}
	return nil
}

// SSIM applies the window's two passes of 11 taps to four moments, and to three
// derivatives for the gradient, whose first pass is counted with the forward step;
// the maps take about 25 operations a pixel, the gradient from them 5.
const (
	ssimFLOPs     = (4*2+3)*2*ssimWindow + 25
	ssimGradFLOPs = 3*2*ssimWindow + 5
)

func (o Loss) flops(in, _ []spec) int64     { return lossFLOPs(o.Kind, in[0], 3, ssimFLOPs) }
func (o LossGrad) flops(in, _ []spec) int64 { return lossFLOPs(o.Kind, in[0], 2, ssimGradFLOPs) }

func lossFLOPs(kind LossKind, plane spec, pointwise, windowed int64) int64 {
	h, w := plane.shape.Plane()
	switch kind {
	case SSIM:
		return windowed * int64(h) * int64(w)
	case MSSSIM:
		n := int64(0)
		for range MSSSIMScales(h, w) {
			n += windowed * int64(h) * int64(w)
			h, w = h/2, w/2
		}
		return n
	}
	return pointwise * int64(h) * int64(w)
}

func (WeightedSum) flops(in, _ []spec) int64 { return 2 * int64(len(in)) }

// The constants of MS-SSIM (spec/prism.md §5.5).
const (
	ssimWindow    = 11 // side of SSIM's Gaussian window
	ssimPad       = 5  // reflected border on each side
	msssimScales  = 5  // maximum number of scales of MS-SSIM
	ssimFields    = 3  // planes that SSIM saves: derivatives with respect to mean, square and product
	ssimTile      = 16 // the sides of planes that SSIM saves are multiples of this
	pointwiseSave = 1  // L1 and L2 save the factor of their gradient
)

// MSSSIMScales returns the number of scales at which MS-SSIM compares two planes
// of h×w: five, or fewer if halving leaves a side below the window's 11 pixels; 0
// if the planes themselves are too small.
func MSSSIMScales(h, w int) int {
	n := 0
	for n < msssimScales && min(h, w) >= ssimWindow {
		n, h, w = n+1, h/2, w/2
	}
	return n
}

// LossSaved returns the number of float32 elements that Loss passes to LossGrad for planes of
// h×w. L1 and L2 save one factor. SSIM saves three planes, their sides rounded up to multiples of
// 16, the height to odd ones: derived from the map's derivatives with respect to the prediction's
// local mean, local square and local product with the target. MS-SSIM saves those for each scale,
// both pooled planes of each scale but the first, and one number for each of the five scales. The
// contents are private to the backend.
func LossSaved(kind LossKind, h, w int) int {
	switch kind {
	case SSIM:
		return SSIMSaved(h, w)
	case MSSSIM:
		n := msssimScales
		for i := range MSSSIMScales(h, w) {
			n += SSIMSaved(h, w)
			if i > 0 {
				n += 2 * h * w
			}
			h, w = h/2, w/2
		}
		return n
	default:
		return pointwiseSave
	}
}

// SSIMSaved returns the number of elements that SSIM saves at one scale. The planes
// have an odd number of tiles from top to bottom, which spreads them over a cache's
// sets.
func SSIMSaved(h, w int) int {
	rows, columns := (h+ssimTile-1)/ssimTile, (w+ssimTile-1)/ssimTile
	return ssimFields * (rows | 1) * columns * ssimTile * ssimTile
}
