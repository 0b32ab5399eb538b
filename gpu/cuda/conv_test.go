package cuda_test

import (
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/gpu/emulator/ptx"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
)

// emulatedOf opens the backend of an emulated device of a compute capability, which checks the kernels' use of memory.
func emulatedOf(t testing.TB, capability int) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(emulator.New(emulator.Options{Devices: []emulator.DeviceOptions{{Capability: capability}},
		Checks: ptx.Checks{Uninitialised: true, Races: true}}), cuda.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// The suite of every backend, in which a third of the shapes have kernels of their own.
func TestConvolutions(t *testing.T) {
	suite := nntest.Options{Threads: 1, Families: []string{"convolution"}, Allocates: true}
	suite.Run(t, func(t *testing.T, _ int) nn.Backend { return emulatedOf(t, 80) })
}
