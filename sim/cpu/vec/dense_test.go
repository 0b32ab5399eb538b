package vec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/tensor"
)

func TestMatrixProductsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for _, rows := range []int{1, 3, 4, 5, 8, 9, 19} {
			pitch := n + rng.IntN(3)
			w, y, x := guarded(t, rng, (rows-1)*pitch+n), guarded(t, rng, n), guarded(t, rng, rows)
			want := slices.Clone(y)
			combine(want, w, pitch, x)
			s.Combine(y, w, pitch, x)
			same(t, fmt.Sprintf("%d rows combined: y", rows), y, want, rows)

			wantSums := make([]float32, rows)
			products(wantSums, w, pitch, y)
			s.Products(x, w, pitch, y)
			same(t, fmt.Sprintf("%d rows multiplied: out", rows), x, wantSums, n*rows)

			halves := make([]uint16, len(w))
			tensor.Narrow(tensor.BFloat16, halves, w)
			copy(want, y)
			combineHalves(want, halves, pitch, wantSums)
			s.CombineHalves(y, halves, pitch, wantSums)
			same(t, fmt.Sprintf("%d rows of bfloat16 combined: y", rows), y, want, n*rows*rows)
			productsHalves(wantSums, halves, pitch, y)
			s.ProductsHalves(x, halves, pitch, y)
			same(t, fmt.Sprintf("%d rows of bfloat16 multiplied: out", rows), x, wantSums, n*n*rows*rows)
		}
	})
}

// A sum must not depend on how a matrix is divided among threads.
func TestMatrixProductsDoNotDependOnTheDivision(t *testing.T) {
	for _, s := range Available() {
		rng := rand.New(rand.NewPCG(4, 2))
		const rows, n = 21, 75
		w, x, z := guarded(t, rng, rows*n), guarded(t, rng, rows), guarded(t, rng, n)
		whole, parts := make([]float32, n), make([]float32, n)
		s.Combine(whole, w, n, x)
		for _, to := range [][2]int{{0, 16}, {16, 48}, {48, n}} {
			s.Combine(parts[to[0]:to[1]], w[to[0]:], n, x)
		}
		if !slices.Equal(whole, parts) {
			t.Errorf("%v: columns by themselves have other sums", s)
		}
		whole, parts = make([]float32, rows), make([]float32, rows)
		s.Products(whole, w, n, z)
		for _, to := range [][2]int{{0, 4}, {4, 20}, {20, rows}} {
			s.Products(parts[to[0]:to[1]], w[to[0]*n:], n, z)
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
	for _, s := range Available() {
		bench := func(name string, bytes int, run func(i int)) {
			b.Run(fmt.Sprintf("%s/%v", name, s), func(b *testing.B) {
				b.SetBytes(int64(bytes) * rows * n)
				for i := 0; b.Loop(); i++ {
					run(i)
				}
			})
		}
		bench("combine", 4, func(i int) { s.Combine(y, w[i%matrices], n, x) })
		bench("products", 4, func(i int) { s.Products(out, w[i%matrices], n, y) })
	}
}
