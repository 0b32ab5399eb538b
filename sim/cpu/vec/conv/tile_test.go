package conv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestTileIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 11; rows++ {
			const k, stride = 13, 37
			pitch := n + rng.IntN(3)
			y, x := vectest.Guarded(t, rng, (rows-1)*pitch+n), vectest.Guarded(t, rng, n+50)
			w := vectest.Guarded(t, rng, rows*stride)
			segments, weights := make([]int32, k), make([]int32, k)
			for i := range k {
				segments[i], weights[i] = int32(rng.IntN(51)), int32(rng.IntN(stride))
			}
			segments[0] = 50 // the last run ends with x
			want := slices.Clone(y)
			tile(want, pitch, rows, n, x, segments, weights, w, stride)
			Tile(s, y, pitch, rows, n, x, segments, weights, w, stride)
			vectest.Same(t, fmt.Sprintf("%d rows: y", rows), y, want, k)
		}
	})
}
