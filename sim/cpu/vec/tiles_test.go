package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPairsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for _, rows := range []int{1, 3} {
			pitch, yPitch := n+3, 2*n+5
			even, odd := awkward(rng, (rows-1)*pitch+n), awkward(rng, (rows-1)*pitch+n)
			got, want := make([]uint16, (rows-1)*yPitch+2*n+1), make([]uint16, (rows-1)*yPitch+2*n+1)
			s.Pairs(got[:len(got)-1], yPitch, even, odd, pitch, rows, n)
			pairs(want[:len(want)-1], yPitch, even, odd, pitch, rows, n)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows: %#x, want %#x", rows, got, want)
			}
		}
		for _, stride := range []int{1, 5, 16} {
			even, odd := awkward(rng, (n-1)*stride+1), awkward(rng, (n-1)*stride+1)
			got, want := make([]uint16, 2*n+1), make([]uint16, 2*n+1)
			s.PairColumns(got[:2*n], even, odd, stride, n)
			pairColumns(want[:2*n], even, odd, stride, n)
			if !slices.Equal(got, want) {
				t.Errorf("stride %d: %#x, want %#x", stride, got, want)
			}
		}
	})
}
