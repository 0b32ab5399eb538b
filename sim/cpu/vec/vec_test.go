package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// lengths meets every remainder of a vector and of an unrolled loop.
var lengths = []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 63, 64, 65, 100, 127, 128, 129, 260}

// guarded returns n random floats between words that a kernel must not touch, at
// an address that no vector is aligned to.
func guarded(t *testing.T, rng *rand.Rand, n int) []float32 {
	t.Helper()
	const guard = 40
	all := make([]float32, n+2*guard+1)
	skip := guard
	if uintptr(unsafe.Pointer(&all[guard]))%32 == 0 {
		skip++
	}
	for i := range all {
		all[i] = float32(math.NaN()) // poisons what reads it
	}
	x := all[skip : skip+n : skip+n]
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	t.Cleanup(func() {
		for i, v := range all {
			if (i < skip || i >= skip+n) && v == v {
				t.Errorf("wrote element %d of %d", i-skip, n)
			}
		}
	})
	return x
}

// forEach runs a test with every set but Go and every length.
func forEach(t *testing.T, test func(t *testing.T, s Set, rng *rand.Rand, n int)) {
	for _, s := range Available() {
		if s == Go {
			continue
		}
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%v/%d", s, n), func(t *testing.T) { test(t, s, rand.New(rand.NewPCG(7, uint64(n))), n) })
		}
	}
}

// same compares results of two sets; terms of size 1 were added count times, each
// with a relative error of 2^-24 or less per operation.
func same(t *testing.T, what string, got, want []float32, count int) {
	t.Helper()
	tolerance := float64(count+4) * 0x1p-23
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance) {
			t.Fatalf("%s[%d] = %v, plain Go has %v", what, i, got[i], want[i])
		}
	}
}

func TestTileIsPlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 11; rows++ {
			const k, stride = 13, 37
			pitch := n + rng.IntN(3)
			y, x := guarded(t, rng, (rows-1)*pitch+n), guarded(t, rng, n+50)
			w := guarded(t, rng, rows*stride)
			segments, weights := make([]int32, k), make([]int32, k)
			for i := range k {
				segments[i], weights[i] = int32(rng.IntN(51)), int32(rng.IntN(stride))
			}
			segments[0] = 50 // the last run ends with x
			want := slices.Clone(y)
			tile(want, pitch, rows, n, x, segments, weights, w, stride)
			s.Tile(y, pitch, rows, n, x, segments, weights, w, stride)
			same(t, fmt.Sprintf("%d rows: y", rows), y, want, k)
		}
	})
}

func TestDotsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 6; rows++ {
			for k := 1; k <= 9; k++ {
				pitch, stride := k+2, n+3
				out, p := guarded(t, rng, (rows-1)*pitch+k), guarded(t, rng, (rows-1)*stride+n)
				x, segments := guarded(t, rng, n+20), make([]int32, k)
				for i := range segments {
					segments[i] = int32(rng.IntN(21))
				}
				segments[k-1] = 20
				want := slices.Clone(out)
				dots(want, pitch, rows, p, stride, n, x, segments)
				s.Dots(out, pitch, rows, p, stride, n, x, segments)
				same(t, fmt.Sprintf("%d rows, %d runs: out", rows, k), out, want, n)
			}
		}
	})
}
