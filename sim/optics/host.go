package optics

import (
	"context"

	"prismtop/profiles"
)

// Host computes for the instrument in the machine's own memory, outside the plans that
// a backend runs.
type Host interface {
	// Telescope makes a telescope for fields of n×n pixels; it is an error if no FFT
	// supports that side.
	Telescope(n int) (Telescope, error)

	// Metrics makes metrics that compare pictures as PRISM's trainer does.
	Metrics() Metrics

	// Plans returns the cache of FFT plans used by the telescopes.
	Plans() Plans

	// Parallel runs body over ranges that together cover [0, n) once each, on the host's
	// threads, and returns when all are done.
	Parallel(n int, body func(lo, hi int))

	// Attach makes the loops of the host end early, with undefined results, once
	// ctx is done, and returns the previously attached context; nil detaches.
	Attach(ctx context.Context) (before context.Context)
}

// Plans is a cache of FFT plans.
type Plans interface {
	// SetEnabled turns keeping tables on or off.
	SetEnabled(on bool)
	// Clear drops the tables. The counters stay.
	Clear()
	// SetUnseen stops the counters while something is recomputed only to be timed.
	SetUnseen(on bool)
	// Counters returns the cache's counters.
	Counters() profiles.CacheCounters
}

// Telescope measures an object through a mask in k-space (spec/prism.md §2.2):
//
//	y = flip( |Fc(M · Fc(x))| )
//
// with Fc the centred orthonormal transform and flip the reversal of both axes.
// The measurement is an amplitude, and the filtered object is shifted by one pixel.
// A Telescope owns its work space and is not safe for concurrent use. Planes are
// n×n, row by row.
//
// Its methods return the context's error when that ends; their output is then
// undefined.
type Telescope interface {
	// SetTransforms configures the transforms of subsequent measurements. The default
	// is the zero value.
	SetTransforms(how Transforms)

	// Measure writes the measurement of a real object through a mask to dst, which may
	// be the object. Pruned transforms need not search for zeros if the support is
	// known.
	Measure(ctx context.Context, dst, object, mask []float32, where Support) error

	// Spectrum writes Fc(object) to dst, to be shared by several measurements of
	// one object.
	Spectrum(ctx context.Context, dst []complex64, object []float32) error

	// MeasureSpectrum is Measure of the object with the given spectrum, which is not
	// changed.
	MeasureSpectrum(ctx context.Context, dst []float32, spectrum []complex64, mask []float32) error

	// InverseIntensity writes |Fc⁻¹(M·spectrum)|² to dst: the intensity, not flipped.
	// PRISM's line mode measures it of the truth, although its prediction is an
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

	// Bytes returns the memory of the work space, which the first measurement of a kind
	// allocates.
	Bytes() int64
}

// Transforms configures the transforms of Measure. All variants agree to rounding.
type Transforms struct {
	// Fused processes sixteen rows or columns at a time from the object to the
	// amplitudes, if the side is a power of two and at least 16.
	Fused bool
	// Pruned makes fused transforms skip the object's zero rows and the mask's zero
	// columns.
	Pruned bool
}

// Support is prior knowledge about a measurement: the object is zero outside Rows, the
// mask outside Columns. An empty range means unknown.
type Support struct{ Rows, Columns [2]int }

// Metrics compares pictures as PRISM's trainer does (spec/prism.md §6). It owns its work
// space and is not safe for concurrent use.
type Metrics interface {
	// Compare returns RMSE, PSNR and SSIM of a reconstruction against the truth, both
	// n×n planes, within a window. The reconstruction is not clamped. The only error is
	// that of a context that ends first.
	Compare(ctx context.Context, reconstruction, truth []float32, n int, w Window) (Quality, error)
}

// Quality measures how close a picture is to the truth.
type Quality struct {
	PSNR float64 // dB, data range 1; +Inf when equal
	SSIM float64
	RMSE float64 // percent of the truth's root mean square
}
