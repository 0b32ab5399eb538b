package im2im_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// small is a training of planes of a few hundredths of a second an epoch.
var small = []string{"axes=2", "patch=32x32", "side=64", "cells=12", "noise=0.05", "volumes=8", "held_out=2", "batch=4", "patches_per_image=2", "epochs=12", "learning_rate=0.003",
	"limit_train_batches=4", "limit_val_batches=1", "window_batch=4", "augment=false", "threads=2"}

func configured(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{im2im.Presets()}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// begin prepares a task that leaves its weights in $XDG_STATE_HOME.
func begin(t testing.TB, v settings.Values) workload.Task {
	t.Helper()
	m := workloads.Of(v).Maker(workloads.Devices{})
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.New(t.Context(), v, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(task.Close)
	return task
}

// iterated is what iterations gave.
type iterated struct {
	bits []uint64 // of the losses and the measurements
	loss []float64
	last workload.Outcome
}

// iterate runs iterations until the end, or as many as given.
func iterate(t testing.TB, task workload.Task, most int) (r iterated) {
	t.Helper()
	schema := task.Info().Schema
	for i := 0; i < most && !r.last.Finished; i++ {
		var rec profiles.Iteration
		var err error
		if r.last, err = task.Iterate(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
		loss := rec.Series[im2im.SeriesLoss]
		r.loss, r.bits = append(r.loss, loss), append(r.bits, math.Float64bits(loss))
		for k, v := range r.last.Measured {
			if r.last.UnitEnded && k < len(schema.Series) {
				r.bits = append(r.bits, math.Float64bits(v))
			}
		}
		for phase, info := range schema.Phases {
			if rec.Phases[phase] <= 0 && !info.Looking {
				t.Errorf("iteration %d: the phase %s has no time", i, info.Name)
			}
		}
	}
	return r
}

// restored passes a state through a file.
func restored(t *testing.T, s *checkpoint.State) *checkpoint.Checkpoint {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.npz")
	if err := checkpoint.Write(path, &checkpoint.Run{Workload: "cyto"}, s); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A training learns to segment cells that it has not seen. The same seed gives the same bits
// on any number of threads and of loading workers, also from a checkpoint in the middle of an
// epoch; the weights that it leaves are those that a prediction finds, and their Dice is that
// of the training.
func TestATrainingLearnsToSegment(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	v := configured(t, small...)
	whole := begin(t, v)
	before, err := whole.(workload.Comparer).Quality(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := iterate(t, whole, 1000)
	after := want.last.Measured
	t.Logf("loss %.3f, then %.3f; validation %.3f; Dice %.3f, then %.3f", want.loss[0], want.loss[len(want.loss)-1],
		after[im2im.SeriesValLoss], before[im2im.SeriesSimilarity], after[im2im.SeriesSimilarity])
	if len(want.loss) != 48 || !want.last.Finished || !(want.loss[47] < 0.7*want.loss[0]) {
		t.Errorf("finished %v after the losses %v", want.last.Finished, want.loss)
	}
	if !(after[im2im.SeriesSimilarity] > 0.8) || !(after[im2im.SeriesValLoss] > 0) {
		t.Errorf("measured %v, before %v", after, before)
	}

	other, err := v.With(settings.Assignment{Key: "threads", Value: "1"}, settings.Assignment{Key: "workers", Value: "2"})
	if err != nil {
		t.Fatal(err)
	}
	first := begin(t, other)
	got := iterate(t, first, 6)
	s, err := first.(workload.Checkpointer).Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := begin(t, v)
	if err := second.(workload.Checkpointer).Resume(t.Context(), restored(t, s)); err != nil {
		t.Fatal(err)
	}
	rest := iterate(t, second, 6)
	if all := append(got.bits, rest.bits...); len(rest.loss) != 6 || !slices.Equal(all, want.bits[:len(all)]) {
		t.Error("a training with one thread and two workers that resumes from a checkpoint without workers differs")
	}

	said, err := whole.(workload.Finisher).Finish(t.Context())
	path := filepath.Join(state, "prismtop", "cyto", "weights-segmentation-2d.npz")
	if err != nil || said != "weights for predictions in "+path {
		t.Errorf("%q, %v", said, err)
	}
	predicted := predict(t, append(slices.Clone(small), "mode=predict", "batch=1", "passes=1")...)
	if d := predicted.last.Measured[im2im.SeriesSimilarity]; d != after[im2im.SeriesSimilarity] {
		t.Errorf("a prediction with these weights has Dice %v, the training %v", d, after[im2im.SeriesSimilarity])
	}
	saved(t, whole, path)
}

// predict runs a prediction to its end.
func predict(t *testing.T, sets ...string) iterated {
	t.Helper()
	return iterate(t, begin(t, configured(t, sets...)), 1000)
}

// saved saves a training, whose weights must be those of a file, beside older files and over
// them.
func saved(t *testing.T, task workload.Task, weights string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	for _, want := range []struct {
		fresh bool
		base  string
	}{{false, base}, {false, base}, {true, base + "-2"}} {
		paths, err := task.(workload.Saver).Save(t.Context(), base, want.fresh)
		if err != nil || !slices.Equal(paths, []string{want.base + ".npz", want.base + ".png"}) {
			t.Fatalf("%v, %v", paths, err)
		}
	}
	a, err := os.ReadFile(base + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(weights); err != nil || !slices.Equal(a, b) {
		t.Errorf("the saved weights are not those that were left: %v", err)
	}
}
