package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestWinogradTransformsArePlainGos(t *testing.T) {
	for _, s := range vec.Available() {
		for _, n := range []int{16, 32, 80} {
			t.Run(fmt.Sprintf("%v/%d", s, n), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, uint64(n)))
				step, pixel := n+rng.IntN(20), n+rng.IntN(9)
				row := 6*pixel + rng.IntN(7)
				x, v := vectest.Guarded(t, rng, 5*row+5*pixel+n), vectest.Guarded(t, rng, (Taps-1)*step+n)
				want := slices.Clone(v)
				transformInput(want, step, x, row, pixel, n)
				Input(s, v, step, x, row, pixel, n)
				vectest.Same(t, "input", v, want, 100)
				bias, v := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, (Taps-1)*step+n)
				for _, relu := range []bool{false, true} {
					y := vectest.Guarded(t, rng, 3*row+3*pixel+n)
					want := slices.Clone(y)
					transformOutput(want, row, pixel, v, step, bias, relu, n)
					Output(s, y, row, pixel, v, step, bias, relu, n)
					vectest.Same(t, "output", y, want, 1000)
				}
			})
		}
	}
}

// TestWinogradIsAConvolution multiplies transformed weights and inputs of one channel.
func TestWinogradIsAConvolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n = 16
	var g [9]float32
	x, v, y := make([]float32, 36*n), make([]float32, 36*n), make([]float32, 16*n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	for i := range g {
		g[i] = 2*rng.Float32() - 1
	}
	var u [Taps]float32
	Weights(u[:], 1, g[:])
	transformInput(v, n, x, 6*n, n, n)
	for k := range u {
		for c := range n {
			v[k*n+c] *= u[k]
		}
	}
	transformOutput(y, 4*n, n, v, n, make([]float32, n), false, n)
	for i := range 4 {
		for j := range 4 {
			for c := range n {
				want := 0.0
				for k, w := range g {
					want += float64(w) * float64(x[((i+k/3)*6+j+k%3)*n+c])
				}
				if got := float64(y[(4*i+j)*n+c]); math.Abs(got-want) > 1e-5 {
					t.Fatalf("(%d, %d) of channel %d is %v, want %v", i, j, c, got, want)
				}
			}
		}
	}
}
