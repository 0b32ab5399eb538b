package prism_test

import (
	"math"
	"reflect"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// disc is a mask with a filled circle around a centre, in pixels from DC.
func disc(n int, cy, cx, r float64) []float32 {
	mask := make([]float32, n*n)
	for i := range n {
		for j := range n {
			if math.Hypot(float64(i-n/2)-cy, float64(j-n/2)-cx) <= r {
				mask[i*n+j] = 1
			}
		}
	}
	return mask
}

func smallBench(t testing.TB, seed uint64) *bench {
	return newBench(t, prism.DecoderConfig{Size: 32, ObjectSize: 16, BatchNorm: true, Seed: seed})
}

// trainable is a progressive plan over masks and targets drawn here.
func trainable(b *bench, o prism.PlanOptions) *loaded {
	l := b.load(b.decoder.ProgressivePlan, o)
	n := b.decoder.Config().Size
	l.input(prism.MaskOldInput, disc(n, 0, 0, 5)...)
	for k := range max(o.Apertures, 1) {
		l.input(prism.MaskNewInput(k, o.Apertures), disc(n, 3, float64(4-k), 5)...)
	}
	l.input(prism.TargetOldInput, disc(n, 0, 0, 4)...)
	l.input(prism.TargetNewInput, disc(n, 0, 1, 4)...)
	l.input(nn.LearningRateInput, 1e-2)
	return l
}

func TestInitialisationLearnsTheDisc(t *testing.T) {
	b := smallBench(t, 1)
	l := b.load(b.decoder.InitialisationPlan, prism.PlanOptions{})
	l.input(prism.TargetInput, disc(32, 0, 0, 6)...)
	l.input(nn.LearningRateInput, 1e-2)
	l.iterate()
	first := l.output(prism.LossOutput)[0]
	for range 100 {
		l.iterate()
	}
	if last := l.output(prism.LossNewOutput)[0]; !(last < first/3) {
		t.Errorf("the loss went from %v to %v", first, last)
	}
}

func TestFirstSampleDoublesTheNewLoss(t *testing.T) {
	b := smallBench(t, 1)
	l := b.load(b.decoder.FirstSamplePlan, prism.PlanOptions{})
	l.input(prism.MaskNewInput(0, 1), disc(32, 0, 0, 5)...)
	l.input(prism.TargetNewInput, disc(32, 0, 0, 4)...)
	l.input(nn.LearningRateInput, 0)
	l.iterate()
	old, fresh, total := l.output(prism.LossOldOutput)[0], l.output(prism.LossNewOutput)[0], l.output(prism.LossOutput)[0]
	if old != fresh || total != 2*fresh || !(fresh > 0) {
		t.Errorf("losses %v, %v and %v", old, fresh, total)
	}
}

// Every choice of loss trains, and the composite is the sum of its parts.
func TestEveryLossTrains(t *testing.T) {
	values := map[string]float64{}
	for _, name := range []string{"l1", "l2", "ssim", "ms-ssim", "composite"} {
		spec, err := prism.ParseLoss(name, false, prism.CompositeWeights{L1: 0.2, L2: 0.3, SSIM: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		b := smallBench(t, 1)
		l := trainable(b, prism.PlanOptions{Loss: spec})
		l.iterate()
		first := l.output(prism.LossOutput)[0]
		values[name] = float64(first)
		for range 30 {
			l.iterate()
		}
		if last := l.output(prism.LossOutput)[0]; !(last < 0.9*first) {
			t.Errorf("%s: the loss went from %v to %v", name, first, last)
		}
	}
	want := 0.2*values["l1"] + 0.3*values["l2"] + 0.5*values["ssim"]
	if math.Abs(values["composite"]-want) > 1e-5*want {
		t.Errorf("composite loss %v, its parts %v", values["composite"], want)
	}
}

// The switch of the shared spectrum changes nothing but rounding.
func TestSharedSpectrumGivesTheSameGradients(t *testing.T) {
	gradients := func(shared bool) []float32 {
		b := smallBench(t, 3)
		trainable(b, prism.PlanOptions{SharedSpectrum: shared}).iterate()
		return b.read("conv0.weight.grad")
	}
	if off := relative(gradients(true), gradients(false)); !(off < 1e-5) {
		t.Errorf("gradients differ by %.3g of their size", off)
	}
}

// A sample of several apertures is measured as the mean of their amplitudes.
func TestSeveralAperturesAreAveraged(t *testing.T) {
	b := smallBench(t, 3)
	l := trainable(b, prism.PlanOptions{Apertures: 2, Layers: true})
	l.input(nn.LearningRateInput, 0)
	l.iterate()
	mean := make([]float32, 32*32)
	for k := range 2 {
		single := trainable(b, prism.PlanOptions{Layers: true})
		single.input(prism.MaskNewInput(0, 1), disc(32, 3, float64(4-k), 5)...)
		single.input(nn.LearningRateInput, 0)
		single.iterate()
		for i, v := range single.output(prism.MeasuredNewOutput) {
			mean[i] += v / 2
		}
	}
	if off := relative(l.output(prism.MeasuredNewOutput), mean); !(off < 1e-6) {
		t.Errorf("measurements differ by %.3g of their size", off)
	}
}

// The same seed gives the same bits, on one thread as on two.
func TestSameSeedSameBits(t *testing.T) {
	for _, amp := range precisions {
		run := func(threads int) (losses, weights []float32) {
			b := smallBench(t, 5)
			b.backend.SetThreads(threads)
			l := trainable(b, amp)
			for range 10 {
				l.iterate()
				losses = append(losses, l.output(prism.LossOutput)[0])
			}
			return losses, b.read("conv1.weight")
		}
		losses, weights := run(2)
		again, same := run(2)
		if !reflect.DeepEqual(losses, again) || !reflect.DeepEqual(weights, same) {
			t.Errorf("%s: a second run differs", precisionName(amp))
		}
		again, same = run(1)
		if !reflect.DeepEqual(losses, again) || !reflect.DeepEqual(weights, same) {
			t.Errorf("%s: one thread and two differ", precisionName(amp))
		}
	}
}

func TestIterationAllocatesNothing(t *testing.T) {
	for _, amp := range precisions {
		amp.SharedSpectrum = true
		l := trainable(smallBench(t, 5), amp)
		l.iterate()
		if n := testing.AllocsPerRun(20, l.iterate); n != 0 {
			t.Errorf("%s: %v allocations per iteration", precisionName(amp), n)
		}
	}
}

// BenchmarkIteration is a progressive iteration of the baseline, 512/128, with
// the time of each phase.
func BenchmarkIteration(b *testing.B) {
	for _, amp := range precisions {
		amp.SharedSpectrum = true
		b.Run(precisionName(amp), func(b *testing.B) {
			l := trainable(newBench(b, prism.DecoderConfig{Size: 512, ObjectSize: 128, BatchNorm: true}), amp)
			var phases [nn.NumPhases]int64
			l.iterate()
			for b.Loop() {
				l.iterate()
				for i, n := range l.Exe.StepNanos() {
					phases[l.Plan.Steps[i].Phase] += n
				}
			}
			for p, n := range phases {
				if n > 0 {
					b.ReportMetric(float64(n)/float64(b.N)/1e6, nn.Phase(p).String()+"-ms")
				}
			}
		})
	}
}
