package prism_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// The fused telescope, pruned or not, changes nothing but rounding: neither losses nor
// gradients, whatever the loss, the sharing of the spectrum and the gradient scaler.
func TestFusedTelescopeGivesTheSameNumbers(t *testing.T) {
	for _, c := range []struct {
		loss      string
		normalize bool
		apertures int
	}{
		{"l1", true, 1}, {"l1", false, 1}, {"l2", true, 1}, {"l2", false, 1}, {"ssim", false, 1}, {"ms-ssim", false, 1},
		{"composite", false, 1}, {"l1", true, 3}, {"composite", false, 2},
	} {
		spec, err := prism.ParseLoss(c.loss, c.normalize, prism.CompositeWeights{L1: 0.3, L2: 0.2, SSIM: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		for _, amp := range []tensor.DType{tensor.Float32, tensor.Float16} {
			plain := prism.PlanOptions{Loss: spec, AMP: amp, Apertures: c.apertures, SharedSpectrum: true}
			for _, shared := range []bool{true, false} {
				for _, pruned := range []bool{true, false} {
					name := fmt.Sprintf("%s of %d apertures, normalised %v, %v, shared %v, pruned %v",
						c.loss, c.apertures, c.normalize, amp, shared, pruned)
					fused := plain
					fused.Fused, fused.SharedSpectrum, fused.Pruned = true, shared, pruned
					sameTraining(t, name, fused, plain, amp)
				}
			}
		}
	}
}

// sameTraining compares the losses and a gradient of two iterations. In float16 the
// gradient before the convolutions is rounded to eleven bits, where an unlucky last
// bit of a sign or a sum shows.
func sameTraining(t *testing.T, name string, o, want prism.PlanOptions, amp tensor.DType) {
	t.Helper()
	tolerance := 1e-4
	if amp != tensor.Float32 {
		tolerance = 1e-2
	}
	run := func(o prism.PlanOptions) (losses [2]float32, gradient []float32) {
		b := smallBench(t, 3)
		l := trainable(b, o)
		l.input(nn.LearningRateInput, 0)
		l.iterate()
		l.iterate()
		return [2]float32{l.output(prism.LossOldOutput)[0], l.output(prism.LossNewOutput)[0]}, b.read("conv0.weight.grad")
	}
	losses, gradient := run(o)
	wantLosses, wantGradient := run(want)
	for i := range losses {
		if off := math.Abs(float64(losses[i]/wantLosses[i]) - 1); !(off < 1e-5) {
			t.Errorf("%s: loss %d is %v, unfused %v", name, i, losses[i], wantLosses[i])
		}
	}
	if off := relative(gradient, wantGradient); !(off < tolerance) {
		t.Errorf("%s: gradients differ by %.3g of their size", name, off)
	}
}

// The masks are inputs: their columns are found anew when they change, and when they
// become empty.
func TestFusedTelescopeFollowsItsMasks(t *testing.T) {
	for _, loss := range []prism.LossSpec{{}, lossNamed(t, "ssim")} {
		b := smallBench(t, 4)
		fused := trainable(b, prism.PlanOptions{Loss: loss, Fused: true, Pruned: true, SharedSpectrum: true})
		plain := trainable(b, prism.PlanOptions{Loss: loss})
		for i, mask := range [][]float32{disc(32, 0, 0, 2), disc(32, 5, -9, 4), make([]float32, 32*32), disc(32, -16, -16, 3), disc(32, 0, 0, 40)} {
			var gradients [2][]float32
			for j, l := range []*loaded{fused, plain} {
				l.input(nn.LearningRateInput, 0)
				l.input(prism.MaskNewInput(0, 1), mask...)
				l.iterate()
				gradients[j] = b.read("conv0.weight.grad")
			}
			got, want := fused.output(prism.LossNewOutput)[0], plain.output(prism.LossNewOutput)[0]
			if math.Abs(float64(got/want)-1) > 1e-5 {
				t.Errorf("mask %d: loss %v, unfused %v", i, got, want)
			}
			if off := relative(gradients[0], gradients[1]); !(off < 1e-4) {
				t.Errorf("mask %d: gradients differ by %.3g of their size", i, off)
			}
		}
	}
}

func TestFusedTelescopeHasTheSameBitsOnAnyNumberOfThreads(t *testing.T) {
	for _, loss := range []prism.LossSpec{{}, lossNamed(t, "ssim")} {
		run := func(threads int) []float32 {
			b := smallBench(t, 5)
			b.backend.SetThreads(threads)
			l := trainable(b, prism.PlanOptions{Loss: loss, Fused: true, Pruned: true, SharedSpectrum: true})
			for range 5 {
				l.iterate()
			}
			return b.read("conv1.weight")
		}
		want := run(1)
		for threads := 2; threads <= 4; threads++ {
			if !reflect.DeepEqual(run(threads), want) {
				t.Errorf("one thread and %d differ", threads)
			}
		}
	}
}

// The time of a fused step is divided over its phases, none of which is left out.
func TestFusedTelescopeTellsItsPhasesApart(t *testing.T) {
	b := smallBench(t, 6)
	l := trainable(b, prism.PlanOptions{Fused: true, Pruned: true, SharedSpectrum: true})
	l.iterate()
	phases := map[nn.Phase]bool{}
	for i, step := range l.Plan.Steps {
		switch step.Op.(type) {
		case nn.FFT, nn.Loss, nn.ModulusFlip:
			t.Errorf("step %q is not fused", step.Name)
		case nn.Measure, nn.MeasureShare:
			if nanos := l.Exe.StepNanos()[i]; nanos <= 0 {
				t.Errorf("%q took %d ns", step.Name, nanos)
			}
			phases[step.Phase] = true
		}
	}
	if !phases[nn.PhaseTelescope] || !phases[nn.PhaseLoss] || !phases[nn.PhaseBackward] {
		t.Errorf("phases %v, want telescope, loss and backward", phases)
	}
}

// Several apertures, losses that need whole images and plans that are asked for the
// measurements compare apart, but measure a strip at a time; sides that no strip fits
// keep their operators.
func TestFusedTelescopeServesWhatItCan(t *testing.T) {
	ssim := lossNamed(t, "ssim")
	for _, c := range []struct {
		size    int
		options prism.PlanOptions
		want    string
	}{
		{32, prism.PlanOptions{Fused: true}, "nn.Measure"},
		{32, prism.PlanOptions{Fused: true, Loss: ssim}, "nn.Amplitudes"},
		{32, prism.PlanOptions{Fused: true, Apertures: 2}, "nn.Amplitudes"},
		{32, prism.PlanOptions{Fused: true, Layers: true}, "nn.Amplitudes"},
		{32, prism.PlanOptions{Loss: ssim}, "nn.ModulusFlip"},
		{8, prism.PlanOptions{Fused: true, Loss: ssim}, "nn.ModulusFlip"},
	} {
		b := newBench(t, prism.DecoderConfig{Size: c.size, ObjectSize: 8, Seed: 7})
		for _, compile := range []func(context.Context, prism.PlanOptions) (*nn.Plan, error){b.decoder.FirstSamplePlan, b.decoder.ProgressivePlan} {
			p, err := compile(t.Context(), c.options)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, step := range p.Steps {
				switch step.Op.(type) {
				case nn.Measure, nn.Amplitudes, nn.ModulusFlip:
					got[fmt.Sprintf("%T", step.Op)] = true
					if step.Phase != nn.PhaseTelescope {
						t.Errorf("%q is in phase %v", step.Name, step.Phase)
					}
				}
			}
			if !got[c.want] || len(got) != 1 {
				t.Errorf("%d, %+v: measured by %v, want %s", c.size, c.options, got, c.want)
			}
		}
	}
}

// Sizes whose transforms begin with another radix, objects that no strip of sixteen
// fits, and every set of kernels.
func TestFusedTelescopeOfEverySize(t *testing.T) {
	for _, name := range cpu.KernelNames() {
		for _, c := range [][2]int{{16, 16}, {32, 9}, {64, 20}, {128, 128}, {256, 50}, {512, 16}} {
			for _, apertures := range []int{1, 3} { // the loss of three is a step of its own
				sameOfSize(t, name, c[0], c[1], apertures)
			}
		}
	}
}

func sameOfSize(t *testing.T, kernels string, size, object, apertures int) {
	t.Helper()
	var numbers [2][]float32
	for i, fused := range []bool{true, false} {
		b := newBenchOn(t, prism.DecoderConfig{Size: size, ObjectSize: object, Latent: 64, Channels: channelsFor(object), Seed: 8},
			cpu.Options{Kernels: kernels, Threads: 2})
		l := trainable(b, prism.PlanOptions{Apertures: apertures, Fused: fused, Pruned: true, SharedSpectrum: true})
		l.input(nn.LearningRateInput, 0)
		l.iterate()
		numbers[i] = append(b.read("conv0.weight.grad"), l.output(prism.LossOldOutput)[0], l.output(prism.LossNewOutput)[0])
	}
	if off := relative(numbers[0], numbers[1]); !(off < 1e-4) {
		t.Errorf("%s, %d/%d, %d apertures: differs by %.3g", kernels, size, object, apertures, off)
	}
}

func TestFusedTelescopeAllocatesNothing(t *testing.T) {
	for _, o := range []prism.PlanOptions{{}, {Loss: lossNamed(t, "ssim")}, {Apertures: 3}} {
		o.Fused, o.Pruned = true, true
		l := trainable(smallBench(t, 9), o)
		l.iterate()
		if n := testing.AllocsPerRun(20, l.iterate); n != 0 {
			t.Errorf("%+v: %v allocations", o, n)
		}
	}
}

// channelsFor is a narrow decoder for an object.
func channelsFor(size int) []int {
	channels := []int{4}
	for side := 4; side < size; side *= 2 {
		channels = append(channels, 4)
	}
	return append(channels, 1)
}
