package ptycho

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// BenchmarkInference runs the default network over batches on as many threads as -cpu
// says; -v lists the steps. images/s is the number of diffraction patterns.
func BenchmarkInference(b *testing.B) { benchmarkInference(b, PlanOptions{}) }

// BenchmarkWinograd is BenchmarkInference with Winograd's convolutions.
func BenchmarkWinograd(b *testing.B) { benchmarkInference(b, PlanOptions{Products: nn.Winograd}) }

// BenchmarkBF16 is BenchmarkInference in bf16.
func BenchmarkBF16(b *testing.B) { benchmarkInference(b, PlanOptions{AMP: tensor.BFloat16}) }

func benchmarkInference(b *testing.B, o PlanOptions) {
	for _, batch := range []int{1, 8, 16} {
		b.Run(fmt.Sprintf("batch %d", batch), func(b *testing.B) {
			o.Batch = batch
			p := startInference(b, o)
			p.run(nn.SegmentForward) // transforms weights
			best := slices.Clone(p.exe.StepNanos())
			for b.Loop() {
				if err := p.exe.Run(b.Context(), nn.SegmentForward); err != nil {
					b.Fatal(err)
				}
				for i, t := range p.exe.StepNanos() {
					best[i] = min(best[i], t)
				}
			}
			b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "images/s")
			b.ReportMetric(float64(p.plan.ArenaBytes+p.exe.ScratchBytes())/(1<<20), "MiB-activations")
			logSteps(b, p.plan, best)
		})
	}
}

// logSteps logs the shortest time of each step and its rate, the slowest first, and
// reports their sum: what an iteration takes that nothing disturbs.
func logSteps(b *testing.B, plan *nn.Plan, nanos []int64) {
	b.Helper()
	order, total, flops := make([]int, len(nanos)), int64(0), int64(0)
	for i := range order {
		order[i] = i
		total += nanos[i]
		flops += plan.Steps[i].FLOPs
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(nanos[j], nanos[i]) })
	lines := fmt.Sprintf("%.2f ms, %.1f GFLOP/s\n", float64(total)/1e6, float64(flops)/float64(total))
	for _, i := range order {
		s := &plan.Steps[i]
		lines += fmt.Sprintf("%8.3f ms %5.1f %% %7.1f GFLOP/s  %s\n",
			float64(nanos[i])/1e6, 100*float64(nanos[i])/float64(total), float64(s.FLOPs)/float64(max(nanos[i], 1)), s.Name)
	}
	b.Log(lines)
	b.ReportMetric(float64(total)/1e6, "ms-of-best-steps")
}

func startInference(b *testing.B, o PlanOptions) *program {
	b.Helper()
	c := DefaultConfig()
	n, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := n.InferencePlan(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	p := load(b, n, plan, cpu.Options{Threads: runtime.GOMAXPROCS(0)})
	p.write(DiffractionInput, sine(c, o.Batch))
	return p
}
