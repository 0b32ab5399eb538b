package cyto

import (
	"slices"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// BenchmarkTraining and BenchmarkPrediction compute a batch of eight volumes of CytoDL's
// training patch on two threads: exactly, by Winograd's F(4×4, 3×3), in bf16, and with less
// memory. GFLOP/s are the convolutions' multiplications and additions per time of the whole
// step.
func BenchmarkTraining(b *testing.B) {
	measureAll(b, PlanOptions{Loss: DiceBCE, Train: true}, nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
}

// See BenchmarkTraining.
func BenchmarkPrediction(b *testing.B) { measureAll(b, PlanOptions{}, nn.SegmentForward) }

func measureAll(b *testing.B, o PlanOptions, segments ...nn.Segment) {
	b.Run("exact", func(b *testing.B) { measure(b, o, segments...) })
	winograd, bf16, less := o, o, o
	winograd.Products = nn.Winograd
	b.Run("winograd", func(b *testing.B) { measure(b, winograd, segments...) })
	bf16.AMP = tensor.BFloat16
	b.Run("bf16", func(b *testing.B) { measure(b, bf16, segments...) })
	if less.Checkpointing = o.Train; o.Train {
		b.Run("checkpointing", func(b *testing.B) { measure(b, less, segments...) })
	}
}

func measure(b *testing.B, o PlanOptions, segments ...nn.Segment) {
	o.Batch, o.Sides = 8, [3]int{16, 32, 32}
	p := load(b, DefaultConfig(3), o, cpu.Options{Threads: 2})
	image := make([]float32, 8*16*32*32)
	for i := range image {
		image[i] = float32(i%97)/48 - 1
	}
	p.Write(ImageInput, image)
	if o.Train {
		p.Write(nn.LearningRateInput, []float32{LearningRate})
	}
	p.Run(segments...)
	flops := int64(0)
	for _, s := range p.Plan.Steps {
		switch s.Op.(type) {
		case nn.Conv3D, nn.Conv3DGradInput, nn.Conv3DGradWeight, nn.ConvTranspose3D, nn.ConvTranspose3DGradInput, nn.ConvTranspose3DGradWeight:
			flops += s.FLOPs
		}
	}
	least := slices.Clone(p.Exe.StepNanos())
	var times []float64
	for b.Loop() {
		begun := time.Now()
		p.Run(segments...)
		times = append(times, float64(time.Since(begun))/1e6)
		for i, n := range p.Exe.StepNanos() {
			least[i] = min(least[i], n)
		}
	}
	b.ReportMetric(float64(p.Plan.ArenaBytes+p.Exe.ScratchBytes())/1e6, "MB")
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "ms-median")
	if _, peak, reason := machine.ReadResident(); reason == "" {
		b.ReportMetric(float64(peak)/1e6, "MB-process-peak")
	}
	b.ReportMetric(float64(flops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	if testing.Verbose() {
		for i, s := range p.Plan.Steps {
			b.Logf("%-36s at least %9.3f ms, at most %7.1f GFLOP/s", s.Name, float64(least[i])/1e6, float64(s.FLOPs)/float64(least[i]+1))
		}
	}
}
