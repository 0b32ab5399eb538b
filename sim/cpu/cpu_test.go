package cpu_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a backend that is closed with the test.
func open(t testing.TB, threads int) *cpu.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// openKernels makes a backend with certain kernels that is closed with the test.
func openKernels(t testing.TB, threads int, kernels string) *cpu.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Threads: threads, Kernels: kernels})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// forEachKernels runs a test with every variant of the kernels that this processor
// has, on two threads.
func forEachKernels(t *testing.T, test func(t *testing.T, be *cpu.Backend)) {
	for _, kernels := range cpu.KernelNames() {
		t.Run(kernels, func(t *testing.T) { test(t, openKernels(t, 2, kernels)) })
	}
}

func TestConformance(t *testing.T) {
	for _, kernels := range cpu.KernelNames() {
		t.Run(kernels, func(t *testing.T) {
			nntest.Run(t, func(t *testing.T, threads int) nn.Backend { return openKernels(t, threads, kernels) })
		})
	}
}

func TestKernelsAreChosenByName(t *testing.T) {
	names := cpu.KernelNames()
	if names[len(names)-1] != "go" {
		t.Errorf("kernels %q: plain Go must be there, and last", names)
	}
	for _, auto := range []string{"", "auto"} {
		if got := openKernels(t, 1, auto).Kernels(); got != names[0] {
			t.Errorf("%q chose %q, the fastest is %q", auto, got, names[0])
		}
	}
	for _, name := range names {
		be := openKernels(t, 2, name)
		if got := be.Kernels(); got != name {
			t.Errorf("%q chose %q", name, got)
		}
		if got, want := be.Name(), "cpu "+name+" ×2"; got != want {
			t.Errorf("name %q, want %q", got, want)
		}
	}
	if _, err := cpu.New(cpu.Options{Kernels: "sse"}); err == nil || !strings.Contains(err.Error(), "auto, go") {
		t.Errorf("unknown kernels: %v", err)
	}
}
