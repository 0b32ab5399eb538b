package verify

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/cyto"
	"prismtop/sim/npy"
)

// Files made by another program, where they are next to a checkout, with every variant
// of the kernels.
func TestSegmentationGoldenVectors(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/golden-workloads/dynunet_*.npz")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("there are no reference vectors of CytoDL's network")
	}
	for _, path := range paths {
		for _, kernels := range cpu.KernelNames() {
			if kernels == "go" && (testing.Short() || strings.Contains(path, "3d")) {
				continue // seconds; the planes go through the same code
			}
			t.Run(kernels+" "+filepath.Base(path), func(t *testing.T) {
				withinTolerance(t, path, variant(t, cpu.Options{Kernels: kernels, Threads: 2}))
			})
		}
	}
}

// segmentationArrays are the inputs of reference vectors of a network, and the results as
// plain Go computes them.
func segmentationArrays(t *testing.T, config cyto.Config, batch int, sides ...int) map[string]*array {
	t.Helper()
	net, err := cyto.New(config)
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string]*array{}
	for _, w := range net.Seeded(99) {
		arrays[cytoWeight+w.Name] = &array{shape: w.Shape, kind: "<f4", values: widen(w.Values)}
	}
	shape := append([]int{batch, 1}, sides...)
	n := batch
	for _, s := range sides {
		n *= s
	}
	image, target := make([]float64, n), make([]float64, n)
	for i := range image {
		image[i] = float64(float32(math.Cos(0.21*float64(i)) + 0.2*math.Sin(1.7*float64(i))))
		target[i] = math.Round(0.5 + 0.4*math.Sin(0.11*float64(i)))
	}
	arrays["input"], arrays["target"] = &array{shape: shape, kind: "<f4", values: image}, &array{shape: shape, kind: "<f4", values: target}
	d := &cytoCase{checker: newChecker(t.Context(), arrays, variant(t, cpu.Options{Kernels: "go", Threads: 2}))}
	result := func(name string, shape []int, values []float32) {
		for _, suffix := range []string{"_32", "_64"} {
			arrays[name+suffix] = &array{shape: shape, kind: "<f8", values: widen(values)}
		}
	}
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	err = d.within(cyto.PlanOptions{Loss: cyto.MeanSquare}, func(p *cytoProgram) error {
		err := p.run(0, 1)
		result("output", shape, output(t, p, cyto.LogitsOutput))
		result("mse", nil, output(t, p, cyto.LossOutput))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.within(cyto.PlanOptions{Loss: cyto.DiceBCE, Train: true}, func(p *cytoProgram) error {
		for step := range 3 {
			if err := p.run(0, 1); err != nil {
				return err
			}
			result(fmt.Sprintf("loss.step%d", step), nil, output(t, p, cyto.LossOutput))
			if err := p.run(2); err != nil {
				return err
			}
			if step > 0 {
				continue
			}
			for i, g := range p.net.Gradients(p.state) {
				result("grad."+g.Name, g.Shape, g.Values)
				w := p.net.Weights(p.state)[i]
				result("after1."+w.Name, w.Shape, w.Values)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return arrays
}

func segmentationReport(t *testing.T, arrays map[string]*array) Report {
	t.Helper()
	var file bytes.Buffer
	archive := npy.NewWriter(&file)
	for name, a := range arrays {
		if err := npy.Add(archive, name, a.shape, a.values); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := File(t.Context(), write(t, file.Bytes()), engine(t))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The network follows from the arrays, whatever its levels, filters and sides.
func TestSegmentationOfOtherSizes(t *testing.T) {
	for _, c := range []struct {
		config cyto.Config
		batch  int
		sides  []int
	}{
		{cyto.Config{Axes: 3, Filters: []int{3, 5}}, 3, []int{2, 6, 4}},
		{cyto.Config{Axes: 2, Filters: []int{4, 6, 7, 8}}, 1, []int{16, 24}},
	} {
		arrays := segmentationArrays(t, c.config, c.batch, c.sides...)
		report := segmentationReport(t, arrays)
		// The truth is a float32 result here, so that the tolerance is its slack alone, which
		// kernels that add in another order may exceed slightly.
		for _, r := range report.Results {
			if !(float64(r.Error) <= 1e-4) {
				t.Errorf("%+v: %+v", c.config, r)
			}
		}
		results := 0
		for name := range arrays {
			if strings.HasSuffix(name, "_64") {
				results++
			}
		}
		if len(report.Results) != results || len(report.Cases) != 1 || report.Cases[0] != "DynUNet w" {
			t.Errorf("%+v: cases %q, %d results of %d", c.config, report.Cases, len(report.Results), results)
		}
		arrays[cytoWeight+"bottle.conv2.weight"].values[10] += 0.1
		report = segmentationReport(t, arrays)
		if report.OK || float64(report.Results[0].Error) < 1e-4 {
			t.Errorf("%+v: a changed weight is not found: %+v", c.config, report.Results[0])
		}
	}
}

// A loss after steps of Adam may be apart by what a value on the other side of a kink does to it, more with each
// step, however near to the truth the reference happens to be; one before training may not, and one that is further
// apart is found.
func TestLossesAfterTrainingAllowForKinks(t *testing.T) {
	arrays := segmentationArrays(t, cyto.Config{Axes: 3, Filters: []int{3, 5}}, 3, 2, 6, 4)
	for _, tt := range []struct {
		step  int
		apart float64 // as a share of the loss
		ok    bool
	}{{0, 1e-5, false}, {1, 8e-6, true}, {1, 1.5e-5, false}, {2, 1.5e-5, true}, {2, -1.5e-5, true}, {2, 3e-5, false}, {2, 3e-4, false}} {
		name := fmt.Sprintf("loss.step%d", tt.step)
		before := arrays[name+"_64"].values[0]
		for _, suffix := range []string{"_64", "_32"} {
			arrays[name+suffix].values = []float64{before * (1 + tt.apart)}
		}
		for _, r := range segmentationReport(t, arrays).Results {
			if r.Array == name+"_64" && r.OK != tt.ok {
				t.Errorf("%s, %g apart: %+v, want %v", name, tt.apart, r, tt.ok)
			}
		}
		for _, suffix := range []string{"_64", "_32"} {
			arrays[name+suffix].values = []float64{before}
		}
	}
}

// A file that describes no network says which array is to blame.
func TestSegmentationFilesAreRefused(t *testing.T) {
	sized := func(shape ...int) *array {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return &array{shape: shape, kind: "<f4", values: make([]float64, n)}
	}
	for want, change := range map[string]func(map[string]*array){
		"array w.inp.conv1.weight of 4x1: needs real weights":                   func(a map[string]*array) { a[cytoFirst] = sized(4, 1) },
		"array w.bottle.conv1.weight is missing":                                func(a map[string]*array) { delete(a, "w.bottle.conv1.weight") },
		"array w.up0.up.weight is missing":                                      func(a map[string]*array) { delete(a, "w.up0.up.weight") },
		"w.inp.norm1.bias has the shape 5, the network needs 4":                 func(a map[string]*array) { a["w.inp.norm1.bias"] = sized(5) },
		"array input of 1x1x4x6 and target of 1x1x4x4":                          func(a map[string]*array) { a["input"] = sized(1, 1, 4, 6) },
		"array input of 1x1x5x5: sides of 1x5x5: must be divisible by 2":        func(a map[string]*array) { a["input"], a["target"] = sized(1, 1, 5, 5), sized(1, 1, 5, 5) },
		"array loss.stepx_64: needs a step from 0 to 1000":                      func(a map[string]*array) { a["loss.stepx_64"] = sized() },
		"array loss.step0_64 is missing":                                        func(a map[string]*array) { delete(a, "loss.step0_64") },
		"cyto network: 513 filters: must be 1 to 512":                           func(a map[string]*array) { a[cytoFirst] = sized(513, 1, 3, 3) },
		"array input of type <f4 and shape 1x1x4: needs real numbers on 4 axes": func(a map[string]*array) { a["input"] = sized(1, 1, 4) },
	} {
		net, err := cyto.New(cyto.Config{Axes: 2, Filters: []int{4, 4}})
		if err != nil {
			t.Fatal(err)
		}
		arrays := map[string]*array{"input": sized(1, 1, 4, 4), "target": sized(1, 1, 4, 4), "loss.step0_64": sized(), "loss.step0_32": sized()}
		for _, w := range net.StateDict() {
			arrays[cytoWeight+w.Name] = sized(w.Shape...)
		}
		change(arrays)
		checker := newChecker(t.Context(), arrays, engine(t))
		checker.recognise()
		if checker.passed() || !strings.Contains(fmt.Sprint(checker.results), want) {
			t.Errorf("%v, want %q", checker.results, want)
		}
	}
}

// output reads an output that the plan has.
func output(t *testing.T, p *cytoProgram, name string) []float32 {
	t.Helper()
	values, err := p.output(name)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
