package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Panels of every set are those of plain Go, for whole panels and for the last, narrower
// one, whose neighbours must not be touched.
func TestPanelsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, rows int) {
		for _, n := range []int{PatchFloats, 5} {
			for _, slope := range []float32{0.01, 1} {
				t.Run(fmt.Sprintf("%d channels, slope %v", n, slope), func(t *testing.T) {
					pitch := n + rng.IntN(20)
					size := (rows-1)*pitch + n
					x, y, gy, residual := guarded(t, rng, size), guarded(t, rng, size), guarded(t, rng, size), guarded(t, rng, size)
					factor, add := guarded(t, rng, n), guarded(t, rng, n)
					y[0] = 0 // leaks

					var got, want PanelSums
					got[1][0], want[1][0] = 0.5, 0.5 // the sums are added to
					s.PanelMoments(&got, x, pitch, rows, add)
					panelMoments(&want, x, pitch, rows, add)
					same(t, "total", got[0][:], want[0][:], 2*rows)
					same(t, "square", got[1][:], want[1][:], 4*rows)
					s.PanelGradSums(&got, x, y, gy, pitch, rows, add, slope)
					panelGradSums(&want, x, y, gy, pitch, rows, add, slope)
					same(t, "gradient", got[0][:], want[0][:], 4*rows)
					same(t, "product", got[1][:], want[1][:], 8*rows)

					for _, r := range [][]float32{nil, residual} {
						to, plain := guarded(t, rng, size), make([]float32, size)
						copy(plain, to)
						s.PanelNormalise(to, x, r, pitch, rows, factor, add, slope)
						panelNormalise(plain, x, r, pitch, rows, factor, add, slope)
						same(t, "y", to, plain, 2)

						p := PanelGradient{Leak: slope}
						for c := range n {
							p.Mean[c], p.Factor[c], p.Slope[c], p.Add[c] = add[c], factor[c], 0.25, -add[c]
						}
						var passed, plainPassed []float32
						if r != nil {
							passed, plainPassed = guarded(t, rng, size), make([]float32, size)
							copy(plainPassed, passed)
						}
						s.PanelGrad(to, passed, x, y, gy, pitch, rows, n, &p)
						panelGrad(plain, plainPassed, x, y, gy, pitch, rows, n, &p)
						same(t, "gx", to, plain, 4)
						same(t, "residual's gradient", passed, plainPassed, 0)
					}
				})
			}
		}
	})
}
