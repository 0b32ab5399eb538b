package host

import (
	"context"
	"fmt"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/choice"
	"prismtop/sim/optics"
)

// Metrics compares pictures as PRISM's trainer does (spec/prism.md §6), summing in
// float64; SSIM's windows are blurred in float32. The zero value is ready and runs
// plain Go; it grows its work space on the first use of a size. It is not safe for
// concurrent use.
type Metrics struct {
	kernels vec.Set
	a, b    []float32 // cropped pictures, and the pyramid of MS-SSIM
	work    []float32 // of SSIM
}

// SetKernels chooses SSIM's kernels by name, as in cpu.Options.
func (m *Metrics) SetKernels(name string) error {
	set, err := choice.Set(name)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	m.kernels = set
	return nil
}

// Compare returns RMSE, PSNR and SSIM of a reconstruction against the truth, both n×n
// planes, within a window. The reconstruction is not clamped. The only error is that
// of a context that ends first.
func (m *Metrics) Compare(ctx context.Context, reconstruction, truth []float32, n int,
	w optics.Window) (optics.Quality, error) {
	count := w.Size * w.Size
	m.a, m.b = grown(m.a, count), grown(m.b, count)
	var q optics.Quality
	err := inParts(ctx, w.Size, max(passPart/max(w.Size, 1), 1), func(lo, hi int) {
		w.CropRows(m.a, reconstruction, n, lo, hi)
		w.CropRows(m.b, truth, n, lo, hi)
	})
	if err != nil {
		return q, err
	}
	q.PSNR = optics.PSNR(m.a, m.b)
	if err := ctx.Err(); err != nil {
		return q, err
	}
	q.RMSE = optics.RMSE(m.a, m.b)
	q.SSIM, err = m.SSIM(ctx, m.a, m.b, w.Size, w.Size)
	return q, err
}

// grown returns s resized to n elements of unspecified value.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
