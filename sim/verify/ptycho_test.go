package verify

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/npy"
	"prismtop/sim/ptycho"
	"prismtop/sim/weights"
)

// Files made by another program, where they are next to a checkout, with every variant
// of the kernels.
func TestPtychographyGoldenVectors(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/golden-workloads/ptycho_*.npz")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("there are no reference vectors of PtychoPINN's network")
	}
	for _, path := range paths {
		for _, kernels := range cpu.KernelNames() {
			t.Run(kernels+" "+filepath.Base(path), func(t *testing.T) {
				withinTolerance(t, path, variant(t, cpu.Options{Kernels: kernels, Threads: 2}))
			})
		}
	}
}

// ptychoFile returns reference vectors of a network that plain Go computes, with change
// applied to its weights afterwards.
func ptychoFile(t *testing.T, config ptycho.Config, groups int, change func(name string, values []float32)) []byte {
	t.Helper()
	net, err := ptycho.New(config)
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(t.Context(), map[string]*array{}, variant(t, cpu.Options{Kernels: "go", Threads: 2}))
	shape := []int{groups, config.Channels(), config.Size, config.Size}
	input := make([]float32, groups*config.Channels()*config.Size*config.Size)
	for i := range input {
		input[i] = float32(0.4 + 0.4*math.Cos(0.021*float64(i)))
	}
	all := append(net.Seeded(99), weights.Tensor{Name: "input", Shape: shape, Values: input})
	all = slices.DeleteFunc(all, func(w weights.Tensor) bool { return len(w.Shape) == 0 })
	for i := range all {
		if all[i].Name != "input" {
			all[i].Name = ptychoWeight + all[i].Name
		}
		c.arrays[all[i].Name] = &array{shape: all[i].Shape, kind: "<f4", values: widen(all[i].Values)}
	}
	heads, err := c.runPtycho(net)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	archive := npy.NewWriter(&file)
	for i, name := range []string{"amp", "phase"} {
		all = append(all, weights.Tensor{Name: name + "_32", Shape: shape, Values: heads[i]})
		if err := npy.Add(archive, name+"_64", shape, widen(heads[i])); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range all {
		change(w.Name, w.Values)
		if err := npy.Add(archive, w.Name, w.Shape, w.Values); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// The network follows from the arrays, whatever its sizes.
func TestPtychographyOfOtherSizes(t *testing.T) {
	for _, config := range []ptycho.Config{
		{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true},
		{Size: 64, GridSize: 3, FiltersScale: 1},
	} {
		data := ptychoFile(t, config, 2, func(string, []float32) {})
		backend := engine(t)
		report, err := File(t.Context(), write(t, data), backend)
		if err != nil {
			t.Fatal(err)
		}
		// The truth is a float32 result here, so that the tolerance is its slack alone,
		// and kernels that add in another order may exceed it slightly.
		for _, r := range report.Results {
			if !(float64(r.Error) <= 2e-5) || r.Note != "" {
				t.Errorf("%+v: %+v", config, r)
			}
		}
		if len(report.Results) != 2 || len(report.Cases) != 1 || report.Cases[0] != "PtychoPINN network w" {
			t.Errorf("%+v: cases %q, %d results", config, report.Cases, len(report.Results))
		}
		changed := ptychoFile(t, config, 2, func(name string, values []float32) {
			if name == "w.enc.0.b.weight" {
				values[100] += 0.01
			}
		})
		report, err = File(t.Context(), write(t, changed), backend)
		if err != nil {
			t.Fatal(err)
		}
		if report.OK || float64(report.Results[0].Error) < 1e-4 {
			t.Errorf("%+v: a changed weight is not found: %+v", config, report.Results)
		}
	}
}

// A file that describes no network says which array is to blame.
func TestPtychographyFilesAreRefused(t *testing.T) {
	weight := func(shape ...int) *array {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return &array{shape: shape, kind: "<f4", values: make([]float64, n)}
	}
	for _, c := range []struct {
		first, input *array
		want         string
	}{
		{weight(32, 1, 3, 3), nil, "array input is missing"},
		{weight(32, 1, 3, 3), weight(1, 1, 32, 32), "array input of 1x1x32x32: needs groups"},
		{weight(32, 2, 3, 3), weight(1, 2, 64, 64), "array input of 1x2x64x64: needs groups"},
		{weight(33, 1, 3, 3), weight(1, 1, 64, 64), "needs a multiple of 32 filters"},
		{weight(32*65, 1, 3, 3), weight(1, 1, 64, 64), "filters_scale = 65"},
		{weight(32, 4, 3, 3), weight(1, 1, 64, 64), "w.enc.0.a.weight has the shape 32x4x3x3, the network needs 32x1x3x3"},
		{weight(32, 1, 3, 3), weight(1, 1, 64, 64), "array w.enc.0.a.bias is missing"},
	} {
		arrays := map[string]*array{ptychoFirst: c.first}
		if c.input != nil {
			arrays["input"] = c.input
		}
		checker := newChecker(t.Context(), arrays, engine(t))
		checker.recognise()
		if checker.passed() || !strings.Contains(fmt.Sprint(checker.results), c.want) {
			t.Errorf("%v, want %q", checker.results, c.want)
		}
	}
}
