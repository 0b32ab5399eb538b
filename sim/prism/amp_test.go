package prism_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// relative is |x−y|/|y| in the Euclidean norm.
func relative(x, y []float32) float64 {
	var d, n float64
	for i := range x {
		d += math.Pow(float64(x[i])-float64(y[i]), 2)
		n += math.Pow(float64(y[i]), 2)
	}
	return math.Sqrt(d / n)
}

// precisions are the modes of mixed precision, the first without.
var precisions = []prism.PlanOptions{
	{}, {AMP: tensor.BFloat16}, {Products: nn.BF16x3}, {AMP: tensor.Float16},
}

func precisionName(o prism.PlanOptions) string {
	if o.Products != nn.Exact {
		return o.Products.String()
	}
	return o.AMP.String()
}

// Mixed precision keeps the direction of the gradient. A rounding errs by up to
// ε = 2⁻⁹ in bf16 and 2⁻¹² in fp16. That moves a share of order ε of the pixels
// across a ReLU's corner, and each switches its part of the gradient off or on,
// so that the gradient is off by some multiple of √ε: 0.04 and 0.016 a layer, and
// there are five of them. Three products of bf16 err by up to 2⁻¹⁷: 0.003 a layer. Under
// every set of kernels; the number of threads makes no difference.
func TestMixedPrecisionGradientsAreClose(t *testing.T) {
	g := openGolden(t)
	for _, kernels := range cpu.KernelNames() {
		gradients := func(threads int, o prism.PlanOptions) map[string][]float32 {
			b := goldenBenchOn(t, g, cpu.Options{Kernels: kernels, Threads: threads})
			b.goldenPlan(g, o).iterate()
			all := map[string][]float32{}
			for _, name := range b.decoder.Model().ParameterNames() {
				all[name] = b.read(name + ".grad")
			}
			return all
		}
		exact := gradients(1, precisions[0])
		for i, limit := range []float64{1: 0.3, 2: 0.015, 3: 0.1} {
			if i == 0 {
				continue
			}
			amp := precisionName(precisions[i])
			mixed := gradients(1, precisions[i])
			for name, got := range mixed {
				off := relative(got, exact[name])
				if !(off <= limit) || off == 0 {
					t.Errorf("%s, %v: gradient of %s is off by %.3g of its size, allowed above 0 and up to %g", kernels, amp, name, off, limit)
				}
			}
			for threads := 2; threads <= 4; threads++ {
				if !maps.EqualFunc(gradients(threads, precisions[i]), mixed, slices.Equal) {
					t.Errorf("%s, %v: other gradients on %d threads", kernels, amp, threads)
				}
			}
		}
	}
}

func TestOverflowSkipsTheStepAndHalvesTheScale(t *testing.T) {
	b := smallBench(t, 2)
	l := trainable(b, prism.PlanOptions{AMP: tensor.Float16})
	l.iterate()
	if scale, found := l.output(nn.GradientScaleOutput)[0], l.output(nn.OverflowOutput)[0]; scale != nn.InitialScale || found != 0 {
		t.Fatalf("a good step: scale %v, overflow %v", scale, found)
	}
	kept := map[string][]float32{}
	for _, v := range b.decoder.Model().Variables() {
		if v.Category == nn.Moments || b.isParameter(v.Name) {
			kept[v.Name] = b.read(v.Name)
		}
	}
	const huge = 1 << 34 // a pixel's gradient is about 1e-3, and fp16 ends at 65,504
	b.write(nn.ScaleVariable, []float32{huge})
	l.iterate()
	if found, scale := l.output(nn.OverflowOutput)[0], l.output(nn.GradientScaleOutput)[0]; found != 1 || scale != huge/2 {
		t.Errorf("an overflow: found %v, scale %v, want 1 and %v", found, scale, float32(huge/2))
	}
	if good := b.read(nn.GoodVariable)[0]; good != 0 {
		t.Errorf("%v good steps after an overflow", good)
	}
	for name, before := range kept {
		for i, v := range b.read(name) {
			if v != before[i] {
				t.Fatalf("%s[%d] became %v from %v in a step that was skipped", name, i, v, before[i])
			}
		}
	}
	for range 20 {
		if l.output(nn.OverflowOutput)[0] == 0 {
			break
		}
		l.iterate()
	}
	if b.read(nn.StepVariable)[0] != 2 {
		t.Errorf("the scale did not come down to a step that fits: %v", l.output(nn.GradientScaleOutput)[0])
	}
}

func (b *bench) isParameter(name string) bool {
	for _, n := range b.decoder.Model().ParameterNames() {
		if n == name {
			return true
		}
	}
	return false
}

