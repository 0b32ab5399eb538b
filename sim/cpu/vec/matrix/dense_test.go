package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

func TestMatrixProductsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for _, rows := range []int{1, 3, 4, 5, 8, 9, 19} {
			pitch := n + rng.IntN(3)
			w, y, x := vectest.Guarded(t, rng, (rows-1)*pitch+n), vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, rows)
			want := slices.Clone(y)
			combine(want, w, pitch, x)
			Combine(s, y, w, pitch, x)
			vectest.Same(t, fmt.Sprintf("%d rows combined: y", rows), y, want, rows)

			wantSums := make([]float32, rows)
			products(wantSums, w, pitch, y)
			Products(s, x, w, pitch, y)
			vectest.Same(t, fmt.Sprintf("%d rows multiplied: out", rows), x, wantSums, n*rows)

			halves := make([]uint16, len(w))
			tensor.Narrow(tensor.BFloat16, halves, w)
			copy(want, y)
			combineHalves(want, halves, pitch, wantSums)
			CombineHalves(s, y, halves, pitch, wantSums)
			vectest.Same(t, fmt.Sprintf("%d rows of bfloat16 combined: y", rows), y, want, n*rows*rows)
			productsHalves(wantSums, halves, pitch, y)
			ProductsHalves(s, x, halves, pitch, y)
			vectest.Same(t, fmt.Sprintf("%d rows of bfloat16 multiplied: out", rows), x, wantSums, n*n*rows*rows)
		}
	})
}

// Products with rounded weights are those with weights of bfloat16.
func TestRoundedProductsArePlainGos(t *testing.T) {
	pairs := []vec.Pairs{vec.PlainPairs}
	if vec.RequirePairs() == nil {
		pairs = append(pairs, vec.BF16)
	}
	for _, p := range pairs {
		for _, n := range vectest.Lengths {
			for _, rows := range []int{1, 3, 4, 8, 11} {
				rng := rand.New(rand.NewPCG(6, uint64(n)))
				pitch := n + rng.IntN(3)
				w, y, x := vectest.Guarded(t, rng, (rows-1)*pitch+n), vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, rows)
				halves := make([]uint16, len(w))
				tensor.Narrow(tensor.BFloat16, halves, w)
				want := slices.Clone(y)
				combineHalves(want, halves, pitch, x)
				CombineRounded(p, y, w, pitch, x)
				vectest.Same(t, fmt.Sprintf("%d rows combined: y", rows), y, want, n*rows*rows)
				wantSums := make([]float32, rows)
				productsHalves(wantSums, halves, pitch, y)
				ProductsRounded(p, x, w, pitch, y)
				vectest.Same(t, fmt.Sprintf("%d rows multiplied: out", rows), x, wantSums, n*n*rows*rows)
			}
		}
	}
}

// A sum must not depend on how a matrix is divided among threads.
func TestMatrixProductsDoNotDependOnTheDivision(t *testing.T) {
	for _, s := range vec.Available() {
		rng := rand.New(rand.NewPCG(4, 2))
		const rows, n = 21, 75
		w, x, z := vectest.Guarded(t, rng, rows*n), vectest.Guarded(t, rng, rows), vectest.Guarded(t, rng, n)
		whole, parts := make([]float32, n), make([]float32, n)
		Combine(s, whole, w, n, x)
		for _, to := range [][2]int{{0, 16}, {16, 48}, {48, n}} {
			Combine(s, parts[to[0]:to[1]], w[to[0]:], n, x)
		}
		if !slices.Equal(whole, parts) {
			t.Errorf("%v: columns by themselves have other sums", s)
		}
		whole, parts = make([]float32, rows), make([]float32, rows)
		Products(s, whole, w, n, z)
		for _, to := range [][2]int{{0, 4}, {4, 20}, {20, rows}} {
			Products(s, parts[to[0]:to[1]], w[to[0]*n:], n, z)
		}
		if !slices.Equal(whole, parts) {
			t.Errorf("%v: rows by themselves have other sums", s)
		}
	}
}

// The matrix of PRISM's first layer at 512, 512×4096, one of several in turn so
// that it is not in a cache.
func BenchmarkMatrix(b *testing.B) {
	const rows, n, matrices = 512, 4096, 5
	var w [matrices][]float32
	for i := range w {
		w[i] = make([]float32, rows*n)
		for j := range w[i] {
			w[i][j] = float32(j%7) * 0x1p-10
		}
	}
	x, y := w[0][:rows], slices.Clone(w[0][:n])
	out := make([]float32, rows)
	for _, s := range vec.Available() {
		bench := func(name string, bytes int, run func(i int)) {
			b.Run(fmt.Sprintf("%s/%v", name, s), func(b *testing.B) {
				b.SetBytes(int64(bytes) * rows * n)
				for i := 0; b.Loop(); i++ {
					run(i)
				}
			})
		}
		bench("combine", 4, func(i int) { Combine(s, y, w[i%matrices], n, x) })
		bench("products", 4, func(i int) { Products(s, out, w[i%matrices], n, y) })
	}
}
