package prism_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/profilestest"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// Twenty iterations with the gradients of convolutions' weights used as they are
// computed give the bits of twenty that store them, under every set of kernels, on every
// number of threads, and with the optimiser fused for a part of them only.
func TestFusedOptimizerTrainsToTheSameBits(t *testing.T) {
	type mode struct {
		amp      tensor.DType
		products nn.Products
	}
	modes := []mode{{tensor.Float32, nn.Exact}, {tensor.BFloat16, nn.Exact}, {tensor.Float32, nn.BF16x3}, {tensor.Float16, nn.Exact}}
	for _, kernels := range someKernels() {
		for _, m := range modes {
			for _, amsgrad := range []bool{false, true} {
				config := prism.DecoderConfig{Size: 64, ObjectSize: 50, BatchNorm: !amsgrad, Seed: 5, AMSGrad: amsgrad}
				train := func(threads int, fused func(i int) bool, checkpointing, factored bool) *bench {
					b := newBenchOn(t, config, cpu.Options{Kernels: kernels, Threads: threads})
					o := prism.PlanOptions{AMP: m.amp, Products: m.products, SharedSpectrum: true, Fused: true, Pruned: true,
						Checkpointing: checkpointing, Factored: factored}
					stored := trainable(b, o)
					o.FusedOptimizer = true
					atOnce := trainable(b, o)
					for i := range 20 {
						if fused(i) {
							atOnce.iterate()
						} else {
							stored.iterate()
						}
					}
					return b
				}
				name := fmt.Sprintf("%s, %v, %v, AMSGrad %v", kernels, m.amp, m.products, amsgrad)
				never, always := func(int) bool { return false }, func(int) bool { return true }
				want := train(1, never, false, false)
				for threads := 1; threads <= 4; threads++ {
					sameState(t, fmt.Sprintf("%s, %d threads", name, threads), train(threads, always, false, false), want)
				}
				sameState(t, name+", with checkpointing", train(2, always, true, true), want)
				sameState(t, name+", switched", train(2, func(i int) bool { return i%5 > 2 }, false, false), want)
				factors := train(2, never, false, true)
				sameState(t, name+", with factors", factors, want)
				for _, v := range want.decoder.Model().Variables() {
					if v.Category == nn.Gradients && !slices.Equal(factors.read(v.Name), want.read(v.Name)) {
						t.Errorf("%s, with factors: %s differs", name, v.Name)
					}
				}
			}
		}
	}
}

// someKernels are the fastest kernels and plain Go, or all where tests are exhaustive.
func someKernels() []string {
	names := cpu.KernelNames()
	if profilestest.Exhaustive() || len(names) < 3 {
		return names
	}
	return []string{names[0], names[len(names)-1]}
}

// sameState compares all variables but the gradients, which not everybody keeps.
func sameState(t *testing.T, name string, got, want *bench) {
	t.Helper()
	for _, v := range want.decoder.Model().Variables() {
		if v.Category != nn.Gradients && !slices.Equal(got.read(v.Name), want.read(v.Name)) {
			t.Errorf("%s: %s differs", name, v.Name)
			return
		}
	}
}

// A fused plan keeps no gradient of a convolution's weights, and tells what it spent on
// gradients from what it spent on Adam. The first layer's image has its gradient from the
// same pass over the weights, if those that it wants are the ones updated and not rounded. In
// float16 nothing is fused: whether the step is taken is known when all gradients are.
func TestFusedOptimizerKeepsNoGradients(t *testing.T) {
	for _, amp := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
		b := smallBench(t, 3)
		l := trainable(b, prism.PlanOptions{AMP: amp, FusedOptimizer: true})
		l.iterate()
		kept, fused, together := 0, 0, 0
		for _, buffer := range l.Plan.Buffers {
			if buffer.Variable >= 0 && buffer.Category == nn.Gradients && strings.HasSuffix(buffer.Name, ".weight.grad") && strings.HasPrefix(buffer.Name, "conv") {
				kept++
			}
		}
		for i, step := range l.Plan.Steps {
			switch op := step.Op.(type) {
			case nn.ConvAdam, nn.GradientShare:
				want := nn.PhaseOptimizer
				if _, share := op.(nn.GradientShare); share {
					want = nn.PhaseBackward
				}
				fused++
				if conv, ok := op.(nn.ConvAdam); ok && conv.GradInput {
					together++
				}
				if nanos := l.Exe.StepNanos()[i]; nanos <= 0 || step.FLOPs <= 0 || step.Phase != want {
					t.Errorf("%v: %q took %d ns of %v for %d operations", amp, step.Name, nanos, step.Phase, step.FLOPs)
				}
			}
		}
		if scaled := amp == tensor.Float16; (kept > 0) != scaled || (fused == 0) != scaled {
			t.Errorf("%v: %d gradients kept, %d fused steps", amp, kept, fused)
		}
		alone := slices.ContainsFunc(l.Plan.Steps, func(s nn.Step) bool { return s.Name == "layer 1 convT dX" })
		if once := amp != tensor.Float16; (together == 1) != once || alone == once {
			t.Errorf("%v: %d image gradients with updates, the first layer's alone %v", amp, together, alone)
		}
	}
}

