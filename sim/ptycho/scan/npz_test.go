package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/npy"
	"prismtop/sim/npy/npytest"
)

// fields are the arrays of a file under construction, by name, in NPY format.
type fields map[string][]byte

func floats(shape string, values []float64) []byte {
	return npytest.Array("<f8", shape, npytest.Float64s(values...))
}

func complexes(shape string, count int) []byte {
	return npytest.Array("<c8", shape, make([]byte, 8*count))
}

// ramp returns n values from low, which rise by step.
func ramp(n int, low, step float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = low + step*float64(i)
	}
	return all
}

// valid are the fields of three patterns of 8×8.
func valid() fields {
	return fields{
		"diff3d": floats("3, 8, 8", ramp(3*8*8, 0, 0.01)), "xcoords": floats("3,", ramp(3, 10, 2)), "ycoords": floats("3,", ramp(3, 20, 3)),
		"probeGuess": complexes("8, 8", 64),
	}
}

func (f fields) file() []byte {
	var all []npytest.File
	for _, name := range slices.Sorted(maps.Keys(f)) {
		all = append(all, npytest.File{Name: name, Data: f[name]})
	}
	return npytest.Archive(all...)
}

func (f fields) read(t testing.TB) (*Scan, error) {
	data := f.file()
	return readAs(t, data, AsAmplitude)
}