func TestScaleDoublesAfterManyGoodSteps(t *testing.T) {
	b := smallBench(t, 2)
	l := trainable(b, prism.PlanOptions{AMP: tensor.Float16})
	b.write(nn.ScaleVariable, []float32{1024})
	b.write(nn.GoodVariable, []float32{1998})
	for i, want := range []float32{1024, 2048, 2048} {
		l.iterate()
		if got := l.output(nn.GradientScaleOutput)[0]; got != want {
			t.Errorf("after %d good steps: scale %v, want %v", 1999+i, got, want)
		}
	}
}

// Precision may change at any iteration: the plans share weights and moments, and
// training goes on as it would have in float32.
func TestPrecisionChangesWhileTraining(t *testing.T) {
	const iterations = 60
	train := func(options ...prism.PlanOptions) (first, last float32) {
		b := smallBench(t, 2)
		var plans []*loaded
		for _, o := range options {
			plans = append(plans, trainable(b, o))
		}
		for i := range iterations {
			l := plans[i/5%len(plans)]
			l.iterate()
			last = l.output(prism.LossOutput)[0]
			if i == 0 {
				first = last
			}
		}
		if k := b.read(nn.StepVariable)[0]; k != iterations {
			t.Errorf("%v steps were counted of %d", k, iterations)
		}
		return first, last
	}
	first, alone := train(prism.PlanOptions{})
	_, mixed := train(prism.PlanOptions{SharedSpectrum: true}, prism.PlanOptions{AMP: tensor.BFloat16},
		prism.PlanOptions{Products: nn.BF16x3},
		prism.PlanOptions{AMP: tensor.Float16, SharedSpectrum: true})
	// A tenth of what float32 gained: noise of single steps, far above roundings.
	if gained := first - alone; !(gained > 0.1*first) || !(math.Abs(float64(mixed-alone)) < 0.1*float64(gained)) {
		t.Errorf("the loss went from %v to %v, with changes to %v", first, alone, mixed)
	}
}

// Mixed precision halves what lies between the layers of the decoder, and holds 16-bit
// copies of the weights besides, which are more: that is why it takes more memory.
func TestMixedPrecisionTakesMoreMemoryForCopiesOfTheWeights(t *testing.T) {
	d, err := prism.NewDecoder(prism.DecoderConfig{Size: 256, ObjectSize: 64, BatchNorm: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	plan := func(amp tensor.DType) (*nn.Plan, int64) {
		p, err := d.ProgressivePlan(t.Context(), prism.PlanOptions{AMP: amp, Apertures: 1, SharedSpectrum: true, Fused: true, Pruned: true})
		if err != nil {
			t.Fatal(err)
		}
		between := int64(0)
		for i := range p.Buffers {
			if b := &p.Buffers[i]; b.Variable < 0 && strings.HasPrefix(b.Name, "layer") && !strings.Contains(b.Name, "weight") {
				between += b.Bytes()
			}
		}
		return p, between
	}
	full, between := plan(tensor.Float32)
	half, betweenHalf := plan(tensor.BFloat16)
	if share := float64(betweenHalf) / float64(between); share > 0.6 {
		t.Errorf("what lies between the layers takes %.0f %% of float32's", 100*share)
	}
	copies, weights := half.ArenaUsage()[nn.Weights], half.VariableUsage(d.Model().Variables())[nn.Weights]
	if full.ArenaUsage()[nn.Weights] != 0 || copies < weights*45/100 || copies > weights/2 {
		t.Errorf("%d bytes of copies of %d bytes of weights", copies, weights)
	}
	if half.ArenaBytes <= full.ArenaBytes || half.ArenaBytes-copies >= full.ArenaBytes {
		t.Errorf("the plan takes %d bytes, %d of them copies of weights; %d in float32", half.ArenaBytes, copies, full.ArenaBytes)
	}
}

// The norm is that of all stored gradients, without fp16's factor; a fused optimiser stores none.
func TestGradientNormIsOfUnscaledGradients(t *testing.T) {
	norms := map[string]float64{}
	for _, amp := range []string{"off", "bf16x3", "fp16"} {
		s, object := resolved(t, "", slices.Concat(steadySettings, []string{"amp=" + amp, "size=64", "object_size=32", "iterations=100"})...)
		r := prepared(t, s, object, 1)
		var rec profiles.Iteration
		iterate(t, r, &rec)
		norm, known := r.GradientNorm()
		if !known || !(norm > 0) || math.IsInf(norm, 0) {
			t.Fatalf("%s: %g, %v", amp, norm, known)
		}
		norms[amp] = norm
	}
	if math.Abs(norms["bf16x3"]/norms["off"]-1) > 1e-2 || math.Abs(norms["fp16"]/norms["off"]-1) > 0.1 {
		t.Errorf("%v", norms)
	}
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"fused_optimizer=true"})...)
	r := prepared(t, s, object, 1)
	var rec profiles.Iteration
	iterate(t, r, &rec)
	if norm, known := r.GradientNorm(); known {
		t.Errorf("a fused optimiser's gradients have the norm %g", norm)
	}
}
