package gpu_test

import (
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/sim/cpu"
	"prismtop/sim/verify/against"
)

func TestEveryOperatorOfAnEmulatedGPUIsTheProcessors(t *testing.T) {
	b, err := cuda.Open(emulator.New(emulator.Options{}), cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	report, err := against.Compare(t.Context(), b, host, against.Options{Sizes: [][2]int{{16, 8}}, Iterations: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range report.Operators {
		t.Logf("%+v", o)
	}
	for _, o := range report.Trainings {
		t.Logf("%+v", o)
	}
	if !report.OK() {
		t.Error("not OK")
	}
}
