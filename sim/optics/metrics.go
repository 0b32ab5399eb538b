package optics

import (
	"context"
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/sim/cpu/vec"
)

// Metrics compares pictures as PRISM's trainer does (spec/prism.md §6), summing in
// float64; SSIM's windows are blurred in float32. The zero value is ready and runs
// plain Go; it grows its work space on the first use of a size and is used by one
// goroutine.
type Metrics struct {
	kernels vec.Set
	a, b    []float32 // cropped pictures, and the pyramid of MS-SSIM
	work    []float32 // of SSIM
}

// SetKernels chooses the kernels that SSIM runs on by a name, as cpu.Options does.
func (m *Metrics) SetKernels(name string) error {
	set, err := vec.Choose(name)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	m.kernels = set
	return nil
}

// Compare gives RMSE, PSNR and SSIM of a reconstruction against the truth, both
// n×n planes, within a window. The reconstruction is not clamped. The error is that of
// a context that ends before.
func (m *Metrics) Compare(ctx context.Context, reconstruction, truth []float32, n int, w Window) (profiles.Quality, error) {
	count := w.Size * w.Size
	m.a, m.b = grown(m.a, count), grown(m.b, count)
	var q profiles.Quality
	err := inParts(ctx, w.Size, max(passPart/max(w.Size, 1), 1), func(lo, hi int) {
		w.cropRows(m.a, reconstruction, n, lo, hi)
		w.cropRows(m.b, truth, n, lo, hi)
	})
	if err != nil {
		return q, err
	}
	q.PSNR = PSNR(m.a, m.b)
	if err := ctx.Err(); err != nil {
		return q, err
	}
	q.RMSE = RMSE(m.a, m.b)
	q.SSIM, err = m.SSIM(ctx, m.a, m.b, w.Size, w.Size)
	return q, err
}

// RMSE is 100·√mean((a−b)²)/√mean(b²): percent of the root mean square of the
// truth b. It is +Inf for a truth of zeros that is missed.
func RMSE(a, b []float32) float64 {
	var power float64
	for _, v := range b {
		power += float64(v) * float64(v)
	}
	square := meanSquare(a, b)
	if square == 0 {
		return 0
	}
	return 100 * math.Sqrt(square) / math.Sqrt(power/float64(len(b)))
}

// PSNR is 20·log10(1/√MSE) in dB for a data range of 1, +Inf for equal pictures.
func PSNR(a, b []float32) float64 {
	square := meanSquare(a, b)
	if square == 0 {
		return math.Inf(1)
	}
	return -10 * math.Log10(square)
}

func meanSquare(a, b []float32) float64 {
	var sum float64
	for i, v := range a {
		d := float64(v) - float64(b[i])
		sum += d * d
	}
	return sum / float64(len(a))
}

// grown is s with n elements of any value.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
