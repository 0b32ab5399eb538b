package prism_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// The fused telescope, pruned or not, changes nothing but rounding: neither losses nor
// gradients, whatever the loss, the sharing of the spectrum and the gradient scaler.
func TestFusedTelescopeGivesTheSameNumbers(t *testing.T) {
	for _, loss := range []string{"l1", "l2"} {
		for _, normalize := range []bool{true, false} {
			spec, err := prism.ParseLoss(loss, normalize, prism.CompositeWeights{})
			if err != nil {
				t.Fatal(err)
			}
			for _, amp := range []tensor.DType{tensor.Float32, tensor.Float16} {
				plain := prism.PlanOptions{Loss: spec, AMP: amp, SharedSpectrum: true}
				for _, shared := range []bool{true, false} {
					for _, pruned := range []bool{true, false} {
						name := fmt.Sprintf("%s, normalised %v, %v, shared %v, pruned %v", loss, normalize, amp, shared, pruned)
						fused := plain
						fused.Fused, fused.SharedSpectrum, fused.Pruned = true, shared, pruned
						sameTraining(t, name, fused, plain, amp)
					}
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
	b := smallBench(t, 4)
	fused := trainable(b, prism.PlanOptions{Fused: true, Pruned: true, SharedSpectrum: true})
	plain := trainable(b, prism.PlanOptions{})
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

func TestFusedTelescopeHasTheSameBitsOnAnyNumberOfThreads(t *testing.T) {
	run := func(threads int) []float32 {
		b := smallBench(t, 5)
		b.backend.SetThreads(threads)
		l := trainable(b, prism.PlanOptions{Fused: true, Pruned: true, SharedSpectrum: true})
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

// The time of a fused step is divided over its phases, none of which is left out.
func TestFusedTelescopeTellsItsPhasesApart(t *testing.T) {
	b := smallBench(t, 6)
	l := trainable(b, prism.PlanOptions{Fused: true, Pruned: true, SharedSpectrum: true})
	l.iterate()
	phases := map[profiles.Phase]bool{}
	for i, step := range l.plan.Steps {
		switch step.Op.(type) {
		case nn.FFT, nn.Loss, nn.ModulusFlip:
			t.Errorf("step %q is not fused", step.Name)
		case nn.Measure, nn.MeasureShare:
			if nanos := l.exe.StepNanos()[i]; nanos <= 0 {
				t.Errorf("%q took %d ns", step.Name, nanos)
			}
			phases[step.Phase] = true
		}
	}
	if !phases[profiles.Telescope] || !phases[profiles.Loss] || !phases[profiles.Backward] {
		t.Errorf("phases %v, want telescope, loss and backward", phases)
	}
}

// Several apertures and losses that need whole images keep their operators.
func TestOnlyPointwiseLossesOfOneApertureAreFused(t *testing.T) {
	ssim, err := prism.ParseLoss("ssim", true, prism.CompositeWeights{})
	if err != nil {
		t.Fatal(err)
	}
	b := smallBench(t, 7)
	for _, o := range []prism.PlanOptions{{Fused: true, Loss: ssim}, {Fused: true, Apertures: 2}, {Fused: true, Layers: true}} {
		p, err := b.decoder.ProgressivePlan(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range p.Steps {
			if _, fused := step.Op.(nn.Measure); fused {
				t.Errorf("%+v: step %q", o, step.Name)
			}
		}
	}
}

// Sizes whose transforms begin with another radix, objects that no strip of sixteen
// fits, and every set of kernels.
func TestFusedTelescopeOfEverySize(t *testing.T) {
	for _, name := range cpu.KernelNames() {
		for _, c := range [][2]int{{16, 16}, {32, 9}, {64, 20}, {128, 128}, {256, 50}, {512, 16}} {
			var numbers [2][]float32
			for i, fused := range []bool{true, false} {
				b := newBenchOn(t, prism.DecoderConfig{Size: c[0], ObjectSize: c[1], Latent: 64, Channels: channelsFor(c[1]), Seed: 8},
					cpu.Options{Kernels: name, Threads: 2})
				l := trainable(b, prism.PlanOptions{Fused: fused, Pruned: true, SharedSpectrum: true})
				l.input(nn.LearningRateInput, 0)
				l.iterate()
				numbers[i] = append(b.read("conv0.weight.grad"), l.output(prism.LossOldOutput)[0], l.output(prism.LossNewOutput)[0])
			}
			if off := relative(numbers[0], numbers[1]); !(off < 1e-4) {
				t.Errorf("%s, %d/%d: differs by %.3g", name, c[0], c[1], off)
			}
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
