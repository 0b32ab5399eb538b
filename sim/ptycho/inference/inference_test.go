package inference

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/npy"
	"prismtop/sim/ptycho"
)

// resolved are the settings of a small scan with some changes.
func resolved(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	small := []string{"filters_scale=1", "positions=20", "batch_size=4", "object_size=128", "threads=2"}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{Presets()}, Preset: "ptycho", Sets: append(small, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// maker makes inferences on the processor; trained weights are looked for in a folder of the test.
func maker(t testing.TB) Maker {
	folder := t.TempDir()
	return Maker{
		Open: func(v settings.Values) (nn.Backend, error) {
			return cpu.New(cpu.Options{Threads: v.Int(settings.Threads), Kernels: v.Text("kernels")})
		},
		Kernels: cpu.CheckKernels, GPUReason: "none",
		Trained: func(ptycho.Config) (string, error) { return filepath.Join(folder, "weights.npz"), nil },
	}
}

func start(t testing.TB, m Maker, v settings.Values) *Task {
	t.Helper()
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.New(t.Context(), v, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(task.Close)
	return task.(*Task)
}

func set(t testing.TB, v settings.Values, key, value string) settings.Values {
	t.Helper()
	next, err := v.Set(key, value)
	if err == nil {
		err = next.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Batches of any size, one after the other and across the ends of passes, give the very objects of
// the first pass, with any number of threads.
func TestObjectsDoNotDependOnTheBatch(t *testing.T) {
	v := resolved(t)
	task := start(t, maker(t), v)
	passes, images := 0, 0
	for i, batch := range []string{"4", "4", "4", "4", "4", "1", "20", "7", "16", "13", "20"} {
		v = set(t, v, settings.BatchSize, batch)
		v = set(t, v, settings.Threads, []string{"1", "2"}[i%2])
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		var rec profiles.Iteration
		out, err := task.Iterate(t.Context(), &rec)
		if err != nil {
			t.Fatal(err)
		}
		if int(rec.Unit) != images/20 {
			t.Errorf("batch %d is of pass %d, want %d", i, rec.Unit, images/20)
		}
		images += v.Int(settings.BatchSize)
		if out.UnitEnded {
			passes++
		}
		if d := rec.Series[seriesDifference]; i < 5 != math.IsNaN(d) || d > 0 {
			t.Errorf("batch %d of %s: objects differ by %g", i, batch, d)
		}
		if rate := rec.Series[seriesThroughput]; !(rate > 0) || !(rec.Series[seriesEfficiency] < rate) {
			t.Errorf("batch %d: %g images/s, %g of them a MiB", i, rate, rec.Series[seriesEfficiency])
		}
	}
	if want := images / 20; passes != want || task.pass != want || task.next != images%20 {
		t.Errorf("%d images ended %d passes, and %d of the next are done; want %d and %d", images, passes, task.next, want, images%20)
	}
}

func TestADifferentObjectEndsTheRun(t *testing.T) {
	task := start(t, maker(t), resolved(t))
	var rec profiles.Iteration
	for range 5 {
		if _, err := task.Iterate(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
	}
	task.first["off"].patches[3*patchPixels+7] += 0.01
	_, err := task.Iterate(t.Context(), &rec)
	if err == nil || !strings.Contains(err.Error(), "group 3 in a batch of 4 differs from its first result by 0.01") {
		t.Errorf("the error is %v", err)
	}
}

// Every precision has first results of its own, and its objects are near those of float32.
func TestPrecisionsAreComparedWithThemselves(t *testing.T) {
	v := resolved(t, "batch_size=20")
	task := start(t, maker(t), v)
	for _, amp := range []string{"off", "bf16x3", winograd, "bf16", "off", "bf16"} {
		if v = set(t, v, winograd, fmt.Sprint(amp == winograd)); amp == winograd {
			amp = "off"
		}
		v = set(t, v, "amp", amp)
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		var rec profiles.Iteration
		if _, err := task.Iterate(t.Context(), &rec); err != nil {
			t.Fatalf("%s: %v", amp, err)
		}
	}
	for _, amp := range []string{"bf16", "bf16x3", winograd} {
		worst := 0.0
		for i, z := range task.first[amp].patches {
			d := z - task.first["off"].patches[i]
			worst = max(worst, math.Hypot(float64(real(d)), float64(imag(d))))
		}
		if !(worst > 0 && worst < 4*tolerances[amp]) {
			t.Errorf("%s: the objects differ from float32's by up to %g", amp, worst)
		}
	}
}

// A batch beyond the limit is refused by name, plans are kept within it, and the footprint is the
// memory of the run but for the kernels' scratch.
func TestMemoryStaysWithinTheLimit(t *testing.T) {
	m, v := maker(t), resolved(t, "memory_limit_mb=24")
	task := start(t, m, v)
	for _, batch := range []string{"2", "6", "8", "4"} {
		v = set(t, v, settings.BatchSize, batch)
		if err := m.Check(v, settings.BatchSize); err != nil {
			t.Fatal(err)
		}
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		memory := task.Memory()
		if memory.Total() > limit(v) {
			t.Errorf("batch %s: %d bytes, more than the limit", batch, memory.Total())
		}
		need, err := Footprint(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		own := task.needed - memory.Parts[memoryScratch] - task.programs[0].own()
		if d := need - own; d < 0 || d > 1<<18 {
			t.Errorf("batch %s: a footprint of %d bytes for %d", batch, need, own)
		}
	}
	if len(task.programs) < 2 || len(task.programs) > 3 {
		t.Errorf("%d plans are kept", len(task.programs)-1)
	}
	err := m.Check(set(t, v, settings.BatchSize, "20"), settings.BatchSize)
	if err == nil || !strings.Contains(err.Error(), "batch_size = 20: a batch of 20 needs") || !strings.Contains(err.Error(), "memory_limit_mb = 24 allows") {
		t.Errorf("the error of a large batch is %v", err)
	}
	if err := m.Check(set(t, v, settings.MemoryLimit, "5"), settings.MemoryLimit); err == nil {
		t.Error("a limit below the memory of the run is accepted")
	}
	if _, err := v.Set(settings.BatchSize, "21"); err != nil {
		t.Fatal(err)
	}
	if next, _ := v.Set(settings.BatchSize, "21"); next.Validate() == nil {
		t.Error("a batch of more objects than the scan has is accepted")
	}
}

// Plans that are kept are not loaded again, and a batch allocates nothing.
func TestASteadyLoopAllocatesNothing(t *testing.T) {
	v := resolved(t, "batch_size=1", "positions=1000", "threads=1")
	task := start(t, maker(t), v)
	small := task.programs[0]
	if err := task.Apply(t.Context(), set(t, v, settings.BatchSize, "2")); err != nil {
		t.Fatal(err)
	}
	if err := task.Apply(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if task.programs[0] != small {
		t.Error("the plan of a batch of 1 was loaded again")
	}
	ctx := context.Background()
	var rec profiles.Iteration
	if n := testing.AllocsPerRun(20, func() {
		if _, err := task.Iterate(ctx, &rec); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a batch allocates %g times", n)
	}
}

// Trained weights are used where there are some, and the run says which it has.
func TestWeightsAreNamed(t *testing.T) {
	m, v := maker(t), resolved(t)
	if notes := start(t, m, v).Info().Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "seeded weights: the network is not trained") {
		t.Errorf("without a file, the notes are %q", notes)
	}
	path, _ := m.Trained(config(v))
	if err := os.WriteFile(path, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.New(t.Context(), v, in); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file of weights: %v", err)
	}
	without, err := m.WithoutWeights().New(t.Context(), v, in)
	if err != nil {
		t.Fatalf("a damaged file that is not to be read: %v", err)
	}
	without.Close()
	write(t, path, config(v))
	if notes := start(t, m, v).Info().Notes; len(notes) != 1 || notes[0] != "trained weights of "+path {
		t.Errorf("with a file, the notes are %q", notes)
	}
	task := start(t, m, set(t, v, "weights", "seeded"))
	before := task.scale
	if err := task.StartFrom(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got := task.scale / before; math.Abs(got-3) > 1e-5 || task.Info().Notes != nil {
		t.Errorf("the input is scaled by %g as before, want the weights' 3", got)
	}
}

// write writes weights with a scale of 3.
func write(t *testing.T, path string, c ptycho.Config) {
	t.Helper()
	n, err := ptycho.New(c)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := npy.NewWriter(f)
	all := n.Seeded(1)
	all[len(all)-1].Values = []float32{float32(math.Log(3))}
	for _, a := range all {
		if err := npy.Add(w, a.Name, a.Shape, a.Values); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A canvas equal to the truth but for its scale is perfect, and pictures show it at the truth's.
func TestResultsAreComparedWithTheTruth(t *testing.T) {
	task := start(t, maker(t), resolved(t, "batch_size=20"))
	if v, err := task.Quality(t.Context()); err != nil || !math.IsNaN(v[seriesPSNR]) {
		t.Errorf("before the first pass the quality is %v, %v", v, err)
	}
	if _, err := task.Save(t.Context(), filepath.Join(t.TempDir(), "x"), false); err != errNothing {
		t.Errorf("saving nothing: %v", err)
	}
	var rec profiles.Iteration
	out, err := task.Iterate(t.Context(), &rec)
	if err != nil || !out.UnitEnded || math.IsNaN(out.Measured[seriesPSNR]) || out.Measured[seriesRMSE] < 1 {
		t.Fatalf("after the first pass: %+v, %v", out, err)
	}
	for i := range task.whole.Object {
		if task.whole.Object[i] != 0 {
			task.whole.Object[i] = 5 * task.truth[i]
		}
	}
	psnr, rmse := task.compare()
	if !(psnr > 100) || rmse > 1e-3 {
		t.Errorf("a canvas of five times the truth has %g dB, %g %%", psnr, rmse)
	}
	truth, drawn := task.Picture(pictureTruth), task.Picture(pictureReconstruction)
	for i, v := range drawn.Pixels {
		if v != 0 && math.Abs(float64(v-truth.Pixels[i])) > 1e-5 {
			t.Fatalf("pixel %d is drawn as %g, and is %g", i, v, truth.Pixels[i])
		}
	}
	if p := task.Picture(pictureDiffraction); p.Width != 64 || p.Pixels[32*64+32] <= p.Pixels[0] {
		t.Error("the diffraction is not brightest at its centre")
	}
	paths, err := task.Save(t.Context(), filepath.Join(t.TempDir(), "x"), true)
	if err != nil || len(paths) != 2 {
		t.Errorf("saved %q, %v", paths, err)
	}
}

// A scan with fewer positions than a group and its neighbours need is refused before it is simulated.
func TestGroupsNeedPositions(t *testing.T) {
	_, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{Presets()}, Preset: "ptycho", Sets: []string{"gridsize=4", "positions=16", "batch_size=1"}})
	if err == nil || !strings.Contains(err.Error(), "positions = 16: must be at least 17 for groups of 16") {
		t.Errorf("16 positions for groups of 16: %v", err)
	}
}

func TestSchemaHoldsItsEntries(t *testing.T) {
	s := Schema()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"ptycho", "ptycho-small", "ptycho-large"} {
		v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{Presets()}, Preset: name})
		if err != nil {
			t.Fatal(err)
		}
		if need, err := Footprint(t.Context(), v); err != nil || need < 1<<20 {
			t.Errorf("%s needs %d bytes, %v", name, need, err)
		}
	}
}
