package prism_test

import (
	"runtime"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// The plan of the initialisation is gone before that of the first sample is there, and
// that one before the next: memory is not 0 in between.
func TestMemoryIsKnownBetweenTwoPlans(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"init_iterations=3", "init_cycles=1"})...)
	r := prepared(t, s, object, 1)
	rec, changes := new(profiles.Iteration), 0
	for i := range 9 {
		*rec = profiles.Iteration{}
		out, err := r.Iterate(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		if out.MemoryChanged {
			changes++
		}
		if m := r.Memory(); m.Parts[prism.MemoryWeights] == 0 || m.Parts[prism.MemoryGradients] == 0 || m.Parts[prism.MemoryMoments] == 0 || m.Parts[prism.MemoryActivations] == 0 || m.Parts[prism.MemoryInputs] == 0 {
			t.Errorf("after iteration %d (%v): %+v", i, rec.Kind, m)
		}
		if out.Finished {
			break
		}
	}
	if changes != 2 {
		t.Errorf("%d changes of plans were told, want those of the first and the second sample", changes)
	}
}

// What the categories tell is all of the heap that lives but the object, to 1 %.
func TestMemoryIsWhatLives(t *testing.T) {
	s, object := resolved(t, "baseline", "init_iterations=0", "threshold=0", "iterations=2")
	before := living()
	r := prepared(t, s, object, 1)
	rec := new(profiles.Iteration)
	for range 5 {
		*rec = profiles.Iteration{}
		if _, err := r.Iterate(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	lives, told := living()-before, r.Memory()
	t.Logf("%d bytes live, %d told: %+v", lives, told.Total(), told)
	if d := float64(told.Total()-lives) / float64(lives); d < -0.01 || d > 0.01 {
		t.Errorf("%+.1f %% beside what lives", 100*d)
	}
	runtime.KeepAlive(object)
}

// A setting that was switched and is back leaves nothing of what it held: the run holds what one holds that never switched it.
func TestMemoryForgetsASwitch(t *testing.T) {
	for _, key := range []string{"fused_telescope", "pruned_fft", "shared_spectrum", "fused_optimizer", "checkpointing"} {
		var held [2]int64
		for switched := range 2 {
			s, object := resolved(t, "baseline", "init_iterations=0", "threshold=0", "iterations=4")
			r, was := prepared(t, s, object, 1), s.Values().Get(key)
			for i := range 12 {
				if switched == 1 && (i == 4 || i == 8) {
					value := was
					if i == 4 {
						value = map[string]string{"true": "false", "false": "true"}[was]
					}
					s, _ := resolved(t, "baseline", "init_iterations=0", "threshold=0", "iterations=4", key+"="+value)
					if err := r.Apply(t.Context(), s.Values()); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := r.Iterate(t.Context(), new(profiles.Iteration)); err != nil {
					t.Fatal(err)
				}
			}
			m, info := r.Memory(), r.Info()
			held[switched] = m.Needed(&info.Schema)
		}
		if held[0] != held[1] {
			t.Errorf("%s: %d bytes, and %d where it was switched and is back", key, held[0], held[1])
		}
	}
}

// living is how many bytes of the heap live.
func living() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
