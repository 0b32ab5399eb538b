package prism_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/await/awaittest"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/prism"
)

// device is the processor as a run has it.
func device(t *testing.T) prism.Device {
	t.Helper()
	plans := host.NewPlanCache(true, nil)
	backend, err := cpu.New(cpu.Options{Threads: 2, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	return prism.Device{Backend: backend, Host: host.New(host.Options{
		Kernels: backend.Set(), Plans: plans, Parallel: backend.Parallel(), Attach: backend.Attach,
	})}
}

// However much there is to prepare, the context ends it.
func TestAContextEndsThePreparation(t *testing.T) {
	for _, sets := range [][]string{
		{"warmup_measurements=2147483647"},
		{"warmup_measurements=2147483647", "measurement_cache=false", "noise=composite", "snr=40", "readout_sigma=0.1"},
		{"warmup_measurements=2147483647", "sample_length=8", "faithful=true"},
	} {
		s, object := resolved(t, "", slices.Concat(steadySettings, sets)...)
		for _, looks := range []int{0, 100, 20_000} {
			ctx := awaittest.After(looks)
			if _, err := prism.New(ctx, s, object, device(t)); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, ended after %d looks: %v", sets, looks, err)
			}
		}
	}
}

// Every part of an iteration ends with its context: measuring, the masks, the plan's
// segments, the comparison at a sample's end.
func TestAContextEndsAnIteration(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"size=256", "object_size=128", "radius=12", "roi_diameter=100",
		"pattern=remeasure", "iterations=1"})...)
	cut := 0
	for looks := 0; ; looks += 97 {
		r := prepared(t, s, object, 2)
		var rec profiles.Iteration
		iterate(t, r, &rec)
		_, err := r.Iterate(awaittest.After(looks), &rec)
		if err == nil {
			break
		}
		if cut++; !errors.Is(err, context.Canceled) {
			t.Fatalf("ended after %d looks: %v", looks, err)
		}
	}
	if cut < 5 {
		t.Errorf("the context was looked at less than %d times", 97*cut)
	}
}

// A forward pass that is cut short spoils the device's output. What was kept before it
// stays; where nothing was, there is no reconstruction.
func TestAPassThatIsCutShortLeavesTheOutputThatWasKept(t *testing.T) {
	// Masks that are drawn every time make every iteration look at its context alike.
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=100", "mask_cache=false"})...)
	var rec profiles.Iteration
	cut := func(looks int, keep bool) *prism.Reconstruction {
		r := prepared(t, s, object, 1)
		if keep {
			r.KeepOutput()
		}
		for range 2 {
			iterate(t, r, &rec)
		}
		time.Sleep(2 * prism.QuickPass) // as an iteration that takes long
		if _, err := r.Iterate(awaittest.After(looks), &rec); !errors.Is(err, context.Canceled) {
			t.Fatalf("ended after %d looks: %v", looks, err)
		}
		return r
	}
	looks := 0
	for cut(looks, false).Reconstructed() {
		looks++ // until it is the pass that is cut short
	}
	twin := prepared(t, s, object, 1)
	if twin.Reconstructed() {
		t.Error("there is a reconstruction before the first iteration")
	}
	for range 2 {
		iterate(t, twin, &rec)
	}
	if r := cut(looks, true); !r.Reconstructed() || !slices.Equal(r.Output(), twin.Output()) {
		t.Errorf("ended after %d looks, the output of the iteration before is lost", looks)
	}
}
