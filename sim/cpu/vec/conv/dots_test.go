package conv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestDotsOfPairsArePlainGos(t *testing.T) {
	pairs, rng := vectest.Pairs(t), rand.New(rand.NewPCG(7, 3))
	for _, n := range vectest.Lengths {
		for rows := 1; rows <= 6; rows++ {
			for k := 1; k <= 9; k++ {
				pitch, stride := k+2, n+3
				out, a := vectest.Guarded(t, rng, (rows-1)*pitch+k), vectest.GuardedPairs(t, rng, (rows-1)*stride+n)
				x, segments := vectest.GuardedPairs(t, rng, n+20), make([]int32, k)
				for i := range segments {
					segments[i] = int32(rng.IntN(21))
				}
				segments[k-1] = 20 // the last run ends with x
				want := slices.Clone(out)
				dotsPairs(want, pitch, rows, a, stride, n, x, segments)
				DotsPairs(pairs, out, pitch, rows, a, stride, n, x, segments)
				vectest.Same(t, fmt.Sprintf("%d pairs, %d rows, %d runs: out", n, rows, k), out, want, 2*n)
			}
		}
	}
}

func TestDotsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 6; rows++ {
			for k := 1; k <= 9; k++ {
				pitch, stride := k+2, n+3
				out, p := vectest.Guarded(t, rng, (rows-1)*pitch+k), vectest.Guarded(t, rng, (rows-1)*stride+n)
				x, segments := vectest.Guarded(t, rng, n+20), make([]int32, k)
				for i := range segments {
					segments[i] = int32(rng.IntN(21))
				}
				segments[k-1] = 20
				want := slices.Clone(out)
				dots(want, pitch, rows, p, stride, n, x, segments)
				Dots(s, out, pitch, rows, p, stride, n, x, segments)
				vectest.Same(t, fmt.Sprintf("%d rows, %d runs: out", rows, k), out, want, n)
			}
		}
	})
}
