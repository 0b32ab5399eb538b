package volume

import (
	"fmt"
	"math"
	"testing"
	"time"

	"prismtop/sim/cpu/vec"
)

// The kernels on one thread, on layers of CytoDL's network. "best GFLOP/s" is that of the
// fastest run, which other programs disturb least.
func BenchmarkConvolution(b *testing.B) {
	for _, c := range []struct{ side, in, out int }{{32, 16, 16}, {32, 32, 16}, {16, 32, 32}, {8, 64, 64}} {
		g := Geometry{N: 1, Small: Grid{Axes{8, c.side, c.side}, c.out}, Large: Grid{Axes{8, c.side, c.side}, c.in},
			Kernel: Axes{3, 3, 3}, Stride: Axes{1, 1, 1}, Pad: Axes{1, 1, 1}}
		small, large := values(g.Small.floats()), values(g.Large.floats())
		w := values(c.in * c.out * g.Kernel.Product())
		flops := 2 * float64(g.Small.Sides.Product()*len(w))
		name := fmt.Sprintf("%dx%d %d to %d", c.side, c.side, c.in, c.out)
		b.Run("forward "+name, func(b *testing.B) {
			f := g.Gather(vec.Available()[0], Floats(small), []Part{{X: Floats(large), Channels: c.in}}, w, nil)
			f.SetMatrices(make([]float32, f.MatrixFloats()))
			scratch := make([]float32, f.Scratch())
			best(b, flops, func() {
				f.Arrange(0, f.Rows())
				for task := range f.Tasks() {
					f.Compute(scratch, task)
				}
			})
		})
		b.Run("weights "+name, func(b *testing.B) {
			f := g.WeightGradient(vec.Available()[0], w, nil, Floats(small), []Part{{X: Floats(large), Channels: c.in}})
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
