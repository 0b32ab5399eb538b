package prism_test

import (
	"fmt"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// Twenty iterations with the decoder's activations computed again give the bits
// of twenty that keep them, in the loss of each and in every variable: under every set of
// kernels, in every mode of precision, and with all that fuses steps on or off.
func TestCheckpointingTrainsToTheSameBits(t *testing.T) {
	for _, kernels := range someKernels() {
		for _, precision := range precisions {
			for _, fused := range []bool{false, true} {
				o := precision
				o.SharedSpectrum, o.Fused, o.Pruned, o.FusedOptimizer = true, fused, fused, fused
				train := func(threads int, checkpointing bool) (losses []float32, b *bench) {
					b = newBenchOn(t, prism.DecoderConfig{Size: 64, ObjectSize: 64, BatchNorm: true, Seed: 5}, cpu.Options{Kernels: kernels, Threads: threads})
					o.Checkpointing = checkpointing
					l := trainable(b, o)
					for range 20 {
						l.iterate()
						losses = append(losses, l.output(prism.LossOutput)[0])
					}
					return losses, b
				}
				name := fmt.Sprintf("%s, %s, fused %v", kernels, precisionName(o), fused)
				kept, a := train(2, false)
				for _, threads := range []int{1, 3} {
					again, b := train(threads, true)
					if !slices.Equal(kept, again) {
						t.Errorf("%s: losses %v, with checkpointing on %d threads %v", name, kept, threads, again)
					}
					sameState(t, name, b, a)
					for _, p := range a.decoder.Model().ParameterNames() {
						if !fused && !slices.Equal(b.read(p+".grad"), a.read(p+".grad")) {
							t.Errorf("%s: gradient of %s differs on %d threads", name, p, threads)
						}
					}
				}
			}
		}
	}
}

// What checkpointing saves of the activations that are not the telescope's, by the
// accounts that the screen shows. The telescope's fields, which the loss wants at
// once, bound the saving from below.
func TestWhatCheckpointingSaves(t *testing.T) {
	for _, c := range []struct {
		size, object int
		amp          tensor.DType
		saves        float64 // share of the activations, at least
	}{
		{512, 128, tensor.Float32, 0.2},
		{1024, 512, tensor.Float32, 0.3},
		{1024, 1024, tensor.Float32, 0.3},
		{1024, 1024, tensor.BFloat16, 0.2},
	} {
		d, err := prism.NewDecoder(prism.DecoderConfig{Size: c.size, ObjectSize: c.object, BatchNorm: true})
		if err != nil {
			t.Fatal(err)
		}
		account := func(checkpointing bool) (int64, *nn.Plan) {
			p, err := d.ProgressivePlan(t.Context(), prism.PlanOptions{AMP: c.amp, SharedSpectrum: true, Checkpointing: checkpointing})
			if err != nil {
				t.Fatal(err)
			}
			return p.ArenaUsage()[nn.Activations], p
		}
		kept, _ := account(false)
		less, p := account(true)
		saved := 1 - float64(less)/float64(kept)
		t.Logf("%d/%d %v: activations of %.1f MiB, with checkpointing %.1f MiB, %.0f %% less",
			c.size, c.object, c.amp, float64(kept)/(1<<20), float64(less)/(1<<20), 100*saved)
		if saved < c.saves {
			t.Errorf("%d/%d %v: checkpointing saves %.0f %% of %d bytes, want %.0f %%", c.size, c.object, c.amp, 100*saved, kept, 100*c.saves)
		}
		if !slices.ContainsFunc(p.Steps, func(s nn.Step) bool { return s.Name == "layer 5 convT again" }) {
			t.Errorf("%d/%d: layer 5 is not computed again", c.size, c.object)
		}
	}
}
