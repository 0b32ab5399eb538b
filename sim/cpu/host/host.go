// Package host implements optics.Host on the processor: the telescope's measurement and
// its gradient, image metrics, and a cache of FFT plans.
package host

import (
	"context"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/optics"
)

// Options configures a Host. The zero value computes in plain Go on one thread.
type Options struct {
	// Kernels is the instruction set of the metrics; plans have their own
	// setting.
	Kernels vec.Set

	// Plans is the cache of FFT plans; nil means a new cache.
	Plans *PlanCache

	// Parallel spreads loops over threads; nil is serial.
	Parallel fft.Parallel

	// Attach makes the loops of Parallel end early once a context is done, and returns
	// the previously attached one; nil if they cannot.
	Attach func(context.Context) (before context.Context)
}

// Host implements optics.Host on the processor.
type Host struct{ options Options }

var _ optics.Host = (*Host)(nil)

// New makes a host.
func New(o Options) *Host {
	if o.Plans == nil {
		o.Plans = NewPlanCache(true, nil)
	}
	return &Host{o}
}

// Telescope calls NewTelescope with the host's plans and threads.
func (h *Host) Telescope(n int) (optics.Telescope, error) {
	return NewTelescope(n, h.options.Plans, h.options.Parallel)
}

// Metrics returns metrics that use the host's kernels.
func (h *Host) Metrics() optics.Metrics { return &Metrics{kernels: h.options.Kernels} }

// Plans returns the cache of FFT plans.
func (h *Host) Plans() optics.Plans { return h.options.Plans }

// Parallel spreads a loop over the host's threads.
func (h *Host) Parallel(n int, body func(lo, hi int)) {
	if h.options.Parallel == nil {
		body(0, n)
		return
	}
	h.options.Parallel(n, body)
}

// Attach attaches a context to the loops of Parallel, if they support one.
func (h *Host) Attach(ctx context.Context) (before context.Context) {
	if h.options.Attach == nil {
		return nil
	}
	return h.options.Attach(ctx)
}
