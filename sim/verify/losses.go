package verify

import (
	"fmt"

	"prismtop/sim/cpu/host"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// lossKinds are the losses by the names of their results; names of gradients end
// in _ga.
var lossKinds = []struct {
	name      string
	kind      nn.LossKind
	normalize bool
}{
	{"dssim", nn.SSIM, false},
	{"l1", nn.L1, false},
	{"l1n", nn.L1, true},
	{"mse", nn.L2, false},
	{"msen", nn.L2, true},
	{"dmsssim", nn.MSSSIM, false},
}

// ssimAllowed is for SSIM, which is 1 minus a mean of float32 numbers: near 0, the
// rounding of 1 remains.
const ssimAllowed = 1e-6

// loss checks losses of a prediction a against a target b and their gradients
// with respect to a. SSIM itself is reported by the program as quality.
func loss(g group) error {
	a, err := g.takeReal(g.member("a"), 2)
	if err != nil {
		return err
	}
	b, err := g.takeReal(g.member("b"), 2)
	if err != nil {
		return err
	}
	if !a.shape.Equal(b.shape) {
		return fmt.Errorf("a has the shape %v, b %v", a.shape, b.shape)
	}
	for _, k := range lossKinds {
		if !g.holds(k.name + "_64") {
			continue
		}
		value, gradient, err := g.loss(a, b, k.kind, k.normalize)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		g.compare(g.member(k.name), value)
		g.compare(g.member(k.name+"_ga"), gradient)
	}
	if g.holds("ssim_64") {
		var m host.Metrics
		h, w := a.shape.Plane()
		pair, err := g.takeAll(g.member("ssim_64"), g.member("ssim_32"))
		if err != nil {
			return err
		}
		value, err := m.SSIM(g.backend.ctx, a.float32s(), b.float32s(), h, w)
		if err != nil {
			return err
		}
		g.within(g.member("ssim_64"), pair[0], []float64{value}, ssimAllowed)
	}
	return nil
}

func (g group) loss(a, b *array, kind nn.LossKind, normalize bool) (value, gradient []float32, err error) {
	h, w := a.shape.Plane()
	if least := 6; kind == nn.SSIM && min(h, w) < least {
		return nil, nil, fmt.Errorf("planes of %v: SSIM's border of 5 pixels needs sides of %d", a.shape, least)
	}
	if kind == nn.MSSSIM && nn.MSSSIMScales(h, w) == 0 {
		return nil, nil, fmt.Errorf("planes of %v are too small for MS-SSIM", a.shape)
	}
	var s script
	pa, pb := s.operand(a), s.operand(b)
	scalar := s.result(tensor.Float32)
	saved := s.result(tensor.Float32, nn.LossSaved(kind, h, w))
	ga := s.like(a)
	s.step(nn.Loss{Kind: kind, Normalize: normalize}, []nn.BufferID{pa, pb}, scalar, saved)
	s.step(nn.LossGrad{Kind: kind, Normalize: normalize}, []nn.BufferID{pa, pb, saved, s.scalar(1)}, ga)
	values, err := s.run(g.backend, scalar, ga)
	if err != nil {
		return nil, nil, err
	}
	return values[0], values[1], nil
}
