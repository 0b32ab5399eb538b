package verify

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// golden is the folder of the reference vectors, next to a checkout.
const golden = "../../../shared/golden"

func goldenFiles(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden, "*.npz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skipf("there are no reference vectors in %s", golden)
	}
	return paths
}

func engine(t testing.TB) nn.Backend { return variant(t, cpu.Options{}) }

func variant(t testing.TB, o cpu.Options) nn.Backend {
	t.Helper()
	backend, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	return backend
}

// Every array of every file, under every variant of the kernels that this machine runs, and under the fastest on
// one to four threads. That the number of threads makes no difference to any operator is in package nntest.
func TestGoldenVectorsAreWithinTolerance(t *testing.T) {
	paths := goldenFiles(t)
	for i, kernels := range cpu.KernelNames() { // the fastest first
		for threads := 1; threads <= 4; threads++ {
			if i > 0 && threads != 3 {
				continue
			}
			backend := variant(t, cpu.Options{Kernels: kernels, Threads: threads})
			for _, path := range paths {
				t.Run(fmt.Sprintf("%s ×%d %s", kernels, threads, filepath.Base(path)), func(t *testing.T) {
					withinTolerance(t, path, backend)
				})
			}
		}
	}
}

func withinTolerance(t *testing.T, path string, backend nn.Backend) {
	t.Helper()
	report, err := File(t.Context(), path, backend)
	if err != nil {
		t.Fatal(err)
	}
	if report.OK {
		return
	}
	for _, r := range report.Results {
		if !r.OK {
			t.Errorf("%s: error %v, allowed %v: %s", r.Array, r.Error, r.Allowed, r.Note)
		}
	}
}

// TestWindowSizeIsReadOffTheOutput compares with decoders of known windows. Two
// windows that the decoder reaches alike are the same to it.
func TestWindowSizeIsReadOffTheOutput(t *testing.T) {
	backend := engine(t)
	const size = 32
	for _, window := range []int{32, 16, 15, 14, 13, 12, 9, 8, 7, 6, 5} {
		net, err := prism.NewDecoder(prism.DecoderConfig{Size: size, ObjectSize: window, BatchNorm: true, Activation: "sigmoid", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := reconstruct(t, backend, net)
		side := 4
		for side < window {
			side *= 2
		}
		got, err := windowSize(&array{shape: []int{size, size}, values: widen(want)}, side, true)
		if err != nil {
			t.Errorf("window %d: %v", window, err)
			continue
		}
		net, err = prism.NewDecoder(prism.DecoderConfig{Size: size, ObjectSize: got, BatchNorm: true, Activation: "sigmoid", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if again := reconstruct(t, backend, net); !slices.Equal(again, want) {
			t.Errorf("window %d was read as %d, which gives another output", window, got)
		}
	}
}

func reconstruct(t *testing.T, backend nn.Backend, net *prism.Decoder) []float32 {
	t.Helper()
	plan, err := net.EvaluationPlan(t.Context(), prism.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := backend.NewState(t.Context(), initial(t, net.Model()))
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	executable, err := backend.Load(t.Context(), plan, state)
	if err != nil {
		t.Fatal(err)
	}
	defer executable.Close()
	if err := executable.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	id, _ := plan.Output(prism.ReconstructionOutput)
	return readBuffer(plan, executable, id)
}

// initial are a model's variables with their first values.
func initial(t testing.TB, m *nn.Model) []nn.Variable {
	t.Helper()
	variables, err := m.InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return variables
}
