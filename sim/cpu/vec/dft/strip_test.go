package dft

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestPassesArePlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		for _, radix := range []int{2, 4, 8, -8} {
			twiddled := radix > 0
			r := max(radix, -radix)
			for _, groups := range []int{1, 3, 8} {
				b := Butterflies{Groups: groups, InStep: StripRow, InStride: groups*StripRow + 5,
					OutStep: r*StripRow + 1, OutStride: StripRow, Half: 4 * StripRow}
				at := 0
				if !twiddled {
					at, b.Half = 4*StripRow, -4*StripRow
				}
				in, out := vectest.Guarded(t, rng, r*b.InStride), vectest.Guarded(t, rng, groups*b.OutStep)
				var w []float32
				if twiddled {
					w = vectest.Guarded(t, rng, 2*(r-1)*groups)
				}
				want := slices.Clone(out)
				pass(r, want, at, in, &b, w)
				Pass(s, r, out, at, in, &b, w)
				vectest.Same(t, fmt.Sprintf("radix %d: out", radix), out, want, 16)
				inPlace := Butterflies{Groups: groups, InStep: StripRow, InStride: groups * StripRow,
					OutStep: StripRow, OutStride: groups * StripRow, Half: 4 * groups * StripRow}
				want = slices.Clone(in)
				pass(r, want, 0, want, &inPlace, w)
				Pass(s, r, in, 0, in, &inPlace, w)
				vectest.Same(t, fmt.Sprintf("radix %d in place", radix), in, want, 16)
			}
		}
	})
}

func TestSquaresAreTransposedAsPlainGoDoes(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		const squares, pitch = 3, 53
		src, got := vectest.Guarded(t, rng, 16*pitch), vectest.Guarded(t, rng, squares*16*19)
		want := slices.Clone(got)
		transposeSquares(squares, want, 0, 19, 16*19, src, 15*pitch+32, -pitch, -16)
		TransposeSquares(s, squares, got, 0, 19, 16*19, src, 15*pitch+32, -pitch, -16)
		if !slices.Equal(got, want) {
			t.Errorf("%v, plain Go has %v", got, want)
		}
	})
}

func TestRowsAreSplitAndJoinedAsPlainGoDoes(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		const rows = 5
		z := make([]complex64, rows*21)
		for i := range z {
			z[i] = complex(rng.Float32(), rng.Float32())
		}
		got := vectest.Guarded(t, rng, rows*37)
		want := slices.Clone(got)
		splitRows(rows, want, 16, 0, 37, z, 21)
		SplitRows(s, rows, got, 16, 0, 37, z, 21)
		if !slices.Equal(got, want) {
			t.Fatalf("split: %v, plain Go has %v", got, want)
		}
		back := make([]complex64, len(z))
		JoinRows(s, rows, back, 21, got, 16, 0, 37, 2)
		for i, v := range back {
			if i%21 < 16 && v != 2*z[i] || i%21 >= 16 && v != 0 {
				t.Fatalf("joined: element %d is %v, was %v", i, v, z[i])
			}
		}
	})
}

func TestMasksOnStripsArePlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		const rows = 3
		src, mask := vectest.Guarded(t, rng, rows*StripRow), vectest.Guarded(t, rng, rows*20)
		got := vectest.Guarded(t, rng, rows*35)
		want := slices.Clone(got)
		maskStrip(rows, want, 35, src, StripRow, mask, 20, 0.7)
		MaskStrip(s, rows, got, 35, src, StripRow, mask, 20, 0.7)
		vectest.Same(t, "product", got, want, 1)
		maskStripAdd(rows, want, 35, src, StripRow, mask, 20, 0.7)
		MaskStripAdd(s, rows, got, 35, src, StripRow, mask, 20, 0.7)
		vectest.Same(t, "sum", got, want, 2)
	})
}

func TestLossesOnStripsArePlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		for _, absolute := range []bool{true, false} {
			const rows = 9
			got, target := vectest.Guarded(t, rng, rows*StripRow), vectest.Guarded(t, rng, rows*StripLanes)
			got[3], got[3+StripLanes] = 0, 0               // no direction
			got[5], got[5+StripLanes] = 3e-25, -4e-25      // its square vanishes
			got[6], got[6+StripLanes] = 3e25, 4e25         // its square overflows
			got[7], got[7+StripLanes], target[7] = 3, 4, 5 // equal
			if !absolute {
				got[6], got[6+StripLanes] = 1, 1
			} else {
				target[6] = 5e25
			}
			want := slices.Clone(got)
			var sums, expected [StripRow]float32
			lossStrip(absolute, rows, want, target, &expected)
			LossStrip(s, absolute, rows, got, target, &sums)
			sums[6], sums[6+StripLanes], expected[6], expected[6+StripLanes] = 0, 0, 0, 0
			vectest.Same(t, fmt.Sprintf("absolute %v: sums", absolute), sums[:], expected[:], 4*rows)
			for i := range got {
				if i%StripLanes != 6 || i > StripRow {
					vectest.Same(t, fmt.Sprintf("absolute %v: gradient", absolute), got[i:i+1], want[i:i+1], 8)
				}
			}
		}
	})
}
