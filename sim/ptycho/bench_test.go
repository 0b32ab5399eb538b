package ptycho

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
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
			p.Run(nn.SegmentForward) // transforms weights
			best := slices.Clone(p.Exe.StepNanos())
			for b.Loop() {
				if err := p.Exe.Run(b.Context(), nn.SegmentForward); err != nil {
					b.Fatal(err)
				}
				for i, t := range p.Exe.StepNanos() {
					best[i] = min(best[i], t)
				}
			}
			b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "images/s")
			b.ReportMetric(float64(p.Plan.ArenaBytes+p.Exe.ScratchBytes())/(1<<20), "MiB-activations")
			logSteps(b, p.Plan.Steps, best)
		})
	}
}

// BenchmarkMicrobatches runs a batch of 32 of the default network in microbatches.
func BenchmarkMicrobatches(b *testing.B) {
	for _, p := range []Precision{Float32, BF16} {
		for _, most := range []int{4, 8, 16, 32} {
			b.Run(fmt.Sprintf("%s %d", p, most), func(b *testing.B) {
				benchmarkMicrobatches(b, PlanOptions{Batch: 32, Microbatch: most}.With(p))
			})
		}
	}
}

func benchmarkMicrobatches(b *testing.B, o PlanOptions) {
	n, err := New(DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	plan, err := n.BatchPlan(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	p := loadBatch(b, n, plan, runtime.GOMAXPROCS(0))
	copy(p.Patterns(), sine(n.config, o.Batch))
	best := make([]int64, len(p.StepNanos()))
	for b.Loop() {
		if err := p.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		for i, t := range p.StepNanos() {
			if best[i] == 0 || t < best[i] {
				best[i] = t
			}
		}
	}
	b.ReportMetric(float64(o.Batch*b.N)/b.Elapsed().Seconds(), "images/s")
	b.ReportMetric(float64(p.Usage().Total()+p.ScratchBytes())/(1<<20), "MiB")
	logSteps(b, plan.Steps(), best)
}

// logSteps logs the shortest time of each step and its rate, the slowest first, and
// reports their sum: what an iteration takes that nothing disturbs.
func logSteps(b *testing.B, steps []nn.Step, nanos []int64) {
	b.Helper()
	order, total, flops := make([]int, len(nanos)), int64(0), int64(0)
	for i := range order {
		order[i] = i
		total += nanos[i]
		flops += steps[i].FLOPs
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(nanos[j], nanos[i]) })
	lines := fmt.Sprintf("%.2f ms, %.1f GFLOP/s\n", float64(total)/1e6, float64(flops)/float64(total))
	for _, i := range order {
		s := &steps[i]
		lines += fmt.Sprintf("%8.3f ms %5.1f %% %7.1f GFLOP/s  %s\n",
			float64(nanos[i])/1e6, 100*float64(nanos[i])/float64(total), float64(s.FLOPs)/float64(max(nanos[i], 1)), s.Name)
	}
	b.Log(lines)
	b.ReportMetric(float64(total)/1e6, "ms-of-best-steps")
}

func startInference(b *testing.B, o PlanOptions) *nntest.Program {
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
	p.Write(DiffractionInput, sine(c, o.Batch))
	return p
}
