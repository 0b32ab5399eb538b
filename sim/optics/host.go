package optics

import (
	"context"

	"prismtop/profiles"
)

// Host computes for the instrument in the machine's own memory, beside the plans that a
// backend runs.
type Host interface {
	// Telescope makes a telescope for fields of n×n pixels; a side that no FFT can have
	// is an error.
	Telescope(n int) (Telescope, error)

	// Metrics makes metrics that compare pictures as PRISM's trainer does.
	Metrics() Metrics

	// Plans is the cache of FFT plans that the telescopes ask.
	Plans() Plans

	// Parallel runs body over ranges that together cover [0, n) once each, on the host's
	// threads, and returns when all are done.
	Parallel(n int, body func(lo, hi int))

	// Attach makes the loops of the host end early once ctx is done, with undefined
	// results, and returns the context that was attached before; nil detaches.
	Attach(ctx context.Context) (before context.Context)
}

// Plans is a cache of FFT plans.
type Plans interface {
	// SetEnabled turns keeping tables on or off.
	SetEnabled(on bool)
	// SetUnseen makes asking count for nothing while something is computed again only
	// to be timed.
	SetUnseen(on bool)
	// Counters is the cache's state.
	Counters() profiles.CacheCounters
}

// Telescope measures an object through a mask in k-space (spec/prism.md §2.2):
//
//	y = flip( |Fc(M · Fc(x))| )
//
// with Fc the centred orthonormal transform and flip the reversal of both axes.
// The measurement is an amplitude, and the filtered object moved by one pixel. A
// Telescope owns its work space and is used by one goroutine. Planes are n×n, row by
// row.
//
// Its methods give up with the context's error when that ends; what they write is
// undefined then.
type Telescope interface {
	// SetTransforms chooses how the measurements to come go about their transforms. It
	// starts as the zero value.
	SetTransforms(how Transforms)

	// Measure writes the measurement of a real object through a mask to dst, which may
	// be the object. Pruned transforms need not look for zeros where it is known what is
	// zero.
	Measure(ctx context.Context, dst, object, mask []float32, where Support) error

	// Spectrum writes Fc(object) to dst, for several measurements of one object.
	Spectrum(ctx context.Context, dst []complex64, object []float32) error

	// MeasureSpectrum is Measure of the object whose spectrum is given. The spectrum
	// is left as it is.
	MeasureSpectrum(ctx context.Context, dst []float32, spectrum []complex64, mask []float32) error

	// InverseIntensity writes |Fc⁻¹(M·spectrum)|² to dst: the intensity, not flipped,
	// that PRISM's line mode measures of the truth where its prediction is an
	// amplitude (spec/prism.md §9.2).
	InverseIntensity(ctx context.Context, dst []float32, spectrum []complex64, mask []float32) error

	// Gradient writes ∂L/∂object to dst, given g = ∂L/∂y of the measurement y of the
	// object through the mask:
	//
	//	Re[ Fc⁻¹( M · Fc⁻¹( flip(g)·G/|G| ) ) ],  G = Fc(M·Fc(x)), and 0 where G is 0
	//
	// Where a pixel of G is 0 the modulus has no derivative and 0 is taken, as
	// PyTorch does.
	Gradient(ctx context.Context, dst, object, mask, g []float32) error

	// Bytes is the memory of the work space, which the first measurement of a kind makes.
	Bytes() int64
}

// Transforms say how Measure goes about its transforms. All ways agree to rounding.
type Transforms struct {
	// Fused takes sixteen rows or columns at a time from the object to the amplitudes,
	// where the side is a power of two from 16 on.
	Fused bool
	// Pruned leaves out of fused transforms what is zero: the object's rows and the
	// mask's columns without anything in them.
	Pruned bool
}

// Support is what is known of a measurement beforehand: outside Rows the object is zero,
// outside Columns the mask is. An empty range says nothing.
type Support struct{ Rows, Columns [2]int }

// Metrics compares pictures as PRISM's trainer does (spec/prism.md §6). It owns its work
// space and is used by one goroutine.
type Metrics interface {
	// Compare gives RMSE, PSNR and SSIM of a reconstruction against the truth, both
	// n×n planes, within a window. The reconstruction is not clamped. The error is that
	// of a context that ends before.
	Compare(ctx context.Context, reconstruction, truth []float32, n int, w Window) (Quality, error)
}

// Quality says how close a picture is to the truth.
type Quality struct {
	PSNR float64 // dB, data range 1; +Inf when equal
	SSIM float64
	RMSE float64 // percent of the truth's root mean square
}
