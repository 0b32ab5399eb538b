package inference

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/learning"
	"prismtop/sim/npy"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/ptycho/training"
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
		Open: func(v settings.Values) (learning.Device, error) {
			b, err := cpu.New(cpu.Options{Threads: v.Int(settings.Threads), Kernels: v.Text("kernels")})
			return learning.Device{Backend: b}, err
		},
		Machine: learning.Machine{Kernels: cpu.CheckKernels},
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
	for _, p := range []ptycho.Precision{ptycho.Float32, ptycho.BF16x3, ptycho.Winograd, ptycho.BF16, ptycho.Float32, ptycho.BF16} {
		v = set(t, v, winograd, fmt.Sprint(p == ptycho.Winograd))
		if p == ptycho.Winograd {
			p = ptycho.Float32
		}
		v = set(t, v, "amp", string(p))
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		var rec profiles.Iteration
		if _, err := task.Iterate(t.Context(), &rec); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	}
	for _, p := range []ptycho.Precision{ptycho.BF16, ptycho.BF16x3, ptycho.Winograd} {
		worst := 0.0
		for i, z := range task.first[p].patches {
			d := z - task.first[ptycho.Float32].patches[i]
			worst = max(worst, math.Hypot(float64(real(d)), float64(imag(d))))
		}
		if !(worst > 0 && worst < 4*p.Tolerance()) {
			t.Errorf("%s: the objects differ from float32's by up to %g", p, worst)
		}
	}
}