func readAs(t testing.TB, data []byte, as string) (*Scan, error) {
	a, err := npy.NewArchive(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return read(a, ReadOptions{As: as})
}

// What is written is read back bit for bit.
func TestWrittenScansAreRead(t *testing.T) {
	s, err := Simulate(t.Context(), small, backend(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scan.npz")
	if err := Write(path, s); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), path, ReadOptions{As: AsAmplitude})
	if err != nil {
		t.Fatal(err)
	}
	if got.Size != s.Size || !slices.Equal(got.Diffraction, s.Diffraction) || !slices.Equal(got.X, s.X) || !slices.Equal(got.Y, s.Y) || !slices.Equal(got.Probe, s.Probe) ||
		got.Object == nil || got.Object.Width != s.Object.Width || !slices.Equal(got.Object.Values, s.Object.Values) {
		t.Error("the scan that is read differs from the one that was written")
	}
	if _, err := Read(t.Context(), path+"x", ReadOptions{As: AsAmplitude}); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("a missing file: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ended, path, ReadOptions{As: AsAmplitude}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// The factor that is noted is the one that is used: by PtychoPINN's rule for the patterns that are drawn, or the
// given one.
func TestTheFactorIsNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scan.npz")
	if err := os.WriteFile(path, valid().file(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range []float64{0, 2.5} {
		for _, count := range []int{2, 3} {
			s, err := Chosen(t.Context(), path, ReadOptions{As: AsAmplitude, Factor: given}, 8, count, 1)
			if err != nil {
				t.Fatal(err)
			}
			total := 0.0
			for _, v := range s.Diffraction {
				total += float64(v) * float64(v)
			}
			want, why := math.Sqrt(16*float64(count)/total), "by PtychoPINN's rule"
			if given > 0 {
				want, why = given, "the data_factor"
			}
			got, err := s.Normalisation()
			if note := fmt.Sprintf("amplitudes are multiplied by %.4g, %s", want, why); err != nil || math.Abs(got-want) > 1e-12 || !strings.Contains(strings.Join(s.Notes, "; "), note) {
				t.Errorf("%d patterns, given %g: %g, %v, notes %q, want %g", count, given, got, err, s.Notes, want)
			}
		}
	}
}

// The simulator's scans meet the rules.
func TestSimulatedScansAreSane(t *testing.T) {
	for _, n := range []int{64, 128} {
		s, err := Simulate(t.Context(), Options{Size: n, ObjectSize: 2 * n, Positions: 4, Photons: 1e9, Phase: true, Seed: 42}, backend(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		if doubts, err := s.sane(); err != nil || len(doubts) > 0 {
			t.Errorf("%d pixels: %v, %v", n, doubts, err)
		}
	}
}

// Files of older versions have the same patterns: the positions last, other names and
// types, a singleton axis, intensities as integers, columns first.
func TestOlderLayoutsAreRead(t *testing.T) {
	want, err := valid().read(t)
	if err != nil {
		t.Fatal(err)
	}
	last := make([]float64, 3*8*8)
	for i, v := range ramp(3*8*8, 0, 0.01) {
		last[i%64*3+i/64] = v
	}
	for name, change := range map[string]func(fields){
		"positions last":  func(f fields) { f["diff3d"] = floats("8, 8, 3", last) },
		"old key, 4 axes": func(f fields) { f["diffraction"] = floats("3, 8, 8, 1", ramp(3*8*8, 0, 0.01)); delete(f, "diff3d") },
		"other arrays too": func(f fields) {
			f["_metadata"] = npytest.Array("|O", "", []byte("\x80\x04N."))
			f["Y"] = floats("1,", ramp(1, 0, 1))
		},
		"by columns": func(f fields) {
			f["diff3d"] = bytes.Replace(floats("8, 8, 3", ramp(3*8*8, 0, 0.01)), []byte("False"), []byte("True "), 1)
		},
	} {
		f := valid()
		change(f)
		got, err := f.read(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if expected := want.Diffraction; name == "by columns" { // of each pattern, rows and columns swapped
			for i, v := range got.Diffraction {
				if v != expected[i/64*64+i%8*8+i/8%8] {
					t.Fatalf("%s: [%d] = %g", name, i, v)
				}
			}
		} else if !slices.Equal(got.Diffraction, expected) || got.Object != nil {
			t.Errorf("%s: other patterns", name)
		}
	}
	f, counts := valid(), make([]uint8, 3*8*8)
	for i := range counts {
		counts[i] = uint8(i)
	}
	f["diff3d"] = npytest.Array("|u1", "3, 8, 8", counts)
	if got, err := readAs(t, f.file(), AsIntensity); err != nil || math.Abs(float64(got.Diffraction[169])-13) > 1e-6 {
		t.Errorf("counted intensities: %v", err)
	}
	// PtychoPINN's loader takes integers as they are, and so does this one, saying so.
	if got, err := f.read(t); err != nil || got.Diffraction[169] != 169 || !strings.Contains(strings.Join(got.Notes, "; "), "has integers, read as amplitudes as PtychoPINN's loader does") {
		t.Errorf("counts as the loader reads them: %v", err)
	}
}

// What PtychoPINN's data contract makes doubtful is read, and noted.
func TestDoubtfulScansAreReadAndNoted(t *testing.T) {
	large := ramp(3*8*8, 0, 0.01)
	large[3] = 12
	for want, change := range map[string]func(fields){
		"diff3d has values up to 12, not normalised to below 10": func(f fields) { f["diff3d"] = floats("3, 8, 8", large) },
		"times the mean aside of the centre":                     func(f fields) { f["diff3d"] = floats("3, 8, 8", append(make([]float64, 191), 1)) },
		"has values up to 4096 times the mean: are they intensities?": func(f fields) {
			beam := make([]float64, 64*64)
			beam[32*64+32] = 1
			f["diff3d"], f["probeGuess"] = floats("1, 64, 64", beam), complexes("64, 64", 64*64)
			f["xcoords"], f["ycoords"] = floats("1,", ramp(1, 0, 1)), floats("1,", ramp(1, 0, 1))
		},
		"probeGuess has 2 modes: the first, ":             func(f fields) { f["probeGuess"] = complexes("2, 8, 8", 128) },
		"probeGuess has 3 modes: the first, ":             func(f fields) { f["probeGuess"] = complexes("8, 8, 3", 192) },
		"objectGuess has 2 slices: the first is compared": func(f fields) { f["objectGuess"] = complexes("2, 20, 20", 800) },
	} {
		f := valid()
		change(f)
		got, err := f.read(t)
		if err != nil || !strings.Contains(strings.Join(got.Notes, "; "), want) {
			t.Errorf("%v, notes %v, want %s", err, got, want)
		}
	}
	// The planes of the modes are where the axes say.
	numbers := make([]float32, 256) // 0, 1, 2, … as complex numbers
	for i := range 128 {
		numbers[2*i] = float32(i)
	}
	for shape, second := range map[string]complex64{"8, 8": 1, "2, 8, 8": 1, "8, 8, 2": 2, "8, 8, 1": 1, "1, 8, 8": 1} {
		f, count := valid(), 64
		if strings.Contains(shape, "2") {
			count = 128
		}
		f["probeGuess"] = npytest.Array("<c8", shape, npytest.Float32s(numbers[:2*count]...))
		if got, err := f.read(t); err != nil || got.Probe[1] != second || got.Probe[63] != 63*second {
			t.Errorf("probe of the shape (%s): %v", shape, err)
		}
	}
}

func TestWrongScansAreRefused(t *testing.T) {
	with := func(i int, v float64) []float64 {
		all := ramp(3*8*8, 0, 0.01)
		all[i] = v
		return all
	}
	for want, change := range map[string]func(fields){
		"has no array diff3d":                                               func(f fields) { delete(f, "diff3d") },
		"has no array ycoords":                                              func(f fields) { delete(f, "ycoords") },
		"has no array probeGuess":                                           func(f fields) { delete(f, "probeGuess") },
		"xcoords has 3 numbers and ycoords 2":                               func(f fields) { f["ycoords"] = floats("2,", ramp(2, 0, 1)) },
		"must be (3, N, N) or (N, N, 3) for 3 positions":                    func(f fields) { f["diff3d"] = floats("4, 8, 8", ramp(4*8*8, 0, 1)) },
		"(3, 8, 10): must be":                                               func(f fields) { f["diff3d"] = floats("3, 8, 10", ramp(3*8*10, 0, 1)) },
		"must be of an even side":                                           func(f fields) { f["diff3d"] = floats("3, 7, 7", ramp(3*49, 0, 0.01)) },
		"pattern 1 has the value -1: must be 0 or more":                     func(f fields) { f["diff3d"] = floats("3, 8, 8", with(64, -1)) },
		"pattern 2 has the value NaN":                                       func(f fields) { f["diff3d"] = floats("3, 8, 8", with(130, math.NaN())) },
		"is 0 everywhere":                                                   func(f fields) { f["diff3d"] = floats("3, 8, 8", make([]float64, 192)) },
		"must be real amplitudes or intensities":                            func(f fields) { f["diff3d"] = complexes("3, 8, 8", 192) },
		"array xcoords: a position is not finite":                           func(f fields) { f["xcoords"] = floats("3,", []float64{1, math.Inf(1), 2}) },
		"array xcoords: has the shape (3, 1)":                               func(f fields) { f["xcoords"] = floats("3, 1", ramp(3, 0, 1)) },
		"probeGuess is 16×16: must have the size of the patterns, 8×8":      func(f fields) { f["probeGuess"] = complexes("16, 16", 256) },
		"array probeGuess: has the shape (8, 8) of <f8: must be a plane of": func(f fields) { f["probeGuess"] = floats("8, 8", make([]float64, 64)) },
		"array objectGuess: the value at [0, 1] is not finite": func(f fields) {
			f["objectGuess"] = npytest.Array("<c8", "1, 2", npytest.Float32s(0, 0, float32(math.NaN()), 0))
		},
	} {
		f := valid()
		change(f)
		if _, err := f.read(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "text.npz")
	if err := os.WriteFile(path, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), path, ReadOptions{As: AsAmplitude}); err == nil || !strings.Contains(err.Error(), "text.npz: is not an NPZ archive") {
		t.Errorf("a text: %v", err)
	}
}

// A file either gives a whole scan or an error. Without a bound, minimising a new input stops the search
// for a minute, in which no executions are counted:
//
//	go test ./sim/ptycho/scan -run '^$' -fuzz FuzzRead -fuzztime 60s -fuzzminimizetime 10x
func FuzzRead(f *testing.F) {
	whole := valid().file()
	f.Add(whole)
	f.Add(whole[:len(whole)-40])
	f.Add(bytes.Replace(whole, []byte("(3, 8, 8)"), []byte("(8, 8, 3)"), 1))
	f.Add(bytes.Replace(whole, []byte("<f8"), []byte("<u8"), 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readAs(t, data, AsIntensity)
		if err != nil {
			return
		}
		if s.Size < 8 || len(s.X) == 0 || len(s.Y) != len(s.X) || len(s.Diffraction) != len(s.X)*s.Size*s.Size || len(s.Probe) != s.Size*s.Size {
			t.Fatalf("%d positions of %d pixels with %d amplitudes", len(s.X), s.Size, len(s.Diffraction))
		}
		if _, err := s.Normalisation(); err != nil {
			t.Fatal(err)
		}
	})
}
