package cuda_test

import (
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/gpu/emulator/ptx"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
)

// emulatedAs returns a backend on an emulated device of a compute capability, 10·major + minor, whose kernels are checked.
func emulatedAs(t testing.TB, capability int) *cuda.Backend {
	t.Helper()
	d := emulator.New(emulator.Options{
		Devices: []emulator.DeviceOptions{{Capability: capability}},
		Checks:  ptx.Checks{Uninitialised: true, Races: true},
	})
	b, err := cuda.Open(d, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// conforms runs families of the conformance suite on an emulated device.
func conforms(t *testing.T, families ...string) {
	for _, capability := range []int{75, 80} {
		t.Run(map[int]string{75: "sm_75", 80: "sm_80"}[capability], func(t *testing.T) {
			o := nntest.Options{Threads: 1, Families: families, Allocates: true}
			o.Run(t, func(t *testing.T, _ int) nn.Backend { return emulatedAs(t, capability) })
		})
	}
}

func TestNormalisation(t *testing.T) { conforms(t, "normalisation", "refusals") }
func TestElements(t *testing.T)      { conforms(t, "activation", "elementwise") }
func TestLayout(t *testing.T)        { conforms(t, "layout", "pixels") }
func TestOptimiser(t *testing.T)     { conforms(t, "optimiser") }
