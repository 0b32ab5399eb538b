package adam

import (
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

// The update is Step's, and the copy has its rounded results.
func TestAdamRoundsACopy(t *testing.T) {
	c := Scalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	for _, pairs := range vectest.PairSets() {
		set := vec.Go
		if pairs == vec.BF16 {
			set = vec.AVX512
		}
		for _, n := range vectest.Lengths {
			rng := rand.New(rand.NewPCG(7, uint64(n)))
			for _, outer := range []bool{false, true} {
				var got, want [4][]float32
				for i := range got {
					got[i] = vectest.Guarded(t, rng, n)
					want[i] = slices.Clone(got[i])
				}
				for i := range n { // second moments
					got[2][i] *= got[2][i]
					want[2][i] = got[2][i]
				}
				rounded, expected := make([]uint16, n+1), make([]uint16, n)
				if outer {
					OuterRounded(pairs, rounded, got[0], got[1], got[2], got[3], 0.5, &c)
					Outer(set, want[0], want[1], want[2], want[3], 0.5, &c)
				} else {
					StepRounded(pairs, rounded, got[0], got[1], got[2], got[3], &c)
					Step(set, want[0], want[1], want[2], want[3], &c)
				}
				for i := range want {
					vectest.SameBits(t, "an array", got[i], want[i])
				}
				tensor.Narrow(tensor.BFloat16, expected, want[0])
				if !slices.Equal(rounded[:n], expected) || rounded[n] != 0 {
					t.Errorf("%d elements: the copy is %v, want %v", n, rounded, expected)
				}
			}
		}
	}
}

func TestAdamIsPlainGos(t *testing.T) {
	c := Scalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		var got, want [5][]float32
		for i := range got {
			got[i] = vectest.Guarded(t, rng, n)
			for j, v := range got[i] {
				if i == 2 || i == 3 { // second moments are not negative
					got[i][j] = v * v
				}
			}
			want[i] = slices.Clone(got[i])
		}
		Step(s, got[0], got[1], got[2], got[4], &c)
		step(want[0], want[1], want[2], want[4], &c)
		AMSGrad(s, got[0], got[1], got[2], got[3], got[4], &c)
		amsgrad(want[0], want[1], want[2], want[3], want[4], &c)
		for i, name := range []string{"p", "m", "v", "largest"} {
			vectest.Same(t, name, got[i], want[i], 4)
		}
	})
}
