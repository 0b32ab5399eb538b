package conv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/plain"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestOuterOfPairsIsPlainGos(t *testing.T) {
	pairs, rng := vectest.Pairs(t), rand.New(rand.NewPCG(7, 1))
	for _, k := range []int{1, 2, 5, 33} {
		for rows := 1; rows <= 17; rows++ {
			for panels := 1; panels <= 3; panels++ {
				for _, add := range []bool{false, true} {
					am, ak := k+2, 1
					if rows%2 == 0 {
						am, ak = 1, rows+3
					}
					bv, cv := PatchFloats*k+5, PatchFloats+rng.IntN(2)
					bk, cm := PatchFloats, panels*cv+3
					c := vectest.Guarded(t, rng, (rows-1)*cm+(panels-1)*cv+PatchFloats)
					a, b := vectest.GuardedPairs(t, rng, (rows-1)*am+(k-1)*ak+1), vectest.GuardedPairs(t, rng, (panels-1)*bv+(k-1)*bk+PatchFloats)
					want := slices.Clone(c)
					outerPairs(want, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
					OuterPairs(pairs, c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
					vectest.Same(t, fmt.Sprintf("%d terms, %d rows, %d panels, add %v: c", k, rows, panels, add), c, want, 2*k)
				}
			}
		}
	}
}

func TestOuterIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, k int) {
		for rows := 1; rows <= 17; rows++ {
			for panels := 1; panels <= 3; panels++ {
				for _, add := range []bool{false, true} {
					am, ak := k+2, 1
					if rows%2 == 0 {
						am, ak = 1, rows+3
					}
					bv, cv := PatchFloats*k+5, PatchFloats+rng.IntN(2)
					bk, cm := PatchFloats, panels*cv+3
					c := vectest.Guarded(t, rng, (rows-1)*cm+(panels-1)*cv+PatchFloats)
					a, b := vectest.Guarded(t, rng, (rows-1)*am+(k-1)*ak+1), vectest.Guarded(t, rng, (panels-1)*bv+(k-1)*bk+PatchFloats)
					want := slices.Clone(c)
					outer(want, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
					Outer(s, c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
					vectest.Same(t, fmt.Sprintf("%d rows, %d panels, add %v: c", rows, panels, add), c, want, k)
				}
			}
		}
	})
}

func TestInnerIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, k int) {
		for rows := 1; rows <= 7; rows++ {
			for n := 4; n <= 12; n += 4 {
				pitch, am, step := n+1, PatchFloats*k+3, PatchFloats*n+7
				out, a := vectest.Guarded(t, rng, (rows-1)*pitch+n), vectest.Guarded(t, rng, (rows-1)*am+PatchFloats*k)
				g := vectest.Guarded(t, rng, (k-1)*step+PatchFloats*n)
				want := slices.Clone(out)
				inner(want, pitch, rows, n, a, am, g, step, k)
				Inner(s, out, pitch, rows, n, a, am, g, step, k)
				vectest.Same(t, fmt.Sprintf("%d rows, %d patches: out", rows, n), out, want, PatchFloats*k)
			}
		}
	})
}

func TestPatchesAndFoldArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			pitch := 2*n + 4 + rng.IntN(3)
			x, y := vectest.Guarded(t, rng, (2*rows+1)*pitch+2*n+2), vectest.Guarded(t, rng, PatchFloats*n*rows)
			want := slices.Clone(y)
			patches(want, x, pitch, n, rows)
			Patches(s, y, x, pitch, n, rows)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows: patches are not the same", rows)
			}
			p := vectest.Guarded(t, rng, PatchFloats*n*(rows+1))
			got, wanted := vectest.Guarded(t, rng, (2*rows-1)*pitch+2*n+4), make([]float32, 2*rows*pitch)
			Fold(s, got, pitch, p, n, rows)
			fold(wanted, pitch, p, n, rows)
			for r := range 2 * rows {
				if !slices.Equal(got[r*pitch:][:2*n+2], wanted[r*pitch:][:2*n+2]) {
					t.Errorf("%d rows: row %d is not the same", rows, r)
				}
			}
		}
	})
}

// The sums of fold are the adjoint of the copies of patches: the same products,
// taken from either side, have the same total.
func TestFoldIsTheAdjointOfPatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, rows, pitch = 9, 3, 2*9 + 4
	x, p := make([]float32, (2*rows+2)*pitch), make([]float32, PatchFloats*n*(rows+2))
	inside := p[PatchFloats*n:][:PatchFloats*n*rows]
	for _, v := range [][]float32{x, inside} {
		for i := range v {
			v[i] = float32(rng.IntN(9) - 4)
		}
	}
	taken, folded := make([]float32, len(inside)), make([]float32, len(x))
	patches(taken, x, pitch, n, rows)
	fold(folded, pitch, p, n, rows+1)
	total := plain.Dot(taken, inside)
	for r := range 2*rows + 2 {
		total -= plain.Dot(x[r*pitch:][:2*n+2], folded[r*pitch:][:2*n+2])
	}
	if total != 0 {
		t.Errorf("the totals differ by %v", total)
	}
}
