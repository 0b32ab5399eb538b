package dft

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestAmplitudesAndDirectionsArePlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		for _, add := range []bool{false, true} {
			const rows = 9
			z, got := vectest.Guarded(t, rng, rows*StripRow), vectest.Guarded(t, rng, rows*StripLanes)
			z[3], z[3+StripLanes] = 0, 0          // no direction
			z[5], z[5+StripLanes] = 3e-25, -4e-25 // its square vanishes
			z[6], z[6+StripLanes] = 3e25, 4e25    // its square overflows
			wantZ, want := slices.Clone(z), slices.Clone(got)
			modulusStrip(add, rows, wantZ, want)
			ModulusStrip(s, add, rows, z, got)
			if off := got[6]/want[6] - 1; !(off < 1e-6 && off > -1e-6) {
				t.Errorf("add %v: amplitude %v, plain Go has %v", add, got[6], want[6])
			}
			got[6] = want[6]
			vectest.Same(t, fmt.Sprintf("add %v: amplitudes", add), got[:6], want[:6], 4)
			vectest.Same(t, fmt.Sprintf("add %v: amplitudes", add), got[7:], want[7:], 4)
			vectest.Same(t, fmt.Sprintf("add %v: directions", add), z, wantZ, 4)
		}
	})
}
