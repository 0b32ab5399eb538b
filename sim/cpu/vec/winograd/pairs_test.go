package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

// guardedHalves returns n random numbers in bfloat16 between words that a kernel must not touch.
func guardedHalves(t *testing.T, rng *rand.Rand, n int) []uint16 {
	const margin = 40
	x := make([]uint16, n+2*margin)
	for i := range x {
		x[i] = 0x7fc1 // NaN
		if i >= margin && i < n+margin {
			x[i] = tensor.F32ToBF16(2*rng.Float32() - 1)
		}
	}
	t.Cleanup(func() {
		for i, v := range x {
			if (i < margin || i >= n+margin) && v != 0x7fc1 {
				t.Errorf("wrote element %d of %d", i-margin, n)
			}
		}
	})
	return x[margin:][:n:n]
}

func TestPairTilesArePlainGos(t *testing.T) {
	pairs := vectest.Pairs(t)
	for _, c := range []struct{ h, w, first, n, pairs int }{{4, 16, 0, 1, 1}, {6, 32, 1, 2, 3}, {8, 48, 2, 3, 2}, {2, 64, 0, 2, 4}, {8, 8, 0, 1, 3}, {8, 8, 0, 2, 2}, {4, 16, 0, 2, 1}, {16, 8, 1, 1, 1}, {8, 24, 0, 3, 2}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(c.w), 1))
			if !PairTilesFit(c.h, c.w, false) || 2*PairTilesCount(c.h, c.w) < c.first+c.n {
				t.Fatal("no such tiles")
			}
			plane := c.h * c.w
			tiles := NewPairTiles(c.h, c.w, c.first, c.n, 2*c.pairs*plane, PairTilesRows*plane, false)
			x := guardedHalves(t, rng, 2*2*c.pairs*plane)
			size := PairTilesPositions * c.pairs * c.n * Lanes
			got, want := vectest.Guarded(t, rng, size), make([]float32, size)
			pairTilesIn(want, x, x[plane:], 2*plane, tiles, c.pairs)
			PairTilesIn(pairs, got, x, x[plane:], 2*plane, tiles, c.pairs)
			vectest.SameBits(t, "v", got, want)

			u := vectest.GuardedPairs(t, rng, PairTilesPositions*c.pairs*PairTilesRows)
			size = PairTilesPositions * PairTilesRows * c.n * Lanes
			m, product := vectest.Guarded(t, rng, size), make([]float32, size)
			pairTilesMultiply(product, want, u, c.pairs, c.n)
			PairTilesMultiply(pairs, m, want, u, c.pairs, c.n)
			vectest.Same(t, "m", m, product, 8*c.pairs)

			bias := vectest.Guarded(t, rng, PairTilesRows)
			for _, relu := range []bool{false, true} {
				for _, pooled := range []bool{false, true} {
					if !PairTilesFit(c.h, c.w, pooled) {
						continue
					}
					plane := plane
					if pooled {
						plane /= 4
					}
					tiles := NewPairTiles(c.h, c.w, c.first, c.n, 2*c.pairs*plane, PairTilesRows*plane, pooled)
					y := guardedHalves(t, rng, 2*PairTilesRows*plane)
					want := make([]uint16, len(y))
					copy(want, y)
					pairTilesOut(want, plane, product, tiles, bias, relu, pooled)
					PairTilesOut(pairs, y, plane, product, tiles, bias, relu, pooled)
					for i, v := range want {
						if y[i] != v {
							t.Fatalf("ReLU %v, pooled %v: y[%d] = %v, want %v", relu, pooled, i, tensor.BF16ToF32(y[i]), tensor.BF16ToF32(v))
						}
					}
				}
			}
		})
	}
}

// Transformed, multiplied and transformed back, a channel is convolved with a kernel: exactly, with small whole numbers.
func TestPairTilesConvolve(t *testing.T) {
	const h, w = 4, 32
	rng := rand.New(rand.NewPCG(3, 3))
	x, zeros, y := make([]uint16, h*w), make([]uint16, h*w), make([]uint16, PairTilesRows*h*w)
	for i := range x {
		x[i] = tensor.F32ToBF16(float32(rng.IntN(5) - 2))
	}
	g, u := make([]float32, 9), make([]float32, PairTilesPositions*PairTilesRows)
	for i := range g {
		g[i] = float32(4 * (rng.IntN(5) - 2))
	}
	for k, v := range PairTilesWeights(g) {
		u[k*PairTilesRows+3] = half.RoundPair(v, 0)
	}
	tiles := NewPairTiles(h, w, 0, PairTilesCount(h, w), 0, 0, false)
	n := tiles.Vectors() * Lanes
	v, m := make([]float32, PairTilesPositions*n), make([]float32, PairTilesPositions*PairTilesRows*n)
	pairTilesIn(v, x, zeros, h*w, tiles, 1)
	pairTilesMultiply(m, v, u, 1, tiles.Vectors())
	pairTilesOut(y, h*w, m, tiles, make([]float32, PairTilesRows), false, false)
	for i := range h {
		for j := range w {
			want := 0.0
			for k, v := range g {
				if r, c := i+k/3-1, j+k%3-1; r >= 0 && r < h && c >= 0 && c < w {
					want += float64(v) * float64(tensor.BF16ToF32(x[r*w+c]))
				}
			}
			if got := tensor.BF16ToF32(y[3*h*w+i*w+j]); math.Abs(float64(got)-want) > math.Abs(want)/256 {
				t.Fatalf("y[%d, %d] = %v, want %v", i, j, got, want)
			}
		}
	}
}

// Times of a vector of tiles: of a pair of input channels, of the products of a pair with eight output channels, and of
// eight output channels.
func BenchmarkPairTiles(b *testing.B) {
	set := vec.BF16
	if err := vec.RequirePairs(); err != nil {
		b.Skip("no products of pairs: ", err)
	}
	const h, w, pairs, vectors, plane = 32, 32, 64, 3, 32 * 32
	tiles := NewPairTiles(h, w, 3, vectors, 0, 0, false)
	x, y := make([]uint16, 2*pairs*plane), make([]uint16, PairTilesRows*plane)
	v, u := make([]float32, PairTilesPositions*pairs*vectors*Lanes), make([]float32, PairTilesPositions*pairs*PairTilesRows)
	m, bias := make([]float32, PairTilesPositions*PairTilesRows*vectors*Lanes), make([]float32, PairTilesRows)
	each := func(name string, n int, run func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/vector")
		})
	}
	each("in", pairs*vectors, func() { PairTilesIn(set, v, x, x[plane:], 2*plane, tiles, pairs) })
	each("multiply", pairs*vectors, func() { PairTilesMultiply(set, m, v, u, pairs, vectors) })
	each("out", vectors, func() { PairTilesOut(set, y, plane, m, tiles, bias, true, false) })
}