// The first layer's gradient is kept as factors where Adam is its only reader and takes it as it is; a plan that stores
// it, on the same state, replaces them.
func TestGradientsAreKeptAsFactors(t *testing.T) {
	for name, c := range map[string]struct {
		o    prism.PlanOptions
		want int
	}{
		"float32":       {prism.PlanOptions{Factored: true}, 1},
		"bf16":          {prism.PlanOptions{Factored: true, AMP: tensor.BFloat16}, 1},
		"fp16":          {prism.PlanOptions{Factored: true, AMP: tensor.Float16}, 0},
		"bf16x3":        {prism.PlanOptions{Factored: true, Products: nn.BF16x3}, 0},
		"fused":         {prism.PlanOptions{Factored: true, FusedOptimizer: true}, 0},
		"not asked for": {prism.PlanOptions{}, 0},
	} {
		b := smallBench(t, 3)
		l := trainable(b, c.o)
		factored := 0
		for _, step := range l.Plan.Steps {
			if _, ok := step.Op.(nn.ConvTranspose2DGradWeight); !ok || !l.Plan.Buffers[step.Out[0]].Factored {
				continue
			}
			factored++
			if g := &l.Plan.Buffers[step.Out[0]]; g.Name != "conv0.weight.grad" || step.FLOPs != 0 || step.Bytes >= g.Bytes() {
				t.Errorf("%s: %q keeps %q as factors, with %d operations and %d bytes", name, step.Name, g.Name, step.FLOPs, step.Bytes)
			}
		}
		if factored != c.want {
			t.Errorf("%s: %d gradients are kept as factors, want %d", name, factored, c.want)
		}
	}
	gradients := func(factored ...bool) (all [][]float32) {
		b := smallBench(t, 3)
		plans := map[bool]*loaded{false: trainable(b, prism.PlanOptions{}), true: trainable(b, prism.PlanOptions{Factored: true})}
		for _, f := range factored {
			plans[f].iterate()
			all = append(all, b.read("conv0.weight.grad"))
		}
		return all
	}
	want := gradients(false, false, false)
	for i, got := range gradients(true, false, true) {
		if !slices.Equal(got, want[i]) || slices.Max(got) <= 0 {
			t.Errorf("the gradient of iteration %d differs", i)
		}
	}
}

// The memory account shows what the fused optimiser saves, and that it is allocated
// again.
func TestFusedOptimizerFreesTheGradients(t *testing.T) {
	r, rec := inSecondSample(t)
	stored := r.Memory().Parts[prism.MemoryGradients]
	for _, fused := range []bool{true, false} {
		s, _ := resolved(t, "", append([]string{fmt.Sprintf("fused_optimizer=%v", fused)}, steadySettings...)...)
		s.Iterations = 1 << 20
		if err := r.Apply(t.Context(), s.Values()); err != nil {
			t.Fatal(err)
		}
		iterate(t, r, rec)
		if got := r.Memory().Parts[prism.MemoryGradients]; fused && got > stored/20 || !fused && got != stored || got == 0 {
			t.Errorf("fused %v: %d bytes of gradients, %d before", fused, got, stored)
		}
	}
}
