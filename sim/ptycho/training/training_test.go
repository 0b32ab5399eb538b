package training_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/checkpoint"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/ptycho/training"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// tiny is a training of a second an epoch: eight minibatches of four, and as many groups
// for testing.
var tiny = []string{"filters_scale=1", "object_size=128", "positions=64", "batch=4", "test_share=0.5", "epochs=3", "threads=2"}

func configured(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{training.Presets()}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// maker makes trainings that leave their weights in $XDG_STATE_HOME.
func maker(t testing.TB) workload.Maker {
	return workloads.Of(configured(t)).Maker(workloads.Devices{})
}

// scans are the inputs that tests share, as a run and its restarts do.
var scans = map[string]workload.Inputs{}

// begin prepares a task.
func begin(t *testing.T, v settings.Values) workload.Task {
	t.Helper()
	m := maker(t)
	key := v.Get("gridsize")
	if scans[key] == nil {
		in, err := m.Load(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		scans[key] = in
	}
	task, err := m.New(t.Context(), v, scans[key])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(task.Close)
	return task
}

// trained is what iterations gave.
type trained struct {
	bits []uint64 // of every iteration's series
	loss []float64
	last workload.Outcome
}

// train runs iterations until the end, or as many as given.
func train(t *testing.T, task workload.Task, most int) (r trained) {
	t.Helper()
	for i := 0; i < most && !r.last.Finished; i++ {
		var rec profiles.Iteration
		var err error
		if r.last, err = task.Iterate(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
		for _, v := range rec.Series {
			r.bits = append(r.bits, math.Float64bits(v))
		}
		for _, v := range r.last.Measured {
			if r.last.UnitEnded {
				r.bits = append(r.bits, math.Float64bits(v))
			}
		}
		r.loss = append(r.loss, rec.Series[training.SeriesLoss])
		for phase := range training.PhaseMetrics {
			if rec.Phases[phase] <= 0 {
				t.Errorf("iteration %d: the phase %s has no time", i, training.Schema().Phases[phase].Name)
			}
		}
	}
	return r
}

// A small training learns: the loss falls, and the object that it sees in patterns that it was
// not trained on comes close to the truth. The same seed gives the same bits on any number of
// threads, also when it goes on from a checkpoint in the middle of an epoch, and the weights
// that a complete training leaves are those that a new one starts from.
func TestTrainingLearnsAnObject(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	v := configured(t, tiny...)
	whole := begin(t, v)
	before, err := whole.(workload.Comparer).Quality(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := train(t, whole, 100)
	after := want.last.Measured
	t.Logf("loss %.0f, then %.0f; PSNR %.2f, then %.2f dB; object error %.1f, then %.1f %%", want.loss[0], want.loss[len(want.loss)-1],
		before[training.SeriesPSNR], after[training.SeriesPSNR], before[training.SeriesObjectError], after[training.SeriesObjectError])
	if n := len(want.loss); n != 24 || !want.last.Finished || !(slices.Min(want.loss) > 0) || !(mean(want.loss[n-8:]) < 0.75*mean(want.loss[:8])) {
		t.Errorf("finished %v after the losses %v", want.last.Finished, want.loss)
	}
	if !(after[training.SeriesPSNR] > 19) || !(after[training.SeriesObjectError] < 0.93*before[training.SeriesObjectError]) ||
		!(after[training.SeriesTestLoss] > 0) {
		t.Errorf("measured %v, before %v", after, before)
	}

	one, _ := v.Set("threads", "1")
	first := begin(t, one)
	got := train(t, first, 3)
	s, err := first.(workload.Checkpointer).Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := begin(t, v)
	if err := second.(workload.Checkpointer).Resume(t.Context(), restored(t, s)); err != nil {
		t.Fatal(err)
	}
	rest := train(t, second, 7)
	if all := append(got.bits, rest.bits...); len(rest.loss) != 7 || !slices.Equal(all, want.bits[:len(all)]) {
		t.Error("a training on one thread that goes on from a checkpoint on two differs")
	}

	said, err := whole.(workload.Finisher).Finish(t.Context())
	path := filepath.Join(state, "prismtop", "ptycho", "weights-N64-s1-g1.npz")
	if err != nil || said != "weights for inference in "+path {
		t.Errorf("%q, %v", said, err)
	}
	again := begin(t, v)
	if _, err := again.(workload.Starter).StartFrom(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if q, err := again.(workload.Comparer).Quality(t.Context()); err != nil || q[training.SeriesPSNR] != after[training.SeriesPSNR] {
		t.Errorf("the weights' file gives %v, %v, want %v", q, err, after)
	}
	saved(t, whole, path)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// restored passes a state through a file.
func restored(t *testing.T, s *checkpoint.State) *checkpoint.Checkpoint {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.npz")
	if err := checkpoint.Write(path, &checkpoint.Run{Workload: "ptycho-training"}, s); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c
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
		if err != nil || !slices.Equal(paths, []string{want.base + ".npz", want.base + ".png", want.base + "-phase.png", want.base + "-object.npy"}) {
			t.Fatalf("%v, %v", paths, err)
		}
	}
	a, err := os.ReadFile(base + ".npz")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(weights)
	if err != nil || !slices.Equal(a, b) {
		t.Errorf("the saved weights are not those that were left: %v", err)
	}
	if _, err := task.(workload.Saver).Save(t.Context(), filepath.Join(base, "b"), false); err == nil || !strings.Contains(err.Error(), "saving "+base) {
		t.Errorf("saved in a folder that is none: %v", err)
	}
}

// Groups of four patterns train, under every switch and precision, whose plans continue with
// the same weights; the pictures are those of the schema.
func TestSettingsChangeWhileItTrains(t *testing.T) {
	sets := append(slices.Clone(tiny), "gridsize=2", "batch=4", "positions=32", "epochs=9")
	v := configured(t, sets...)
	task := begin(t, v)
	first := train(t, task, 1).loss[0]
	memory := task.Memory()
	for _, set := range []string{"checkpointing=true", "fused_optimizer=false", "amp=bf16", "amp=bf16x3", "learning_rate=0.0005", "threads=1"} {
		key, value, _ := strings.Cut(set, "=")
		var err error
		if v, err = v.Set(key, value); err != nil {
			t.Fatal(err)
		}
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		if loss := train(t, task, 1).loss[0]; !(loss > 0) || !(loss < 3*first) {
			t.Errorf("%s: the loss is %g after %g", set, loss, first)
		}
		switch now := task.Memory(); key {
		case "checkpointing":
			if now.Parts[training.MemoryActivations] >= memory.Parts[training.MemoryActivations] {
				t.Errorf("checkpointing takes activations of %d bytes instead of %d", now.Parts[training.MemoryActivations], memory.Parts[training.MemoryActivations])
			}
		case "fused_optimizer":
			if now.Parts[training.MemoryGradients] <= memory.Parts[training.MemoryGradients] {
				t.Errorf("gradients take %d bytes, fused %d", now.Parts[training.MemoryGradients], memory.Parts[training.MemoryGradients])
			}
		}
	}
	for id, info := range training.Schema().Pictures {
		p := task.(workload.Imager).Picture(id)
		if p.Width != p.Height || len(p.Pixels) != p.Width*p.Height || slices.Max(p.Pixels) <= slices.Min(p.Pixels) {
			t.Errorf("%s: %d×%d, from %g to %g", info.Name, p.Width, p.Height, slices.Min(p.Pixels), slices.Max(p.Pixels))
		}
	}
}

// A run drives a training like any other workload: what it measured is in the records of its
// schema. Without an interval it is compared at the ends of epochs and of the run alone.
func TestARunTrains(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	events := stream.New(1 << 10)
	follow := events.Follow()
	r, err := sim.New(t.Context(), sim.Options{Maker: maker(t), Settings: configured(t, append(slices.Clone(tiny), "max_iterations=2", "positions=48", "batch=4")...), Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Start(t.Context())
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	iterations, pictures, measured := 0, map[int]bool{}, 0
	follow.Drain(func(e *profiles.Event) {
		switch b := e.Body.(type) {
		case *profiles.Iteration:
			iterations++
		case *profiles.Picture:
			pictures[b.ID] = true
		case *profiles.Measurement:
			if measured++; !(b.Values[training.SeriesPSNR] > 5) || !math.IsNaN(b.Values[training.SeriesTestLoss]) {
				t.Errorf("measured %v", b.Values)
			}
		}
	})
	if iterations != 2 || len(pictures) != 4 || measured != 1 {
		t.Errorf("%d iterations, %d pictures, measured %d times", iterations, len(pictures), measured)
	}
}

// A training on one's own scan without objectGuess learns and keeps its object; nothing is compared.
func TestAFileWithoutTruthIsLearnedFrom(t *testing.T) {
	v := configured(t, append(slices.Clone(tiny), "filters_scale=1")...)
	in, err := maker(t).Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	measured := *in.(training.Inputs).Scan
	measured.Object = nil
	path := filepath.Join(t.TempDir(), "scan.npz")
	if err := scan.Write(path, &measured); err != nil {
		t.Fatal(err)
	}
	own, err := v.Set("data", path)
	if err != nil {
		t.Fatal(err)
	}
	if in, err = maker(t).Load(t.Context(), own); err != nil || in.Name() != "scan.npz" {
		t.Fatal(in, err)
	}
	task, err := maker(t).New(t.Context(), own, in)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	same := begin(t, v)
	if got, want := train(t, task, 2), train(t, same, 2); !slices.Equal(got.loss, want.loss) {
		t.Errorf("losses %v, of the simulated scan %v", got.loss, want.loss)
	}
	q, err := task.(workload.Comparer).Quality(t.Context())
	absent := task.Info().Schema.Series[training.SeriesPSNR].Absent
	if err != nil || !math.IsNaN(q[training.SeriesPSNR]) || !strings.Contains(absent, "no objectGuess") || task.(workload.Imager).Picture(training.PictureTruth) != nil {
		t.Errorf("PSNR %g, absent because %q, %v", q[training.SeriesPSNR], absent, err)
	}
	paths, err := task.(workload.Saver).Save(t.Context(), filepath.Join(t.TempDir(), "a"), false)
	if err != nil || len(paths) != 4 {
		t.Errorf("saved %q, %v", paths, err)
	}
}
