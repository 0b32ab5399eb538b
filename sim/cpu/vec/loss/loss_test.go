package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestLossesArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		p, u := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
		p[n/2] = u[n/2] // where the sign is 0
		for _, k := range []struct {
			name string
			got  func(s vec.Set, p, t []float32) (differences, targets float64)
			want func(p, t []float32) (differences, targets float64)
		}{{"absolute", AbsoluteSums, absoluteSums}, {"square", SquareSums, squareSums}} {
			d, v := k.got(s, p, u)
			wantD, wantV := k.want(p, u)
			if math.Abs(d-wantD) > 1e-6*wantD || math.Abs(v-wantV) > 1e-6*wantV {
				t.Errorf("%s sums %v, %v; plain Go has %v, %v", k.name, d, v, wantD, wantV)
			}
		}
		got, want := vectest.Guarded(t, rng, n), make([]float32, n)
		Signs(s, got, p, u, 0.3)
		signs(want, p, u, 0.3)
		vectest.Same(t, "signs", got, want, 0)
		Differences(s, got, p, u, 0.3)
		differences(want, p, u, 0.3)
		vectest.Same(t, "differences", got, want, 2)
	})
}

func TestSignsOfSpecialNumbers(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := []float32{1, -1, 0, inf, -inf, nan, 1, inf}
	u := []float32{0, 0, float32(math.Copysign(0, -1)), 0, 0, 0, nan, inf}
	for _, s := range vec.Available() {
		for _, f := range []float32{2, -2} {
			got := make([]float32, len(p))
			Signs(s, got, p, u, f)
			for i, want := range []float32{f, -f, 0, f, -f, nan, nan, nan} {
				if got[i] != want && !(got[i] != got[i] && want != want) {
					t.Errorf("%v: %v·sign(%v − %v) = %v", s, f, p[i], u[i], got[i])
				}
			}
		}
	}
}
