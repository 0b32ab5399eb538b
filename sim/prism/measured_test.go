package prism_test

import (
	"math"
	"math/cmplx"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/npy"
	"prismtop/sim/npy/npytest"
	"prismtop/sim/optics"
	"prismtop/sim/prism"
)

// measuredSettings are those of a run from measurements of 64×64.
func measuredSettings(path string, sets ...string) []string {
	return slices.Concat([]string{"size=64", "object_size=32", "radius=8", "samples=4", "init_iterations=3", "init_cycles=1", "iterations=3", "cycles=1",
		"threshold=0", "noise=none", "sampling=fermat", "amp=off", "threads=1", "device=cpu", "roi_diameter=0", "measured=" + path}, sets)
}

// made returns a reconstruction by the maker, as a run has it.
func made(t *testing.T, sets ...string) (*prism.Reconstruction, error) {
	t.Helper()
	s, _ := resolved(t, "", sets...)
	m := prism.Maker{Open: func(s *prism.Settings) (prism.Device, error) {
		plans := host.NewPlanCache(s.FFTCache, nil)
		backend, err := cpu.New(cpu.Options{Threads: 1, FFTPlans: plans})
		if err != nil {
			return prism.Device{}, err
		}
		return prism.Device{Backend: backend, Processor: backend, Host: host.New(host.Options{Kernels: backend.Set(), Plans: plans, Parallel: backend.Parallel(), Attach: backend.Attach})}, nil
	}}
	in, err := m.Load(t.Context(), s.Values())
	if err != nil {
		return nil, err
	}
	task, err := m.New(t.Context(), s.Values(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(task.Close)
	return task.(*prism.Reconstruction), nil
}

// write writes arrays to an NPZ file.
func write(t *testing.T, arrays map[string]func(*npy.Writer, string) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := npy.NewWriter(f)
	for name, add := range arrays {
		if err := add(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func of[T float32 | float64 | complex64](values []T, shape ...int) func(*npy.Writer, string) error {
	return func(w *npy.Writer, name string) error { return npy.Add(w, name, shape, values) }
}

// firstLosses returns those of the first iterations.
func firstLosses(t *testing.T, r *prism.Reconstruction) (all []float64) {
	t.Helper()
	for range 12 {
		var rec profiles.Iteration
		iterate(t, r, &rec)
		all = append(all, rec.Series[prism.SeriesLossNew])
	}
	return all
}

// A run from measured amplitudes, intensities or fields is the run that simulates them; its quality is absent, unless
// the truth is in the file.
func TestMeasurementsStandForTheTelescope(t *testing.T) {
	simulated, err := made(t, measuredSettings("")...)
	if err != nil {
		t.Fatal(err)
	}
	want := firstLosses(t, simulated)
	const n = 64
	_, object := resolved(t, "", "size=64", "object_size=32", "radius=8", "roi_diameter=0")
	system, err := prism.NewMeasurementSystem(prism.SystemOptions{
		Truth: object.Amplitude, Size: n, Aperture: optics.Aperture{Radius: 8}, Host: host.New(host.Options{}), Masks: optics.NewMaskCache(n, 0, true, nil),
		Cache: prism.NewMeasurementCache(0, false, nil), Transforms: optics.Transforms{Fused: true, Pruned: true}, Rows: [2]int{16, 48},
	})
	if err != nil {
		t.Fatal(err)
	}
	var centres []float64
	var amplitudes, intensities []float64
	var fields []complex64
	for _, c := range simulated.Info().Sampling.Centres {
		plane := make([]float32, n*n)
		if err := system.Measure(t.Context(), nil, []optics.Point{{Y: c[0], X: c[1]}}, nil, plane); err != nil {
			t.Fatal(err)
		}
		centres = append(centres, c[0], c[1])
		for i, v := range plane {
			amplitudes, intensities = append(amplitudes, float64(v)), append(intensities, float64(v)*float64(v))
			fields = append(fields, complex64(cmplx.Rect(float64(v), float64(i))))
		}
	}
	count := len(centres) / 2
	where := of(centres, count, 2)
	for name, c := range map[string]struct {
		arrays    map[string]func(*npy.Writer, string) error
		tolerance float64
	}{
		"amplitude": {map[string]func(*npy.Writer, string) error{"centres": where, "amplitude": of(amplitudes, count, n, n)}, 1e-6},
		"intensity": {map[string]func(*npy.Writer, string) error{"centres": where, "intensity": of(intensities, count, n, n)}, 1e-6},
		"field":     {map[string]func(*npy.Writer, string) error{"centres": where, "field": of(fields, count, n, n)}, 1e-5},
		"truth":     {map[string]func(*npy.Writer, string) error{"centres": where, "amplitude": of(amplitudes, count, n, n), "truth": of(object.Amplitude, n, n)}, 1e-6},
	} {
		r, err := made(t, measuredSettings(write(t, c.arrays))...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, got := range firstLosses(t, r) {
			if !(math.Abs(got-want[i]) <= c.tolerance*math.Abs(want[i])) {
				t.Errorf("%s: loss %d is %.9g, want %.9g", name, i, got, want[i])
			}
		}
		q, err := r.Quality(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		absent := r.Info().Schema.Series[prism.SeriesPSNR].Absent
		if known := name == "truth"; known == math.IsNaN(q[prism.SeriesPSNR]) || known == (r.Picture(prism.PictureTruth) == nil) || known == strings.Contains(absent, "no truth") {
			t.Errorf("%s: PSNR %g, absent because %q", name, q[prism.SeriesPSNR], absent)
		}
	}
}

// What a file of measurements lacks is named.
func TestMeasurementsThatAreRefused(t *testing.T) {
	const n = 64
	planes := func(count int) []float64 {
		p := make([]float64, count*n*n)
		for i := range p {
			p[i] = 0.5
		}
		return p
	}
	negative := planes(4)
	negative[5] = -1
	for _, c := range []struct {
		arrays map[string]func(*npy.Writer, string) error
		want   string
	}{
		{map[string]func(*npy.Writer, string) error{"amplitude": of(planes(4), 4, n, n)}, "has no array centres"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 4, 2)}, "has no measurements: must have an array amplitude, intensity or field"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 2, 4), "amplitude": of(planes(4), 4, n, n)}, "array centres: has the shape (2, 4) of <f8: must be (n, 2)"},
		{map[string]func(*npy.Writer, string) error{"centres": of([]float64{99, 0}, 1, 2), "amplitude": of(planes(1), 1, n, n)}, "array centres: number 0 is at (99, 0): must be within ±32 pixels of DC"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 4, 2), "amplitude": of(planes(4), 4, n, n), "intensity": of(planes(4), 4, n, n)}, "has both amplitude and intensity: must have one of them"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 4, 2), "amplitude": of(planes(1), 4, 32, 32)}, "array amplitude: has planes of 32×32, not of size = 64: set size = 32, or pad them"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 4, 2), "field": of(planes(4), 4, n, n)}, "array field: has numbers of type <f8: must be complex for field and real for amplitude and intensity"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(3)[:6], 3, 2), "amplitude": of(planes(3), 3, n, n)}, "has 3 measurements, fewer than samples = 4: set samples = 3"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 4, 2), "amplitude": of(negative, 4, n, n)}, "array amplitude: number 5 is -1: must be 0 or more"},
		{map[string]func(*npy.Writer, string) error{"centres": of(planes(4)[:8], 4, 2), "amplitude": of(make([]float64, 4*n*n), 4, n, n)}, "array amplitude: is 0 everywhere"},
	} {
		path := write(t, c.arrays)
		if _, err := made(t, measuredSettings(path)...); err == nil || !strings.Contains(err.Error(), "measurements "+path+": "+c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for head, want := range map[string]string{"\x89HDF\r\n\x1a\n": "is an HDF5 file: must be NPZ; write it again in Python: import h5py", "SIMPLE  =                    T": "is a FITS file: must be NPZ; write it again in Python: import numpy; from astropy.io", "x": "is not an NPZ archive"} {
		path := filepath.Join(t.TempDir(), "m")
		if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := made(t, measuredSettings(path)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for set, want := range map[string]string{"noise=readout": "noise", "image=x.png": "image", "sample_length=9": "sample_length"} {
		_, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{prism.Presets()}, Sets: measuredSettings("m.npz", set)})
		if err == nil || !strings.Contains(err.Error(), want+" = ") {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// FuzzMeasured feeds anything: it must not panic.
func FuzzMeasured(f *testing.F) {
	f.Add(npytest.Archive(npytest.File{Name: "centres", Data: npytest.Array("<f4", "1, 2", npytest.Float32s(0, 0))}, npytest.File{Name: "amplitude", Data: npytest.Array("<f4", "1, 16, 16", npytest.Float32s(make([]float32, 256)...))}))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "m.npz")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := resolved(t, "", measuredSettings(path, "size=16", "object_size=8", "samples=1", "radius=4")...)
		if _, err := (prism.Maker{}).Load(t.Context(), s.Values()); err == nil && len(data) == 0 {
			t.Error("an empty file was read")
		}
	})
}
