package norm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, plain Go has %v", what, got, want)
	}
}

func TestNormalisationSumsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		x, gy := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
		total, square := Moments(s, x, 0.25)
		wantTotal, wantSquare := moments(x, 0.25)
		near(t, "total", total, wantTotal, float64(n)*0x1p-50)
		near(t, "square", square, wantSquare, float64(n)*0x1p-50)

		// Products round to float32 before they are added.
		total, square = GradSums(s, x, gy, 0.25)
		wantTotal, wantSquare = gradSums(x, gy, 0.25)
		near(t, "gradient", total, wantTotal, float64(n)*0x1p-50)
		near(t, "product", square, wantSquare, float64(n)*0x1p-23)
		total, square = GradSumsReLU(s, x, gy, 0.25, -1.5, 0.125)
		wantTotal, wantSquare = gradSumsReLU(x, gy, 0.25, -1.5, 0.125)
		near(t, "gradient of ReLU", total, wantTotal, float64(n)*0x1p-50)
		near(t, "product of ReLU", square, wantSquare, float64(n)*0x1p-23)
	})
}

func TestNormalisationWithReLUIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		x, gy, y := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
		want := make([]float32, n)
		NormaliseReLU(s, y, x, 0.25, -1.5, 0.125)
		normaliseReLU(want, x, 0.25, -1.5, 0.125)
		vectest.Same(t, "y", y, want, 1)
		GradReLU(s, y, x, gy, 0.25, -1.5, 0.125, 0.5, -0.75)
		gradReLU(want, x, gy, 0.25, -1.5, 0.125, 0.5, -0.75)
		vectest.Same(t, "gx", y, want, 2)

		y[n/2], x[n/2] = 0, float32(math.NaN())
		NormaliseReLU(s, y, slices.Clone(x), 0, 1, 0)
		if v := y[n/2]; v == v {
			t.Error("a NaN became", v)
		}
	})
}

func TestNormalisationIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		x, gy, got := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
		want := slices.Clone(got)
		Normalise(s, got, x, 0.3, 0.7, -0.2)
		normalise(want, x, 0.3, 0.7, -0.2)
		vectest.Same(t, "normalised", got, want, 1)
		Grad(s, got, x, gy, 0.3, 0.7, -0.2, 0.1)
		grad(want, x, gy, 0.3, 0.7, -0.2, 0.1)
		vectest.Same(t, "gradient", got, want, 1)
	})
}
