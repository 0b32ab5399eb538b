package gpu_test

import (
	"testing"

	"prismtop/gpu"
	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/verify/against"
)

// compared compares a backend with the processor's, as doctor --gpu does.
func compared(t *testing.T, b nn.Backend, o against.Options) {
	t.Helper()
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	report, err := against.Compare(t.Context(), b, host, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range report.Operators {
		if t.Logf("%+v", o); !o.OK {
			t.Errorf("%s in %s is off by %g, at most %g: %s %s", o.Name, o.Mode, o.Worst, o.Limit, o.At, o.Error)
		}
	}
	for _, training := range report.Trainings {
		if t.Logf("%+v", training); !training.OK {
			t.Errorf("a training is off: %+v", training)
		}
	}
}

func TestEveryOperatorOfAnEmulatedGPUIsTheProcessors(t *testing.T) {
	b, err := cuda.Open(emulator.New(emulator.Options{}), cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	compared(t, b, against.Options{Sizes: [][2]int{{16, 8}}, Iterations: 3})
}

// PtychoPINN's network, whose least size is 64, takes minutes on the emulator; the conformance suite has its operators.
func TestEveryOperatorOfCellsOnAnEmulatedGPUIsTheProcessors(t *testing.T) {
	slow(t)
	b, err := cuda.Open(emulator.New(emulator.Options{}), cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	compared(t, b, against.Options{Cells: [][3]int{{4, 8, 8}, {1, 16, 16}}})
}

func TestGPUOperatorsAreTheProcessors(t *testing.T) {
	found := gpu.Probe()
	if !found.Usable {
		t.Skip("no GPU to test on: ", found.Reason)
	}
	ordinal, _ := gpu.Ordinal(found, "cuda")
	b, err := gpu.Open(ordinal)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	compared(t, b, against.Options{Sizes: [][2]int{{64, 32}, {512, 128}}, Iterations: 10, Ptychography: true, Cells: [][3]int{{16, 32, 32}, {1, 64, 64}}})
}

// On a real GPU, a run moves to it and back, and follows the processor's losses.
func TestGPURunMovesBetweenDevices(t *testing.T) {
	found := gpu.Probe()
	ordinal, reason := gpu.Ordinal(found, "cuda")
	if reason != "" {
		t.Skip("no GPU to test on: ", reason)
	}
	want := losses(t, begun(t, noGPUs, "device=cpu"))
	r := begun(t, onReal(ordinal), "device=cpu")
	for _, device := range []string{"cuda", "cpu", "cuda"} {
		if err := r.Set("device", device); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if on := r.Info().Device; on != device {
			t.Errorf("device = %s: the run is on %s", device, on)
		}
	}
	if got := losses(t, r); !(apart(got[len(got)-1:], want[len(want)-1:]) < 0.05) {
		t.Errorf("the last loss is %v, want %v", got[len(got)-1], want[len(want)-1])
	}
}
