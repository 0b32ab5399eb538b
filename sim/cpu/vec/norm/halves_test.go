package norm

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

// Normalisation of bfloat16 has float32's sums and its results, rounded.
func TestNormalisationOfHalvesIsPlainGos(t *testing.T) {
	pairs := vectest.Pairs(t)
	for _, n := range append([]int{halfPiece + 1}, vectest.Lengths...) {
		rng := rand.New(rand.NewPCG(7, uint64(n)))
		halves := func() []uint16 {
			all := make([]uint16, n+1)
			tensor.Narrow(tensor.BFloat16, all, vectest.Guarded(t, rng, n+1))
			return all
		}
		x, gy, got, want := halves()[:n:n], halves()[:n:n], halves(), make([]uint16, n)
		next := got[n]
		total, square := MomentsHalf(pairs, x, 0.25)
		wantTotal, wantSquare := MomentsHalf(vec.PlainPairs, x, 0.25)
		near(t, "total", total, wantTotal, float64(n)*0x1p-50)
		near(t, "square", square, wantSquare, float64(n)*0x1p-50)
		total, square = GradSumsReLUHalf(pairs, x, gy, 0.25, -1.5, 0.125)
		wantTotal, wantSquare = GradSumsReLUHalf(vec.PlainPairs, x, gy, 0.25, -1.5, 0.125)
		near(t, "gradient", total, wantTotal, float64(n)*0x1p-50)
		near(t, "product", square, wantSquare, float64(n)*0x1p-23)
		compare := func(what string, run func(p vec.Pairs, y []uint16)) {
			run(pairs, got[:n:n])
			run(vec.PlainPairs, want)
			for i, v := range want {
				if g, w := tensor.BF16ToF32(got[i]), tensor.BF16ToF32(v); math.Abs(float64(g-w)) > 0x1p-7*math.Abs(float64(w))+0x1p-20 {
					t.Fatalf("%d elements: %s[%d] = %v, plain Go has %v", n, what, i, g, w)
				}
			}
			if got[n] != next {
				t.Fatalf("%d elements: wrote beyond the end", n)
			}
		}
		compare("y", func(p vec.Pairs, y []uint16) { NormaliseReLUHalf(p, y, x, 0.25, -1.5, 0.125) })
		compare("gx", func(p vec.Pairs, gx []uint16) { GradReLUHalf(p, gx, x, gy, 0.25, -1.5, 0.125, 0.5, -0.75) })
		x[n/2] = 0x7fc1
		NormaliseReLUHalf(pairs, got[:n:n], x, 0, 1, 0)
		if v := tensor.BF16ToF32(got[n/2]); v == v {
			t.Error("a NaN became", v)
		}
	}
}
