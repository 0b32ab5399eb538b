package adam

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/cpu/vec/matrix"
)

// The bits are those of a stored gradient, so that fusing changes nothing.
func TestAdamOfAnOuterProductIsAdamOfItsRow(t *testing.T) {
	c := Scalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	for _, s := range vec.Available() {
		for _, n := range vectest.Lengths {
			rng := rand.New(rand.NewPCG(8, uint64(n)))
			var got, want [5][]float32
			for i := range got {
				got[i] = vectest.Guarded(t, rng, n)
				for j, v := range got[i] {
					got[i][j] = v * v
				}
				want[i] = slices.Clone(got[i])
			}
			const factor = 0.37
			Outer(s, got[0], got[1], got[2], got[4], factor, &c)
			AMSGradOuter(s, got[0], got[1], got[2], got[3], got[4], factor, &c)
			gradient := make([]float32, n)
			for i, v := range want[4] {
				gradient[i] = factor * v
			}
			Step(s, want[0], want[1], want[2], gradient, &c)
			AMSGrad(s, want[0], want[1], want[2], want[3], gradient, &c)
			for i, name := range []string{"p", "m", "v", "largest"} {
				if !slices.Equal(got[i], want[i]) {
					t.Fatalf("%v, %d elements: %s differs", s, n, name)
				}
			}
		}
	}
}

// Rows that are multiplied and updated in one pass give the bits of two passes.
func TestAdamOfOuterProductsMultipliesTheRowsBefore(t *testing.T) {
	c := Scalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	for _, s := range vec.Available() {
		for _, n := range vectest.Lengths {
			for _, rows := range []int{1, 3, 4, 6} {
				rng := rand.New(rand.NewPCG(9, uint64(n)))
				var got, want [4][]float32 // p, m, v, largest
				for i := range got {
					got[i] = vectest.Guarded(t, rng, rows*n)
					for j, v := range got[i] {
						got[i][j] = v * v
					}
					want[i] = slices.Clone(got[i])
				}
				x, factors := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, rows)
				out, wantOut := vectest.Guarded(t, rng, rows), make([]float32, rows)
				check := func(what string) {
					t.Helper()
					if !slices.Equal(out, wantOut) {
						t.Fatalf("%v, %s, %d rows of %d: products %v, want %v", s, what, rows, n, out, wantOut)
					}
					for i, name := range []string{"p", "m", "v", "largest"} {
						if !slices.Equal(got[i], want[i]) {
							t.Fatalf("%v, %s, %d rows of %d: %s differs", s, what, rows, n, name)
						}
					}
				}
				OuterProducts(s, out, got[0], got[1], got[2], x, factors, &c)
				matrix.Products(s, wantOut, want[0], n, x)
				for r := range rows {
					at := r * n
					Outer(s, want[0][at:at+n], want[1][at:], want[2][at:], x, factors[r], &c)
				}
				check("Adam")
				AMSGradOuterProducts(s, out, got[0], got[1], got[2], got[3], x, factors, &c)
				matrix.Products(s, wantOut, want[0], n, x)
				for r := range rows {
					at := r * n
					AMSGradOuter(s, want[0][at:at+n], want[1][at:], want[2][at:], want[3][at:], x, factors[r], &c)
				}
				check("AMSGrad")
			}
		}
	}
}

// The products are those of the rounded rows before the update, whose bits are those of the update alone.
func TestAdamOfOuterProductsMultipliesRoundedRows(t *testing.T) {
	if err := vec.RequirePairs(); err != nil {
		t.Skip(err)
	}
	c := Scalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	for _, n := range vectest.Lengths {
		for _, rows := range []int{1, 3, 4, 6} {
			rng := rand.New(rand.NewPCG(10, uint64(n)))
			var got, want [3][]float32 // p, m, v
			for i := range got {
				got[i] = vectest.Guarded(t, rng, rows*n)
				for j, v := range got[i] {
					got[i][j] = v * v
				}
				want[i] = slices.Clone(got[i])
			}
			x, factors := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, rows)
			out, wantOut := vectest.Guarded(t, rng, rows), make([]float32, rows)
			matrix.ProductsRounded(vec.BF16, wantOut, want[0], n, x)
			OuterProductsRounded(vec.BF16, out, got[0], got[1], got[2], x, factors, &c)
			if !slices.Equal(out, wantOut) {
				t.Fatalf("%d rows of %d: products %v, want %v", rows, n, out, wantOut)
			}
			OuterProducts(vec.AVX512, out, want[0], want[1], want[2], x, factors, &c)
			for i, name := range []string{"p", "m", "v"} {
				if !slices.Equal(got[i], want[i]) {
					t.Fatalf("%d rows of %d: %s differs", rows, n, name)
				}
			}
		}
	}
}

// Updates of the matrix of PRISM's first layer at 512, 512×4096, one of several in turn so
// that it is not in a cache.
func BenchmarkUpdates(b *testing.B) {
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
	c := Scalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	for _, s := range vec.Available() {
		bench := func(name string, bytes int, run func(i int)) {
			b.Run(fmt.Sprintf("%s/%v", name, s), func(b *testing.B) {
				b.SetBytes(int64(bytes) * rows * n)
				for i := 0; b.Loop(); i++ {
					run(i)
				}
			})
		}
		bench("adam", 28, func(i int) { Step(s, w[0], w[1], w[2], w[3], &c) })
		bench("adam outer", 24, func(i int) {
			for r := range rows {
				at := r * n
				Outer(s, w[0][at:at+n], w[1][at:], w[2][at:], y, 0.01, &c)
			}
		})
		bench("adam outer products", 24, func(i int) {
			OuterProducts(s, out, w[0], w[1], w[2], y, x, &c)
		})
		bench("scale adam", 36, func(i int) {
			for r := range rows {
				elements.Scale(s, w[i%2][r*n:][:n], y, 0.01)
			}
			Step(s, w[2], w[3], w[4], w[i%2], &c)
		})
	}
}
