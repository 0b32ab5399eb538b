package elements

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestRowsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		x, z := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
		for name, run := range map[string]func(s vec.Set, y []float32){
			"scale": func(s vec.Set, y []float32) { Scale(s, y, x, 0.3) },
			"add":   func(s vec.Set, y []float32) { Add(s, y, x, z) },
			"axpy":  func(s vec.Set, y []float32) { Axpy(s, y, x, 0.3) },
			"relu":  func(s vec.Set, y []float32) { ReLU(s, y, x) },

			"relu gradient": func(s vec.Set, y []float32) { ReLUGrad(s, y, x, z) },
		} {
			got := vectest.Guarded(t, rng, n)
			want := slices.Clone(got)
			run(s, got)
			run(vec.Go, want)
			vectest.Same(t, name, got, want, 1)
		}
	})
}

func TestReLUKeepsNaN(t *testing.T) {
	for _, s := range vec.Available() {
		x, y := []float32{float32(math.NaN()), -1, 0, 2}, make([]float32, 4)
		ReLU(s, y, x)
		if y[0] == y[0] || y[1] != 0 || y[2] != 0 || y[3] != 2 {
			t.Errorf("%v: max(%v, 0) = %v", s, x, y)
		}
	}
}

func TestMaskIsPlainGos(t *testing.T) {
	for _, s := range vec.Available() {
		for _, n := range vectest.Lengths {
			rng := rand.New(rand.NewPCG(9, uint64(n)))
			z, m, got, want := make([]complex64, n), vectest.Guarded(t, rng, n), make([]complex64, n+1), make([]complex64, n+1)
			for i := range z {
				z[i] = complex(rng.Float32(), rng.Float32())
			}
			Mask(s, got[:n], z, m)
			mask(want[:n], z, m)
			if !slices.Equal(got, want) {
				t.Fatalf("%v: %d elements: %v, want %v", s, n, got, want)
			}
		}
	}
}

func TestLengthsAreChecked(t *testing.T) {
	for _, s := range vec.Available() {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: a short operand was accepted", s)
				}
			}()
			Add(s, make([]float32, 4), make([]float32, 3), make([]float32, 4))
		}()
	}
}

func BenchmarkScale(b *testing.B) {
	for _, s := range vec.Available() {
		b.Run(s.String(), func(b *testing.B) {
			const rows, n = 512, 16384
			x, y := make([]float32, n), make([]float32, rows*n)
			b.SetBytes(4 * rows * n)
			for b.Loop() {
				for r := range rows {
					Scale(s, y[r*n:][:n], x, 0.01)
				}
			}
		})
	}
}
