package half

import (
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

// Rows are paired as they are, and rounded as tensor.F32ToBF16 does.
func TestPairsOfRows(t *testing.T) {
	for _, pairs := range vectest.PairSets() {
		vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
			rows, pitch, yPitch := 1+n%3, n+rng.IntN(5), n+rng.IntN(4)
			even, odd := vectest.Guarded(t, rng, (rows-1)*pitch+n), vectest.Guarded(t, rng, (rows-1)*pitch+n)
			got, want := vectest.Guarded(t, rng, (rows-1)*yPitch+n), make([]float32, (rows-1)*yPitch+n)
			copy(want, got)
			RoundPairs(pairs, got, yPitch, even, odd, pitch, rows, n)
			for r := range rows {
				for i := range n {
					want[r*yPitch+i] = Pair(tensor.F32ToBF16(even[r*pitch+i]), tensor.F32ToBF16(odd[r*pitch+i]))
				}
			}
			vectest.SameBits(t, "rounded", got, want)
			narrow := func(x []float32) []uint16 {
				h := make([]uint16, len(x))
				tensor.Narrow(tensor.BFloat16, h, x)
				return h
			}
			again := vectest.Guarded(t, rng, (rows-1)*yPitch+n)
			copy(again, got)
			for r := range rows {
				clear(again[r*yPitch:][:n])
			}
			PairRows(s, again, yPitch, narrow(even), narrow(odd), pitch, rows, n)
			vectest.SameBits(t, "paired", again, want)
		})
	}
}

func TestLargestPairsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		rows := make([]uint16, 4*n)
		tensor.Narrow(tensor.BFloat16, rows, awkward(rng, 4*n))
		got, want := make([]uint16, n+1), make([]uint16, n)
		got[n] = 0xdead
		LargestPairs(s, got[:n:n], rows[:2*n], rows[2*n:])
		largestPairs(want, rows[:2*n], rows[2*n:])
		for i, v := range want {
			if got, want := tensor.BF16ToF32(got[i]), tensor.BF16ToF32(v); got != want && (got == got || want == want) {
				t.Fatalf("the largest of %x is %v, plain Go has %v", rows[2*i:2*i+2], got, want)
			}
		}
		if got[n] != 0xdead {
			t.Fatal("wrote beyond the end")
		}
	})
}

func TestPairsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for _, rows := range []int{1, 3} {
			pitch, yPitch := n+3, 2*n+5
			even, odd := awkward(rng, (rows-1)*pitch+n), awkward(rng, (rows-1)*pitch+n)
			got, want := make([]uint16, (rows-1)*yPitch+2*n+1), make([]uint16, (rows-1)*yPitch+2*n+1)
			TilePairs(s, got[:len(got)-1], yPitch, even, odd, pitch, rows, n)
			tilePairs(want[:len(want)-1], yPitch, even, odd, pitch, rows, n)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows: %#x, want %#x", rows, got, want)
			}
		}
		for _, stride := range []int{1, 5, 16} {
			even, odd := awkward(rng, (n-1)*stride+1), awkward(rng, (n-1)*stride+1)
			got, want := make([]uint16, 2*n+1), make([]uint16, 2*n+1)
			TilePairColumns(s, got[:2*n], even, odd, stride, n)
			tilePairColumns(want[:2*n], even, odd, stride, n)
			if !slices.Equal(got, want) {
				t.Errorf("stride %d: %#x, want %#x", stride, got, want)
			}
		}
	})
}
