package im2im_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/settings"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/workload"
)

// Every live setting changes during a training, whose loss stays that of the same weights
// to the rounding of the switch; the pictures are those of the schema.
func TestSettingsChangeWhileItTrains(t *testing.T) {
	v := configured(t, append(slices.Clone(small), "epochs=9")...)
	for _, set := range []string{"checkpointing=true", "winograd=true", "amp=bf16", "threads=1", "workers=2", "prefetch=1", "persistent_workers=true", "window_batch=2", "overlap=0.5"} {
		plain, changed := begin(t, v), begin(t, v)
		iterate(t, plain, 1)
		iterate(t, changed, 1)
		key, value, _ := strings.Cut(set, "=")
		w, err := v.Set(key, value)
		if err != nil {
			t.Fatal(err)
		}
		if err := changed.Apply(t.Context(), w); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		tolerance := map[string]float64{"amp": 0.02, "winograd": 1e-3}[key]
		want, got := iterate(t, plain, 1).loss[0], iterate(t, changed, 1).loss[0]
		if d := math.Abs(got - want); !(d <= tolerance*want) || key == "amp" && d == 0 { // images so small have few tiles of Winograd's
			t.Errorf("%s: the loss is %v, without it %v", set, got, want)
		}
		if key == "checkpointing" {
			less, more := changed.Memory().Parts[im2im.MemoryActivations], plain.Memory().Parts[im2im.MemoryActivations]
			if less >= more {
				t.Errorf("checkpointing takes activations of %d bytes instead of %d", less, more)
			}
		}
	}
	task := begin(t, v)
	if _, err := task.(workload.Comparer).Quality(t.Context()); err != nil {
		t.Fatal(err)
	}
	pictured(t, task)
}

// pictured checks that all pictures of a task show something, on a scale from 0 to 1.
func pictured(t *testing.T, task workload.Task) {
	t.Helper()
	for id, info := range task.Info().Schema.Pictures {
		p := task.(workload.Imager).Picture(id)
		low, high := slices.Min(p.Pixels), slices.Max(p.Pixels)
		if p.Width != 64 || len(p.Pixels) != p.Width*p.Height || !(low >= 0) || !(high <= 1) || !(high-low > 0.1) {
			t.Errorf("%s: %d×%d, from %g to %g", info.Name, p.Width, p.Height, low, high)
		}
	}
}

// Two replicas learn what one learns, to rounding, and from a checkpoint what they would have
// learned without it.
func TestReplicasLearnWhatOneLearns(t *testing.T) {
	v := configured(t, small...)
	two, err := v.Set("replicas", "2")
	if err != nil {
		t.Fatal(err)
	}
	one, both := iterate(t, begin(t, v), 4), begin(t, two)
	half := iterate(t, both, 2)
	s, err := both.(workload.Checkpointer).Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	resumed := begin(t, two)
	if err := resumed.(workload.Checkpointer).Resume(t.Context(), restored(t, s)); err != nil {
		t.Fatal(err)
	}
	got := append(half.loss, iterate(t, resumed, 2).loss...)
	for i, want := range one.loss {
		if math.Abs(got[i]-want) > 2e-5*want {
			t.Errorf("minibatch %d: the loss of two replicas is %v, of one %v", i, got[i], want)
		}
	}
	if rest := iterate(t, both, 2).loss; !slices.Equal(rest, got[2:]) {
		t.Errorf("replicas that go on from a checkpoint lose %v, those before it %v", got[2:], rest)
	}
	if _, err := two.Set("replicas", "3"); err != nil {
		t.Fatal(err)
	}
	three, _ := two.Set("replicas", "3")
	if err := three.Validate(); err == nil || !strings.Contains(err.Error(), "batch = 4: must be a multiple of the 3 replicas") {
		t.Errorf("a batch that cannot be divided: %v", err)
	}
}

// A training goes back to a mark bit for bit, also over the end of an epoch, which does not end
// while it is marked.
func TestATrainingReturnsToAMark(t *testing.T) {
	v := configured(t, small...)
	task := begin(t, v)
	f := task.(workload.Forker)
	iterate(t, task, 2)
	if err := f.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := iterate(t, task, 5)
	if first.last.UnitEnded {
		t.Error("an epoch ended while the training was marked")
	}
	if err := f.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := iterate(t, task, 5); !slices.Equal(again.bits, first.bits) {
		t.Errorf("the losses are %v after a return, %v before", again.loss, first.loss)
	}
	if err := f.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Unmark()
	straight := begin(t, v)
	want := iterate(t, straight, 12)
	if rest := iterate(t, task, 10); !slices.Equal(rest.bits, want.bits[len(want.bits)-len(rest.bits):]) {
		t.Error("a training that was marked continues otherwise than one that was not")
	}
}

// A predicted signal is compared by its correlation, for planes and for volumes; predictions
// repeat and their switches change nothing but time.
func TestSignalsArePredicted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	sets := append(slices.Clone(small), "experiment=labelfree", "epochs=6")
	whole := begin(t, configured(t, sets...))
	trained := iterate(t, whole, 1000)
	if r := trained.last.Measured[im2im.SeriesSimilarity]; !(r > 0.8) {
		t.Errorf("the correlation is %v after the losses %v", r, trained.loss)
	}
	if _, err := whole.(workload.Finisher).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := configured(t, append(sets, "mode=predict", "passes=20", "batch=1", "overlap=0.25")...)
	task := begin(t, v)
	first := iterate(t, task, 2).last
	if !first.UnitEnded || !(first.Measured[im2im.SeriesSimilarity] > 0.8) {
		t.Errorf("the first pass: %+v", first)
	}
	for _, a := range []settings.Assignment{{Key: "window_batch", Value: "1"}, {Key: "workers", Value: "2"}, {Key: "threads", Value: "1"}} {
		var err error
		if v, err = v.With(a); err != nil {
			t.Fatal(err)
		}
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if next := iterate(t, task, 2).last; next.Measured[im2im.SeriesSimilarity] != first.Measured[im2im.SeriesSimilarity] {
			t.Errorf("%s = %s: %v, before %v", a.Key, a.Value, next.Measured, first.Measured)
		}
	}
	pictured(t, task)
	if paths, err := task.(workload.Saver).Save(t.Context(), t.TempDir()+"/p", false); err != nil || len(paths) != 2 {
		t.Errorf("%v, %v", paths, err)
	}
	deep := predict(t, "mode=predict", "weights=seeded", "patch=4x16x16", "depth=8", "side=16", "cells=3", "held_out=2", "batch=2", "passes=1")
	if len(deep.loss) != 1 || !deep.last.Finished || math.IsNaN(deep.last.Measured[im2im.SeriesSimilarity]) {
		t.Errorf("volumes: %+v", deep.last)
	}
}
