package host

import (
	"context"
	"fmt"
	"math"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/optics"
)

// Telescope implements optics.Telescope on the processor.
//
// Its methods return the context's error when that ends, between two passes over the
// field, or within a pass if the Parallel supports it; the output is then undefined.
type Telescope struct {
	n          int
	plans      *PlanCache
	par        fft.Parallel
	transforms optics.Transforms
	spectrum   []complex64 // with field, the work space for transforms of whole planes
	field      []complex64
	strips     *strips // work space for fused transforms
}

// maxField bounds the side of a field: a plane of that size takes 4 GiB.
const maxField = 1 << 15

// NewTelescope makes a telescope for fields of n×n pixels; it is an error if no
// FFT supports that side. A nil par is serial.
func NewTelescope(n int, plans *PlanCache, par fft.Parallel) (*Telescope, error) {
	if n < 1 || n > maxField {
		return nil, fmt.Errorf("telescope: size = %d: must be 1 to %d", n, maxField)
	}
	return &Telescope{n: n, plans: plans, par: par}, nil
}

// SetTransforms configures the transforms of subsequent measurements. The default
// is the zero value. It frees the work space of the other kind of transform.
func (t *Telescope) SetTransforms(how optics.Transforms) {
	if how.Fused != t.transforms.Fused {
		t.spectrum, t.field, t.strips = nil, nil, nil
	}
	t.transforms = how
}

// Bytes returns the memory of the work space, which the first measurement of a kind
// allocates.
func (t *Telescope) Bytes() int64 {
	n := 8 * int64(len(t.spectrum)+len(t.field))
	if t.strips != nil {
		n += t.strips.bytes()
	}
	return n
}

func (t *Telescope) plan() *fft.Plan { return t.plans.Plan(t.n, t.n) }

// Measure writes the measurement of a real object through a mask to dst. All are
// n×n planes; dst may be the object.
func (t *Telescope) Measure(ctx context.Context, dst, object, mask []float32, where optics.Support) error {
	if t.transforms.Fused {
		if lines, columns := t.plan().Lines(); lines != nil && lines == columns {
			if t.strips == nil {
				t.strips = newStrips(lines, t.par)
			}
			t.strips.pruned = t.transforms.Pruned
			t.strips.Lines, t.strips.Set = lines, t.plans.set
			return t.strips.measure(ctx, dst, object, mask, where)
		}
	}
	t.spectrum = grown(t.spectrum, t.n*t.n)
	if err := t.Spectrum(ctx, t.spectrum, object); err != nil {
		return err
	}
	return t.MeasureSpectrum(ctx, dst, t.spectrum, mask)
}

// Spectrum writes Fc(object) to dst, to be shared by several measurements of one
// object.
func (t *Telescope) Spectrum(ctx context.Context, dst []complex64, object []float32) error {
	t.plan().CentredForwardReal(dst, object, fft.Bounds{}, t.par)
	return ctx.Err()
}

// MeasureSpectrum is Measure of the object with the given spectrum, which is not
// changed.
func (t *Telescope) MeasureSpectrum(ctx context.Context, dst []float32, spectrum []complex64, mask []float32) error {
	if err := t.masked(ctx, spectrum, mask); err != nil {
		return err
	}
	t.plan().CentredForward(t.field, t.field, fft.Bounds{}, t.par)
	if err := ctx.Err(); err != nil {
		return err
	}
	last := len(t.field) - 1
	return inParts(ctx, len(t.field), passPart, func(lo, hi int) {
		for i, v := range t.field[lo:hi] {
			dst[last-lo-i] = modulus(v)
		}
	})
}

// passPart is the number of pixels processed between checks of the context.
const passPart = 1 << 22

// inParts calls body for consecutive parts of [0, n) until ctx ends.
func inParts(ctx context.Context, n, part int, body func(lo, hi int)) error {
	for lo := 0; lo < n; lo += part {
		if err := ctx.Err(); err != nil {
			return err
		}
		body(lo, min(lo+part, n))
	}
	return ctx.Err()
}

// masked fills the field with the masked spectrum.
func (t *Telescope) masked(ctx context.Context, spectrum []complex64, mask []float32) error {
	t.field = grown(t.field, t.n*t.n)
	return inParts(ctx, len(t.field), passPart, func(lo, hi int) {
		maskInto(t.field[lo:hi], spectrum[lo:hi], mask[lo:hi])
	})
}

// InverseIntensity writes |Fc⁻¹(M·spectrum)|² to dst: the intensity, not flipped.
// PRISM's line mode measures it of the truth, although its prediction is an
// amplitude (spec/prism.md §9.2).
func (t *Telescope) InverseIntensity(ctx context.Context, dst []float32, spectrum []complex64, mask []float32) error {
	if err := t.masked(ctx, spectrum, mask); err != nil {
		return err
	}
	t.plan().CentredInverse(t.field, t.field, fft.Bounds{}, t.par)
	if err := ctx.Err(); err != nil {
		return err
	}
	return inParts(ctx, len(t.field), passPart, func(lo, hi int) {
		for i, v := range t.field[lo:hi] {
			dst[lo+i] = real(v)*real(v) + imag(v)*imag(v)
		}
	})
}

// Gradient writes ∂L/∂object to dst, given g = ∂L/∂y of the measurement y of the
// object through the mask:
//
//	Re[ Fc⁻¹( M · Fc⁻¹( flip(g)·G/|G| ) ) ],  G = Fc(M·Fc(x)), and 0 where G is 0
//
// Where a pixel of G is 0 the modulus has no derivative and 0 is taken, as
// PyTorch does.
func (t *Telescope) Gradient(ctx context.Context, dst, object, mask, g []float32) error {
	plan := t.plan()
	t.field = grown(t.field, t.n*t.n)
	plan.CentredForwardReal(t.field, object, fft.Bounds{}, t.par)
	if err := t.masked(ctx, t.field, mask); err != nil {
		return err
	}
	plan.CentredForward(t.field, t.field, fft.Bounds{}, t.par)
	if err := ctx.Err(); err != nil {
		return err
	}
	last := len(t.field) - 1
	for i, v := range t.field {
		t.field[i] = direction(v, g[last-i])
	}
	plan.CentredInverse(t.field, t.field, fft.Bounds{}, t.par)
	if err := t.masked(ctx, t.field, mask); err != nil {
		return err
	}
	plan.CentredInverseReal(dst, t.field, fft.Bounds{}, t.par)
	return ctx.Err()
}

// direction returns g·v/|v|, or 0 if v is 0.
func direction(v complex64, g float32) complex64 {
	m := modulus(v)
	if m == 0 {
		return 0
	}
	return complex(g*(real(v)/m), g*(imag(v)/m))
}

func maskInto(dst, src []complex64, mask []float32) {
	for i, m := range mask {
		v := src[i]
		dst[i] = complex(real(v)*m, imag(v)*m)
	}
}

// modulus returns |v|, squared in float64 so that nothing overflows or
// underflows.
func modulus(v complex64) float32 {
	re, im := float64(real(v)), float64(imag(v))
	return float32(math.Sqrt(re*re + im*im))
}
