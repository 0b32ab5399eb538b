package prism_test

import (
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim/cpu"
	"prismtop/sim/optics"
	"prismtop/sim/picture"
	"prismtop/sim/prism"
)

// The plan of the initialisation is gone before that of the first sample is there, and
// that one before the next: memory is not 0 in between.
func TestMemoryIsKnownBetweenTwoPlans(t *testing.T) {
	s, _, err := preset.Resolve(preset.Sources{Sets: append(slices.Clone(steadySettings), "init_iterations=3", "init_cycles=1")})
	if err != nil {
		t.Fatal(err)
	}
	object, err := picture.Builtin("moon", picture.Options{Size: s.Size, ObjectSize: s.ObjectSize})
	if err != nil {
		t.Fatal(err)
	}
	plans := optics.NewPlanCache(s.FFTCache, nil)
	backend, err := cpu.New(cpu.Options{Threads: 1, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	r, err := prism.New(s, object, prism.Device{Backend: backend, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, changes := new(profiles.Iteration), 0
	for i := range 9 {
		*rec = profiles.Iteration{}
		out, err := r.Iterate(rec)
		if err != nil {
			t.Fatal(err)
		}
		if out.PlansChanged {
			changes++
		}
		if m := r.Memory(); m.Weights == 0 || m.Gradients == 0 || m.Moments == 0 || m.Activations == 0 || m.Inputs == 0 {
			t.Errorf("after iteration %d (%v): %+v", i, rec.Stage, m)
		}
		if out.Finished {
			break
		}
	}
	if changes != 2 {
		t.Errorf("%d changes of plans were told, want those of the first and the second sample", changes)
	}
}
