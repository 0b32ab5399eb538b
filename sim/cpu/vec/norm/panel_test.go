package norm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

// Panels of every set are those of plain Go, for whole panels and for the last, narrower
// one, whose neighbours must not be touched.
func TestPanelsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, rows int) {
		for _, n := range []int{PanelChannels, 5} {
			for _, slope := range []float32{0.01, 1} {
				t.Run(fmt.Sprintf("%d channels, slope %v", n, slope), func(t *testing.T) {
					pitch := n + rng.IntN(20)
					size := (rows-1)*pitch + n
					x, y, gy, residual := vectest.Guarded(t, rng, size), vectest.Guarded(t, rng, size), vectest.Guarded(t, rng, size), vectest.Guarded(t, rng, size)
					factor, add := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
					y[0] = 0 // leaks

					var got, want PanelSums
					got[1][0], want[1][0] = 0.5, 0.5 // the sums are added to
					PanelMoments(s, &got, x, pitch, rows, add)
					panelMoments(&want, x, pitch, rows, add)
					vectest.Same(t, "total", got[0][:], want[0][:], 2*rows)
					vectest.Same(t, "square", got[1][:], want[1][:], 4*rows)
					PanelGradSums(s, &got, x, y, gy, pitch, rows, add, slope)
					panelGradSums(&want, x, y, gy, pitch, rows, add, slope)
					vectest.Same(t, "gradient", got[0][:], want[0][:], 4*rows)
					vectest.Same(t, "product", got[1][:], want[1][:], 8*rows)

					for _, r := range [][]float32{nil, residual} {
						to, plain := vectest.Guarded(t, rng, size), make([]float32, size)
						copy(plain, to)
						PanelNormalise(s, to, x, r, pitch, rows, factor, add, slope)
						panelNormalise(plain, x, r, pitch, rows, factor, add, slope)
						vectest.Same(t, "y", to, plain, 2)

						p := PanelGradient{Leak: slope}
						for c := range n {
							p.Mean[c], p.Factor[c], p.Slope[c], p.Add[c] = add[c], factor[c], 0.25, -add[c]
						}
						var passed, plainPassed []float32
						if r != nil {
							passed, plainPassed = vectest.Guarded(t, rng, size), make([]float32, size)
							copy(plainPassed, passed)
						}
						PanelGrad(s, to, passed, x, y, gy, pitch, rows, n, &p)
						panelGrad(plain, plainPassed, x, y, gy, pitch, rows, n, &p)
						vectest.Same(t, "gx", to, plain, 4)
						vectest.Same(t, "residual's gradient", passed, plainPassed, 0)
					}
				})
			}
		}
	})
}