// A batch beyond the limit is refused by name, plans are kept within it, and the footprint is the
// memory of the run but for the kernels' scratch.
func TestMemoryStaysWithinTheLimit(t *testing.T) {
	m, v := maker(t), resolved(t, "memory_limit_mb=17")
	task := start(t, m, v)
	for _, batch := range []string{"8", "3", "2", "1"} {
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
		need, err := Footprint(t.Context(), v, false)
		if err != nil {
			t.Fatal(err)
		}
		own := task.needed - memory.Parts[memoryScratch]
		if d := need - own; d < 0 || d > 1<<18 {
			t.Errorf("batch %s: a footprint of %d bytes for %d", batch, need, own)
		}
	}
	if len(task.programs) < 2 || len(task.programs) > 3 {
		t.Errorf("%d plans are kept", len(task.programs)-1)
	}
	err := m.Check(set(t, v, settings.BatchSize, "20"), settings.BatchSize)
	if err == nil || !strings.Contains(err.Error(), "batch_size = 20: a batch of 20 needs") || !strings.Contains(err.Error(), "memory_limit_mb = 17 allows") {
		t.Errorf("the error of a large batch is %v", err)
	}
	if err := m.Check(set(t, v, settings.MemoryLimit, "3"), settings.MemoryLimit); err == nil {
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
	info := start(t, m, v).Info()
	if notes := info.Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "seeded weights: the network is not trained") {
		t.Errorf("without a file, the notes are %q", notes)
	}
	if c := info.Caveat; c.Text != "seeded weights: no reconstruction" || c.Remedy != "prismtop ptycho train --set filters_scale=1 trains them" ||
		info.Schema.Series[seriesPSNR].Absent != c.Text || Schema().Series[seriesPSNR].Absent == c.Text {
		t.Errorf("without a file, the caveat is %+v", c)
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
	if info := start(t, m, v).Info(); len(info.Notes) != 1 || info.Notes[0] != "trained weights of "+path || info.Caveat.Text != "" {
		t.Errorf("with a file, the notes are %q, the caveat %+v", info.Notes, info.Caveat)
	}
	task := start(t, m, set(t, v, "weights", "seeded"))
	if c := task.Info().Caveat; c.Text == "" || !math.IsNaN(task.quality()[seriesPSNR]) {
		t.Errorf("seeded weights have the caveat %+v", c)
	}
	before := task.scale
	if _, err := task.StartFrom(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got := task.scale / before; math.Abs(got-3) > 1e-5 || task.Info().Notes != nil || task.Info().Caveat.Text != "" {
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
	m, v := maker(t), resolved(t, "batch_size=20")
	path, _ := m.Trained(config(v))
	write(t, path, config(v))
	task := start(t, m, v)
	if v, err := task.Quality(t.Context()); err != nil || !math.IsNaN(v[seriesPSNR]) {
		t.Errorf("before the first pass the quality is %v, %v", v, err)
	}
	if _, err := task.Save(t.Context(), filepath.Join(t.TempDir(), "x"), false); err != errNothing {
		t.Errorf("saving nothing: %v", err)
	}
	var rec profiles.Iteration
	out, err := task.Iterate(t.Context(), &rec)
	if err != nil || !out.UnitEnded || math.IsNaN(out.Measured[seriesPSNR]) || out.Measured[seriesRMSE] < 1 || !(out.Measured[seriesPhaseError] > 0.1) {
		t.Fatalf("after the first pass: %+v, %v", out, err)
	}
	for i := range task.whole.Object {
		if task.whole.Object[i] != 0 {
			task.whole.Object[i] = complex(-3, 4) * task.truth[i]
		}
	}
	psnr, rmse, phase := task.compare()
	if !(psnr > 100) || rmse > 1e-3 || phase > 1e-3 {
		t.Errorf("a canvas of the truth times −3 + 4i has %g dB, %g %%, %g rad", psnr, rmse, phase)
	}
	for _, of := range [][2]int{{pictureReconstruction, pictureTruth}, {picturePhase, picturePhaseTruth}} {
		drawn, truth, known := task.Picture(of[0]), task.Picture(of[1]), 0
		for i, v := range drawn.Pixels {
			if math.Abs(float64(v-truth.Pixels[i])) > 1e-4 {
				t.Fatalf("pixel %d of picture %d is drawn as %g, and is %g", i, of[0], v, truth.Pixels[i])
			}
			if v > 0 {
				known++
			}
		}
		if known < patchPixels || known == len(drawn.Pixels) {
			t.Errorf("picture %d has %d of %d pixels", of[0], known, len(drawn.Pixels))
		}
	}
	if p := task.Picture(pictureDiffraction); p.Width != 64 || p.Pixels[32*64+32] <= p.Pixels[0] {
		t.Error("the diffraction is not brightest at its centre")
	}
	paths, err := task.Save(t.Context(), filepath.Join(t.TempDir(), "x"), true)
	if err != nil || len(paths) != 3 {
		t.Fatalf("saved %q, %v", paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	h, at, err := npy.ReadHeader(bytes.NewReader(data))
	if err != nil || h.Type != "<c8" || !slices.Equal(h.Shape, []int64{int64(task.side), int64(task.side)}) {
		t.Fatalf("%s: %+v, %v", paths[0], h, err)
	}
	for i, z := range task.whole.Object {
		re, im := math.Float32frombits(binary.LittleEndian.Uint32(data[at+8*int64(i):])), math.Float32frombits(binary.LittleEndian.Uint32(data[at+8*int64(i)+4:]))
		if complex(re, im) != z {
			t.Fatalf("pixel %d is saved as %g, and is %g", i, complex(re, im), z)
		}
	}
}

// One's own scan is reconstructed as the simulated one that it is; without objectGuess nothing is compared, and the
// pictures and files are the same.
func TestAFileStandsForTheSimulatedScan(t *testing.T) {
	m, v := maker(t), resolved(t, "batch_size=20")
	path, _ := m.Trained(config(v))
	write(t, path, config(v))
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	simulated := start(t, m, v)
	var rec profiles.Iteration
	want, err := simulated.Iterate(t.Context(), &rec)
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []bool{true, false} {
		s := *in.(Inputs).Scan
		if !known {
			s.Object = nil
		}
		file := filepath.Join(t.TempDir(), "scan.npz")
		if err := scan.Write(file, &s); err != nil {
			t.Fatal(err)
		}
		task := start(t, m, set(t, v, "data", file))
		out, err := task.Iterate(t.Context(), &rec)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(task.whole.Object, simulated.whole.Object) {
			t.Errorf("truth known %v: the object differs", known)
		}
		absent := task.Info().Schema.Series[seriesPSNR].Absent
		if known != (out.Measured[seriesPSNR] == want.Measured[seriesPSNR]) || known == (absent == noTruth) || known == (task.Picture(pictureTruth) == nil) {
			t.Errorf("truth known %v: PSNR %g, absent because %q", known, out.Measured[seriesPSNR], absent)
		}
		if paths, err := task.Save(t.Context(), filepath.Join(t.TempDir(), "x"), false); err != nil || len(paths) != 3 {
			t.Errorf("saved %q, %v", paths, err)
		}
		if notes := strings.Join(task.Info().Notes, "; "); !strings.Contains(notes, "amplitudes are multiplied by") {
			t.Errorf("notes %q", notes)
		}
		for key, want := range map[string]string{"positions": "set positions = ", "size": "set size = 64"} {
			value := map[string]string{"positions": "60000", "size": "128"}[key]
			if _, err := m.Load(t.Context(), set(t, set(t, v, "data", file), key, value)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s = %s: %v", key, value, err)
			}
		}
	}
}

// A scan with fewer positions than a group and its neighbours need is refused before it is simulated.
func TestGroupsNeedPositions(t *testing.T) {
	_, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{Presets()}, Preset: "ptycho", Sets: []string{"gridsize=4", "positions=16", "batch_size=1"}})
	if err == nil || !strings.Contains(err.Error(), "positions = 16: must be at least 17 for groups of 16") {
		t.Errorf("16 positions for groups of 16: %v", err)
	}
}

// The scans of the presets have the beam that simulated scans of the benchmark have: weights trained
// under one are of use under the others.
func TestPresetsHaveTheBeamOfTheBenchmark(t *testing.T) {
	for _, shelf := range []preset.Shelf{Presets(), training.Presets()} {
		names, err := fs.Glob(shelf.Files, "*.toml")
		if err != nil || len(names) < 2 {
			t.Fatalf("presets %q, %v", names, err)
		}
		for _, name := range names {
			v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}, Preset: strings.TrimSuffix(name, ".toml")})
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Number("probe_curvature"); got != scan.Defocus {
				t.Errorf("%s: probe_curvature = %g: must be %d", name, got, scan.Defocus)
			}
		}
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
		if need, err := Footprint(t.Context(), v, false); err != nil || need < 1<<20 {
			t.Errorf("%s needs %d bytes, %v", name, need, err)
		}
	}
}

// A batch size that follows memory pressure gives the memory of the sizes before it back.
func TestAdaptiveBatchesKeepNoOtherPlans(t *testing.T) {
	v := resolved(t, "adapt_batch=true")
	task := start(t, maker(t), v)
	for _, size := range []string{"8", "4", "2"} {
		v = set(t, v, settings.BatchSize, size)
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if m := task.Memory(); len(task.programs) != 1 || m.Parts[memoryPlans] != 0 {
			t.Errorf("batches of %s: %d plans, %d bytes of others", size, len(task.programs), m.Parts[memoryPlans])
		}
	}
}
