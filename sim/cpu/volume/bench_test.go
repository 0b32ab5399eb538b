package volume

import (
	"fmt"
	"math"
	"testing"
	"time"

	"prismtop/sim/cpu/vec"
)

// The kernels on one thread, on layers of CytoDL's networks, directly and by tiles of 2×2
// and 4×4. "best GFLOP/s" is that of the fastest run, which other programs disturb least.
func BenchmarkConvolution(b *testing.B) {
	for _, c := range []struct{ depth, side, in, out int }{
		{16, 32, 16, 16}, {16, 32, 32, 16}, {8, 16, 32, 32}, {8, 16, 64, 32}, {4, 8, 64, 64},
		{1, 64, 16, 16}, {1, 32, 32, 32}, {1, 16, 64, 64},
	} {
		sides := Axes{c.depth, c.side, c.side}
		g := Geometry{N: 1, Small: Grid{sides, c.out}, Large: Grid{sides, c.in}, Kernel: Axes{3, 3, 3}, Stride: Axes{1, 1, 1}, Pad: Axes{1, 1, 1}}
		if c.depth == 1 {
			g.N, g.Kernel[0], g.Pad[0] = 8, 1, 0
		}
		small, large := Floats(values(g.N*g.Small.floats())), []Part{{X: Floats(values(g.N * g.Large.floats())), Channels: c.in}}
		w := values(c.in * c.out * g.Kernel.Product())
		flops := 2 * float64(g.N*g.Small.Sides.Product()*len(w))
		for _, tile := range []int{0, 2, 4} {
			name := fmt.Sprintf("%dx%dx%d %d to %d, tiles %d", c.depth, c.side, c.side, c.in, c.out, tile)
			b.Run("forward "+name, func(b *testing.B) {
				best(b, flops, forward(g.Gather(vec.Available()[0], small, large, w, nil), tile))
			})
			b.Run("weights "+name, func(b *testing.B) {
				f := g.WeightGradient(vec.Available()[0], w, nil, small, large)
				if tile > 0 {
					f.Winograd(tile)
				}
				f.SetSums(make([]float32, f.SumFloats()), nil)
				scratch := make([]float32, f.Scratch())
				best(b, flops, func() {
					for task := range f.Tasks() {
						f.Compute(scratch, task, func() bool { return false })
					}
					f.Collect(0, f.Rows())
				})
			})
		}
	}
}

// forward returns a function that computes a correlation, directly with tile 0 or if tiles do
// not pay.
func forward(c *Correlation, tile int) func() {
	c.SetMatrices(make([]float32, c.MatrixFloats()))
	var t *Winograd
	if tile > 0 {
		t = c.Winograd(tile)
	}
	if t == nil {
		scratch := make([]float32, c.Scratch())
		return func() {
			c.Arrange(0, c.Rows())
			for task := range c.Tasks() {
				c.Compute(scratch, task)
			}
		}
	}
	t.SetKernels(make([]float32, t.KernelFloats()))
	rows, scratch := make([]float32, t.RowScratch()), make([]float32, t.Scratch())
	return func() {
		c.Arrange(0, c.Rows())
		t.Transform(rows, 0, t.Rows())
		for task := range t.Tasks() {
			t.Compute(scratch, task)
		}
	}
}

func best(b *testing.B, flops float64, run func()) {
	least := time.Duration(math.MaxInt64)
	for b.Loop() {
		begun := time.Now()
		run()
		least = min(least, time.Since(begun))
	}
	b.ReportMetric(flops/float64(least.Nanoseconds()), "best-GFLOP/s")
}

func values(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%89)/64 - 0.7
	}
	return x
}
