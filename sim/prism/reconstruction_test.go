package prism_test

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/optics"
	"prismtop/sim/picture"
	"prismtop/sim/prism"
)

// steadySettings keep a 32-pixel run in its second sample for ever.
var steadySettings = []string{"size=32", "object_size=16", "radius=5", "roi_diameter=20", "samples=3", "passes=1",
	"iterations=2", "cycles=1", "init_iterations=0", "threshold=0", "channels="}

// resolved is a preset's settings with some set otherwise, and the moon at their sizes.
func resolved(t *testing.T, name string, sets ...string) (prism.Settings, *picture.Object) {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{prism.Presets()}, Preset: name, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	s := prism.From(v)
	object, err := picture.Builtin(t.Context(), "moon", picture.Options{Size: s.Size, ObjectSize: s.ObjectSize})
	if err != nil {
		t.Fatal(err)
	}
	return s, object
}

// prepared is a reconstruction on the processor that has not begun.
func prepared(t *testing.T, s prism.Settings, object *picture.Object, threads int) *prism.Reconstruction {
	t.Helper()
	plans := host.NewPlanCache(s.FFTCache, nil)
	backend, err := cpu.New(cpu.Options{Threads: threads, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	r, err := prism.New(t.Context(), s, object, prism.Device{Backend: backend, Host: host.New(host.Options{
		Kernels: backend.Set(), Plans: plans, Parallel: backend.Parallel(), Attach: backend.Attach,
	})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// inSecondSample is a reconstruction whose second sample has run a few iterations
// and has many more to come, and the record that they fill in.
func inSecondSample(t *testing.T, sets ...string) (*prism.Reconstruction, *profiles.Iteration) {
	t.Helper()
	s, object := resolved(t, "", slices.Concat(steadySettings, sets)...)
	r := prepared(t, s, object, 2)
	rec := new(profiles.Iteration)
	for range s.Iterations {
		iterate(t, r, rec)
	}
	s.Iterations = 1 << 20
	if err := r.Apply(t.Context(), s.Values()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		iterate(t, r, rec)
	}
	if rec.Kind == prism.KindInitialisation || rec.Unit != 1 || rec.InUnit != 4 {
		t.Fatalf("stage %v, sample %d, iteration %d of it", rec.Kind, rec.Unit, rec.InUnit)
	}
	return r, rec
}

// iterate runs an iteration that must not fail.
func iterate(t *testing.T, r *prism.Reconstruction, rec *profiles.Iteration) {
	t.Helper()
	*rec = profiles.Iteration{}
	if _, err := r.Iterate(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
}

// The settings have lists of their own beside those who read the names.
func TestEveryNameThatASettingTakesIsKnown(t *testing.T) {
	for key, known := range map[string]func(name string) error{
		"aperture": func(name string) error { _, err := optics.ParseApertureKind(name); return err },
		"loss": func(name string) error {
			_, err := prism.ParseLoss(name, true, prism.CompositeWeights{L1: 1})
			return err
		},
		"object": func(name string) error {
			_, err := picture.Builtin(t.Context(), name, picture.Options{Size: 64, ObjectSize: 32})
			return err
		},
	} {
		k, ok := prism.Table.Lookup(key)
		if !ok || len(k.Allowed) == 0 {
			t.Fatalf("%s is no setting with names", key)
		}
		for _, name := range k.Allowed {
			if err := known(name); err != nil {
				t.Errorf("%s = %s: %v", key, name, err)
			}
		}
	}
}

func TestTheSteadyLoopAllocatesNothing(t *testing.T) {
	for _, sets := range []string{
		"pattern=trainer",
		"pattern=remeasure",
		"pattern=remeasure noise=shot snr=30",
		"pattern=remeasure measurement_cache=false fft_cache=false mask_cache=false shared_spectrum=false",
		"pattern=remeasure faithful=true",
		"amp=bf16",
		"amp=bf16x3",
		"amp=fp16",
		"fused_telescope=false",
		"pruned_fft=false",
		"checkpointing=true",
		"checkpointing=true amp=fp16",
		"fused_optimizer=true",
		"fused_optimizer=true amp=bf16",
		"fused_optimizer=true amp=bf16x3 amsgrad=true",
		"loss=composite",
		"scheduler=plateau",
		"sample_length=10 mask_cache=false",
		"sample_length=10 pattern=remeasure measurement_cache=false",
	} {
		t.Run(strings.ReplaceAll(sets, " ", ","), func(t *testing.T) {
			r, rec := inSecondSample(t, strings.Fields(sets)...)
			if n := testing.AllocsPerRun(20, func() { iterate(t, r, rec) }); n != 0 {
				t.Errorf("%v allocations per iteration", n)
			}
		})
	}
}

// The schedule's best loss is of the loss that it was measured with: under one of a larger
// scale, which goes down as well, the learning rate stays.
func TestAnotherLossBeginsThePlateauAnew(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{
		"samples=60", "iterations=1", "cycles=1000", "scheduler=plateau", "loss=l2", "normalize_loss=false", "learning_rate=0.0005",
	})...)
	r := prepared(t, s, object, 2)
	rec := new(profiles.Iteration)
	for range 5 {
		iterate(t, r, rec)
	}
	under := rec.Series[prism.SeriesLossNew]
	s.Loss, s.NormalizeLoss = "l1", true
	if err := r.Apply(t.Context(), s.Values()); err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		iterate(t, r, rec)
		if i == 0 && rec.Series[prism.SeriesLossNew] < 2*under {
			t.Fatalf("l1 is %g where l2 was %g: no larger scale", rec.Series[prism.SeriesLossNew], under)
		}
	}
	if rec.Series[prism.SeriesLearningRate] != 0.0005 {
		t.Errorf("the learning rate is %g after 25 iterations that improved the loss to %g", rec.Series[prism.SeriesLearningRate], rec.Series[prism.SeriesLossNew])
	}
}
