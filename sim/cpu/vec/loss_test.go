package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLossesArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		p, u := guarded(t, rng, n), guarded(t, rng, n)
		p[n/2] = u[n/2] // where the sign is 0
		for _, k := range []struct {
			name      string
			got, want func(p, t []float32) (differences, targets float64)
		}{{"absolute", s.AbsoluteSums, absoluteSums}, {"square", s.SquareSums, squareSums}} {
			d, v := k.got(p, u)
			wantD, wantV := k.want(p, u)
			if math.Abs(d-wantD) > 1e-6*wantD || math.Abs(v-wantV) > 1e-6*wantV {
				t.Errorf("%s sums %v, %v; plain Go has %v, %v", k.name, d, v, wantD, wantV)
			}
		}
		got, want := guarded(t, rng, n), make([]float32, n)
		s.Signs(got, p, u, 0.3)
		signs(want, p, u, 0.3)
		same(t, "signs", got, want, 0)
		s.Differences(got, p, u, 0.3)
		differences(want, p, u, 0.3)
		same(t, "differences", got, want, 2)
	})
}

func TestSignsOfSpecialNumbers(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := []float32{1, -1, 0, inf, -inf, nan, 1, inf}
	u := []float32{0, 0, float32(math.Copysign(0, -1)), 0, 0, 0, nan, inf}
	for _, s := range Available() {
		for _, f := range []float32{2, -2} {
			got := make([]float32, len(p))
			s.Signs(got, p, u, f)
			for i, want := range []float32{f, -f, 0, f, -f, nan, nan, nan} {
				if got[i] != want && !(got[i] != got[i] && want != want) {
					t.Errorf("%v: %v·sign(%v − %v) = %v", s, f, p[i], u[i], got[i])
				}
			}
		}
	}
}
