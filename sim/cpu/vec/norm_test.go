package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, plain Go has %v", what, got, want)
	}
}

func TestNormalisationSumsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		x, gy := guarded(t, rng, n), guarded(t, rng, n)
		total, square := s.Moments(x, 0.25)
		wantTotal, wantSquare := moments(x, 0.25)
		near(t, "total", total, wantTotal, float64(n)*0x1p-50)
		near(t, "square", square, wantSquare, float64(n)*0x1p-50)

		// Products round to float32 before they are added.
		total, square = s.NormGradSums(x, gy, 0.25)
		wantTotal, wantSquare = normGradSums(x, gy, 0.25)
		near(t, "gradient", total, wantTotal, float64(n)*0x1p-50)
		near(t, "product", square, wantSquare, float64(n)*0x1p-23)
		total, square = s.NormReLUGradSums(x, gy, 0.25, -1.5, 0.125)
		wantTotal, wantSquare = normReLUGradSums(x, gy, 0.25, -1.5, 0.125)
		near(t, "gradient of ReLU", total, wantTotal, float64(n)*0x1p-50)
		near(t, "product of ReLU", square, wantSquare, float64(n)*0x1p-23)
	})
}

func TestNormalisationWithReLUIsPlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		x, gy, y := guarded(t, rng, n), guarded(t, rng, n), guarded(t, rng, n)
		want := make([]float32, n)
		s.NormaliseReLU(y, x, 0.25, -1.5, 0.125)
		normaliseReLU(want, x, 0.25, -1.5, 0.125)
		same(t, "y", y, want, 1)
		s.NormGradReLU(y, x, gy, 0.25, -1.5, 0.125, 0.5, -0.75)
		normGradReLU(want, x, gy, 0.25, -1.5, 0.125, 0.5, -0.75)
		same(t, "gx", y, want, 2)

		y[n/2], x[n/2] = 0, float32(math.NaN())
		s.NormaliseReLU(y, slices.Clone(x), 0, 1, 0)
		if v := y[n/2]; v == v {
			t.Error("a NaN became", v)
		}
	})
}
