package verify

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The engine transforms about the centre, with the orthonormal factor (see
// nn.FFT). A plain transform is the same with the origin moved to the centre and
// back: fft2(x) = ifftshift(F(fftshift(x)))·√(H·W). The shifts are exact.

// transform is one of the transforms a file may contain.
type transform struct {
	inverse, centred bool
	power            float64 // the factor on the orthonormal result is (H·W)^power
}

var transformKinds = map[string]transform{
	"fft2":        {power: 0.5},
	"fft2_ortho":  {},
	"ifft2":       {inverse: true, power: -0.5},
	"ifft2_ortho": {inverse: true},
	"cfft2":       {centred: true},
	"cifft2":      {centred: true, inverse: true},
}

// transforms lists the transforms whose results are in the case.
func (g group) transforms() []string {
	var names []string
	for _, name := range []string{"fft2", "fft2_ortho", "ifft2", "ifft2_ortho", "cfft2", "cifft2"} {
		if g.holds(name + "_64") {
			names = append(names, name)
		}
	}
	return names
}

// complexFFT checks transforms of one plane.
func complexFFT(g group) error {
	x, err := g.take(g.member("x"))
	if err != nil {
		return err
	}
	if len(x.shape) != 2 {
		return fmt.Errorf("x has the shape %v: needs one plane", x.shape)
	}
	for _, name := range g.transforms() {
		t := transformKinds[name]
		source := x
		if !t.centred {
			source = x.shift()
		}
		var s script
		y := s.result(tensor.Complex64, x.shape...)
		s.step(nn.FFT{Inverse: t.inverse}, []nn.BufferID{s.operand(source)}, y)
		values, err := s.run(g.backend, y)
		if err != nil {
			return err
		}
		result := values[0]
		if !t.centred {
			result = unshift(result, x.shape, 2)
		}
		factor := math.Pow(float64(x.shape.Elements()), t.power)
		for i, v := range result {
			result[i] = float32(float64(v) * factor)
		}
		g.compare(g.member(name), result)
	}
	return nil
}

// realFFT checks the orthonormal transform y of a real field and the gradient
// of Σ g·|y|, which is Re F⁻¹(g·y/|y|). The modulus kernel flips; a flipped
// weight compensates.
func realFFT(g group) error {
	x, err := g.takeReal(g.member("x"), 2)
	if err != nil {
		return err
	}
	weight, err := g.takeReal(g.member("g"), 2)
	if err != nil {
		return err
	}
	if !weight.shape.Equal(x.shape) {
		return fmt.Errorf("g has the shape %v, x %v", weight.shape, x.shape)
	}
	var s script
	y, gy := s.result(tensor.Complex64, x.shape...), s.result(tensor.Complex64, x.shape...)
	gx := s.like(x)
	s.step(nn.FFT{}, []nn.BufferID{s.operand(x.shift())}, y)
	s.step(nn.ModulusFlipGrad{}, []nn.BufferID{y, s.operand(weight.shift().flip())}, gy)
	s.step(nn.FFT{Inverse: true}, []nn.BufferID{gy}, gx)
	values, err := s.run(g.backend, y, gx)
	if err != nil {
		return err
	}
	g.compare(g.member("fft2_ortho"), unshift(values[0], x.shape, 2))
	g.compare(g.member("gx"), unshift(values[1], x.shape, 1))
	return nil
}

// shift returns the fftshift of a plane: both axes rolled by half their length,
// rounded down.
func (a *array) shift() *array {
	h, w := a.shape.Plane()
	return a.moved(func(i, j int) (int, int) { return (i + h/2) % h, (j + w/2) % w })
}

// flip reverses both axes of a plane.
func (a *array) flip() *array {
	h, w := a.shape.Plane()
	return a.moved(func(i, j int) (int, int) { return h - 1 - i, w - 1 - j })
}

// moved returns the plane with pixel (i, j) moved to to(i, j).
func (a *array) moved(to func(i, j int) (int, int)) *array {
	h, w := a.shape.Plane()
	m := *a
	m.values = make([]float64, len(a.values))
	n := a.step()
	for i := range h {
		for j := range w {
			ti, tj := to(i, j)
			copy(m.values[(ti*w+tj)*n:][:n], a.values[(i*w+j)*n:][:n])
		}
	}
	return &m
}

// unshift returns the ifftshift of a plane with n numbers per element: the
// inverse of shift.
func unshift(values []float32, shape tensor.Shape, n int) []float32 {
	h, w := shape.Plane()
	out := make([]float32, len(values))
	for i := range h {
		for j := range w {
			si, sj := (i+h/2)%h, (j+w/2)%w
			copy(out[(i*w+j)*n:][:n], values[(si*w+sj)*n:][:n])
		}
	}
	return out
}
