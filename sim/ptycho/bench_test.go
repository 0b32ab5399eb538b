package ptycho

import (
	"fmt"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

// BenchmarkInference runs the default network over batches on two threads; images/s is
// the number of diffraction patterns.
func BenchmarkInference(b *testing.B) {
	for _, batch := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("batch %d", batch), func(b *testing.B) {
			p := startInference(b, batch)
			for b.Loop() {
				if err := p.exe.Run(b.Context(), nn.SegmentForward); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

func startInference(b *testing.B, batch int) *program {
	b.Helper()
	c := DefaultConfig()
	n, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := n.InferencePlan(b.Context(), PlanOptions{Batch: batch})
	if err != nil {
		b.Fatal(err)
	}
	p := load(b, n, plan, cpu.Options{Threads: 2})
	p.write(DiffractionInput, sine(c, batch))
	return p
}
