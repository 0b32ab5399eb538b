package cpu

import (
	"fmt"
	"math"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/tensor"
)

// The telescope step by step: transforms with the plans that they use, masks, moduli and their gradients.

// fixedPlans is the default PlanSource: it keeps every plan it made.
type fixedPlans map[[2]int]*fft.Plan

func (p fixedPlans) Plan(h, w int) *fft.Plan { return p[[2]int{h, w}] }

// fftPlans returns the source for planes of h×w, and an error for sides that no
// plan supports.
func (b *measurements) fftPlans(h, w int) (PlanSource, error) {
	if b.backend.plans != nil {
		return b.backend.plans, nil
	}
	plan, err := fft.NewPlan(h, w)
	if err != nil {
		return nil, err
	}
	b.tables += plan.Bytes()
	return fixedPlans{{h, w}: plan}, nil
}

// fft binds the centred transform. A real input has no imaginary part, and of a
// real output it is dropped.
func (b *measurements) fft(inverse bool) func() {
	n, h, w := planes(b.inShape(0))
	realIn := b.buffer(b.current.In[0]).DType != tensor.Complex64
	realOut := b.buffer(b.current.Out[0]).DType != tensor.Complex64
	plans, err := b.fftPlans(h, w)
	if err != nil {
		return b.fail("%w", err)
	}
	t := transform{set: b.backend.set, plans: plans, parallel: b.backend.parallel, h: h, w: w, inverse: inverse}
	if realIn {
		t.realIn = b.in(0)
	} else {
		t.in = b.inComplex(0)
	}
	if realOut {
		t.realOut = b.out(0)
	} else {
		t.out = b.outComplex(0)
	}
	if realIn && inverse || realOut && !inverse {
		t.work = b.complexes(h * w) // the plan supports these two forms for complex planes only
	}
	t.takeReal = b.each(h*w, grain, func(lo, hi int) { realPart(t.realOut[t.at+lo:t.at+hi], t.work[lo:hi]) })
	t.makeComplex = b.each(h*w, grain, func(lo, hi int) { complexOf(t.work[lo:hi], t.realIn[t.at+lo:t.at+hi]) })
	return func() {
		for i := range n {
			t.run(i * h * w)
		}
	}
}

// transform is a bound FFT step.
type transform struct {
	set      vec.Set
	plans    PlanSource
	parallel fft.Parallel
	h, w     int
	inverse  bool

	in, out         []complex64
	realIn, realOut []float32   // instead of in and out when not nil
	work            []complex64 // one plane

	at                    int // start of the current plane
	takeReal, makeComplex func()
}

// run transforms the plane starting at element at.
func (t *transform) run(at int) {
	n := t.h * t.w
	t.at = at
	plan := t.plans.Plan(t.h, t.w)
	if plan == nil {
		panic(fmt.Sprintf("cpu: the FFT plan source has no plan for %d×%d", t.h, t.w))
	}
	plan.SetKernels(t.set)
	switch {
	case t.realIn != nil && !t.inverse:
		plan.CentredForwardReal(t.out[at:][:n], t.realIn[at:][:n], fft.Bounds{}, t.parallel)
	case t.realIn != nil:
		t.makeComplex()
		plan.CentredInverse(t.out[at:][:n], t.work, fft.Bounds{}, t.parallel)
	case t.realOut != nil && t.inverse:
		plan.CentredInverseReal(t.realOut[at:][:n], t.in[at:][:n], fft.Bounds{}, t.parallel)
	case t.realOut != nil:
		plan.CentredForward(t.work, t.in[at:][:n], fft.Bounds{}, t.parallel)
		t.takeReal()
	case t.inverse:
		plan.CentredInverse(t.out[at:][:n], t.in[at:][:n], fft.Bounds{}, t.parallel)
	default:
		plan.CentredForward(t.out[at:][:n], t.in[at:][:n], fft.Bounds{}, t.parallel)
	}
}

// realPart computes y[i] = Re z[i].
func realPart(y []float32, z []complex64) {
	z = z[:len(y)]
	for i := range y {
		y[i] = real(z[i])
	}
}

// complexOf computes z[i] = x[i].
func complexOf(z []complex64, x []float32) {
	x = x[:len(z)]
	for i := range z {
		z[i] = complex(x[i], 0)
	}
}

// maskMultiply computes out[p, i, j] = z[p, i, j]·mask[i, j] for each plane p.
func (b *measurements) maskMultiply() func() {
	n, h, w := planes(b.inShape(0))
	z, mask, out := b.inComplex(0), b.in(1), b.outComplex(0)
	set := b.backend.set
	return b.rows(n*h, w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			elements.Mask(set, out[row*w:][:w], z[row*w:][:w], mask[row%h*w:][:w])
		}
	})
}

// modulus computes |z|: in float32 if the squares neither overflow nor underflow,
// which is several times as fast, else in float64.
func modulus(z complex64) float32 {
	re, im := real(z), imag(z)
	if s := re*re + im*im; s > 1e-30 && s < 1e30 {
		return float32(math.Sqrt(float64(s)))
	}
	return wideModulus(z)
}

func wideModulus(z complex64) float32 {
	re, im := float64(real(z)), float64(imag(z))
	return float32(math.Sqrt(re*re + im*im))
}

// modulusFlip computes y[p, k] = |z[p, h·w−1−k]| with k counting a plane's
// elements: reversing both axes reverses the plane.
func (b *measurements) modulusFlip() func() {
	n, h, w := planes(b.inShape(0))
	z, y, plane := b.inComplex(0), b.out(0), h*w
	return b.rows(n*h, w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			p, i := row/h*plane, row%h
			modulusRow(y[row*w:][:w], z[p+(h-1-i)*w:][:w])
		}
	})
}

// modulusRow computes y[i] = |z[len−1−i]|.
func modulusRow(y []float32, z []complex64) {
	z = z[:len(y)]
	for i := range z {
		y[len(y)-1-i] = modulus(z[i])
	}
}

// modulusFlipGrad computes gz[p, k] = gy[p, h·w−1−k]·z[p, k]/|z[p, k]|, 0 where z
// is 0.
func (b *measurements) modulusFlipGrad() func() {
	n, h, w := planes(b.inShape(0))
	z, gy, gz, plane := b.inComplex(0), b.in(1), b.outComplex(0), h*w
	return b.rows(n*h, w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			p, i := row/h*plane, row%h
			modulusGradRow(gz[row*w:][:w], z[row*w:][:w], gy[p+(h-1-i)*w:][:w])
		}
	})
}

// modulusGradRow computes gz[i] = gy[len−1−i]·z[i]/|z[i]|.
func modulusGradRow(gz, z []complex64, gy []float32) {
	z, gy = z[:len(gz)], gy[:len(gz)]
	for i, v := range z {
		m := modulus(v)
		if m == 0 {
			gz[i] = 0
			continue
		}
		f := gy[len(gy)-1-i] / m
		gz[i] = complex(real(v)*f, imag(v)*f)
	}
}
