package elements

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

// special are arguments at which functions change their form, overflow or are not defined.
var special = []float32{0, float32(math.Copysign(0, -1)), 1. / 32, -1. / 32, 1e-30, -1e-12, 88, -88, 104, -104, 750, -751, 1e30, -1e30, 1 << 20, 1<<20 + 1, -3e38,
	math.Pi, -math.Pi / 2, math.Pi / 4, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// Kernels compute in float64, so that nearly all results are the same floats.
func TestFunctionsArePlainGos(t *testing.T) {
	for name, f := range map[string]struct {
		set   func(s vec.Set, y, x []float32)
		plain func(y, x []float32)
	}{
		"sigmoid": {Sigmoid, sigmoid},
		"swish":   {Swish, swish},
		"tanh":    {Tanh, tanh},
		"polar": {
			func(s vec.Set, y, x []float32) {
				overAngles(y, x, func(z []complex64, a, phase []float32) { Polar(s, z, a, phase) })
			},
			func(y, x []float32) { overAngles(y, x, polar) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
				x, y := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n)
				for i := range x {
					x[i] *= float32(math.Exp(20 * rng.Float64() * (rng.Float64() - 0.5)))
				}
				for range n / 3 {
					x[rng.IntN(n)] = special[rng.IntN(len(special))]
				}
				want := slices.Clone(y)
				f.plain(want, x)
				f.set(s, y, x)
				for i, v := range want {
					limit := math.Abs(float64(v)) * 0x1p-23
					if d := math.Abs(float64(y[i]) - float64(v)); d > limit || math.IsNaN(d) && v == v && !math.IsInf(float64(v), 0) || (y[i] == y[i]) != (v == v) {
						t.Errorf("f(%v) = %v, plain Go has %v", x[i], y[i], v)
					}
				}
			})
		})
	}
}

// overAngles sets y to the real or imaginary parts, by turns, of numbers of modulus 2.
func overAngles(y, x []float32, f func(z []complex64, a, phase []float32)) {
	z, a := make([]complex64, len(x)), make([]float32, len(x))
	for i := range a {
		a[i] = 2
	}
	f(z, a, x)
	for i, v := range z {
		y[i] = real(v)
		if i%2 == 0 {
			y[i] = imag(v)
		}
	}
}
