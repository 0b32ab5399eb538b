package nntest

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// threads is the largest number of threads with which a backend is tested.
const threads = 4

// Exhaustive reports whether all cases are tested with all numbers of threads, as in .ci/run.
func Exhaustive() bool { return os.Getenv("EXHAUSTIVE") != "" }

// Options restrict the suite for backends that have only some operators, or none of the host's threads.
type Options struct {
	// Threads is the largest number of threads of the backends to open; 0 is 4.
	Threads int

	// Families are the families of operators to test, and the parts "loss gradients", "refusals", "device" and
	// "beside"; empty is all of them.
	Families []string

	// Every, if above 1, leaves out all but each Every-th case of a family, for backends that are slow.
	Every int

	// Allocates allows kernels to allocate memory of the host.
	Allocates bool
}

// A testCase is one operator on given operands, with the expected results.
type testCase struct {
	name string
	op   nn.Op
	in   []Array
	out  []Result
	want []reference
}

// multiplied is an operator with the given kind of products.
type multiplied struct {
	nn.Op
	products nn.Products
}

// reference is an expected output in float64. An element may differ from want by
// tolerance·scale, with scale the size of the terms that were added (the largest
// |want| when 0), and by a rounding to the output's type.
type reference struct {
	want      []float64
	scale     float64
	tolerance float64
}

// families are the operators by kind, with their cases, whose references are computed once for all backends of a
// process.
var families = []struct {
	name  string
	cases func() []testCase
}{
	{"convolution", sync.OnceValue(convCases)},
	{"resized convolution", sync.OnceValue(resizedCases)},
	{"normalisation", sync.OnceValue(normCases)},
	{"activation", sync.OnceValue(activationCases)},
	{"layout", sync.OnceValue(layoutCases)},
	{"elementwise", sync.OnceValue(elementwiseCases)},
	{"optics", sync.OnceValue(opticsCases)},
	{"pixels", sync.OnceValue(pixelCases)},
	{"diffraction", sync.OnceValue(diffractionCases)},
	{"volumes", sync.OnceValue(volumeCases)},
	{"loss", sync.OnceValue(lossCases)},
	{"optimiser", sync.OnceValue(optimiserCases)},
	{"convolution with optimiser", sync.OnceValue(convAdamCases)},
}

// Run checks every operator on backends made by open for a number of threads.
// open is called with 1 and 3, or with 1 to 4 where tests are exhaustive, and ends the test if it cannot make a
// backend. A backend without threads may ignore the number.
func Run(t *testing.T, open func(t *testing.T, threads int) nn.Backend) { Options{}.Run(t, open) }

// Run is Run within the options.
func (o Options) Run(t *testing.T, open func(t *testing.T, threads int) nn.Backend) {
	if o.Threads == 0 {
		o.Threads = threads
	}
	backends := map[int]nn.Backend{}
	for n := 1; n <= o.Threads; n++ {
		if n == 1 || n == 3 || Exhaustive() {
			backends[n] = open(t, n)
		}
	}
	run := func(family string, test func(t *testing.T)) {
		if len(o.Families) == 0 || slices.Contains(o.Families, family) {
			t.Run(family, test)
		}
	}
	for _, f := range families {
		run(f.name, func(t *testing.T) {
			for i, c := range f.cases() {
				if o.Every > 1 && i%o.Every != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%d %s", i, c.name), func(t *testing.T) { c.run(t, backends, o.Allocates) })
			}
		})
	}
	run("loss gradients", func(t *testing.T) { runLossGrads(t, backends) })
	run("refusals", func(t *testing.T) {
		image, biases := Array{Shape: tensor.Shape{1, 2, 3, 3}}, []Result{{Shape: tensor.Shape{3}}}
		if s, err := NewStep(backends[1], nn.BiasGrad{}, []Array{image}, biases); err == nil {
			s.Close()
			t.Error("loads a plan that nn.Plan.Check refuses")
		}
	})
	run("device", func(t *testing.T) { checkDevice(t, open) })
	run("beside", func(t *testing.T) { checkBeside(t, open(t, 2)) })
}

// run compares the case with its reference on one thread, and the results for other
// numbers of threads with that, bit by bit. Each step runs twice, because a kernel
// may leave state behind, and must then allocate nothing.
func (c *testCase) run(t *testing.T, backends map[int]nn.Backend, allocates bool) {
	m, ok := c.op.(multiplied)
	if !ok {
		m.Op = c.op
	}
	var first [][]float32
	for _, n := range slices.Sorted(maps.Keys(backends)) {
		s, err := NewProductStep(backends[n], m.Op, m.products, c.in, c.out)
		if err != nil {
			t.Fatalf("load: %v", err)
		}
		defer s.Close()
		for pass := range 2 {
			got, err := s.Run()
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			if first == nil {
				first = got
				c.compare(t, got)
				continue
			}
			for o := range got {
				if at := firstDifference(got[o], first[o]); at >= 0 {
					t.Fatalf("%d threads, run %d: output %d[%d] = %v, on one thread %v", n, pass, o, at, got[o][at],
						first[o][at])
				}
			}
		}
		if allocates {
			continue
		}
		// A kernel that allocates does so each time; the runtime now and then, for a worker that
		// waits or a thread that it starts where others keep the processors.
		allocated := 1.0
		for try := 0; allocated != 0 && err == nil && try < 5; try++ {
			allocated = testing.AllocsPerRun(3, func() { err = s.Exec.Run(t.Context(), nn.SegmentForward) })
		}
		if allocated != 0 || err != nil {
			t.Errorf("%d threads: %v allocations per run, error %v", n, allocated, err)
		}
	}
}

func (c *testCase) compare(t *testing.T, got [][]float32) {
	t.Helper()
	for o, r := range c.want {
		if r.want == nil {
			continue // any value
		}
		d := c.out[o].DType
		if c.out[o].InPlace {
			d = c.in[c.out[o].Input].DType
		}
		if err := r.check(got[o], d); err != nil {
			t.Errorf("output %d: %v", o, err)
		}
	}
}

// check compares values of a type with the reference.
func (r reference) check(got []float32, d tensor.DType) error {
	if len(got) != len(r.want) {
		return fmt.Errorf("%d values, want %d", len(got), len(r.want))
	}
	scale := r.scale
	if scale == 0 {
		for _, v := range r.want {
			scale = max(scale, math.Abs(v))
		}
	}
	relative, absolute := rounding(d)
	for i, want := range r.want {
		limit := r.tolerance*scale + relative*math.Abs(want) + absolute
		if diff := math.Abs(float64(got[i]) - want); !(diff <= limit) {
			return fmt.Errorf("[%d] = %v, want %v: off by %.3g, allowed %.3g", i, got[i], want, diff, limit)
		}
	}
	return nil
}

// rounding is half a unit in the last place, relative and among subnormals.
func rounding(d tensor.DType) (relative, absolute float64) {
	switch d {
	case tensor.BFloat16:
		return 0x1p-8, 0
	case tensor.Float16:
		return 0x1p-11, 0x1p-25
	}
	return 0x1p-24, 0
}

// firstDifference returns the first index where bits differ, or −1.
func firstDifference(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}
