package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/tensor"
)

// pairKernels are the implementations to compare with plain Go; the test is skipped if there is none.
func pairKernels(t *testing.T) Pairs {
	if err := RequirePairs(); err != nil {
		t.Skip("no products of pairs: ", err)
	}
	return BF16
}

// pairSets are the implementations of pairs that the processor has.
func pairSets() []Pairs {
	if RequirePairs() != nil {
		return []Pairs{PlainPairs}
	}
	return []Pairs{PlainPairs, BF16}
}

// guardedPairs returns n random pairs between words that a kernel must not touch.
func guardedPairs(t *testing.T, rng *rand.Rand, n int) []float32 {
	x := guarded(t, rng, n)
	for i := range x {
		x[i] = math.Float32frombits(uint32(tensor.F32ToBF16(2*rng.Float32()-1)) | uint32(tensor.F32ToBF16(2*rng.Float32()-1))<<16)
	}
	return x
}

func TestTapSumOfPairsIsPlainGos(t *testing.T) {
	pairs := pairKernels(t)
	for vectors := 1; vectors <= 8; vectors++ {
		for _, taps := range []int{1, 4, 9} {
			for channels := 1; channels <= 3; channels++ {
				for _, fold := range []int{0, 11} {
					compareTapSums(t, pairs, guardedPairs, vectors, taps, channels, fold, TapRows,
						func(s *TapSum, p *Pixels) { s.sum(p, pairs.TapLanes(), true) })
				}
			}
		}
	}
}

func TestTapSumOfFewRowsIsPlainGos(t *testing.T) {
	pairs := pairKernels(t)
	for rows := 1; rows < TapRows; rows++ {
		for vectors := 1; vectors <= 5; vectors++ {
			for _, taps := range []int{1, 9} {
				for channels := 1; channels <= 2; channels++ {
					compareTapSums(t, pairs, guardedPairs, vectors, taps, channels, 0, rows,
						func(s *TapSum, p *Pixels) { s.sum(p, pairs.TapLanes(), true) })
				}
			}
		}
	}
}

func TestDotsOfPairsArePlainGos(t *testing.T) {
	pairs, rng := pairKernels(t), rand.New(rand.NewPCG(7, 3))
	for _, n := range lengths {
		for rows := 1; rows <= 6; rows++ {
			for k := 1; k <= 9; k++ {
				pitch, stride := k+2, n+3
				out, a := guarded(t, rng, (rows-1)*pitch+k), guardedPairs(t, rng, (rows-1)*stride+n)
				x, segments := guardedPairs(t, rng, n+20), make([]int32, k)
				for i := range segments {
					segments[i] = int32(rng.IntN(21))
				}
				segments[k-1] = 20 // the last run ends with x
				want := slices.Clone(out)
				dotsPairs(want, pitch, rows, a, stride, n, x, segments)
				pairs.Dots(out, pitch, rows, a, stride, n, x, segments)
				same(t, fmt.Sprintf("%d pairs, %d rows, %d runs: out", n, rows, k), out, want, 2*n)
			}
		}
	}
}

func TestOuterOfPairsIsPlainGos(t *testing.T) {
	pairs, rng := pairKernels(t), rand.New(rand.NewPCG(7, 1))
	for _, k := range []int{1, 2, 5, 33} {
		for rows := 1; rows <= 17; rows++ {
			for panels := 1; panels <= 3; panels++ {
				for _, add := range []bool{false, true} {
					am, ak := k+2, 1
					if rows%2 == 0 {
						am, ak = 1, rows+3
					}
					bv, cv := PatchFloats*k+5, PatchFloats+rng.IntN(2)
					bk, cm := PatchFloats, panels*cv+3
					c := guarded(t, rng, (rows-1)*cm+(panels-1)*cv+PatchFloats)
					a, b := guardedPairs(t, rng, (rows-1)*am+(k-1)*ak+1), guardedPairs(t, rng, (panels-1)*bv+(k-1)*bk+PatchFloats)
					want := slices.Clone(c)
					outerPairs(want, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
					pairs.Outer(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
					same(t, fmt.Sprintf("%d terms, %d rows, %d panels, add %v: c", k, rows, panels, add), c, want, 2*k)
				}
			}
		}
	}
}

// sameBits compares pairs, whose firsts are the least bits of a float32.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s[%d] = %#x, want %#x", what, i, math.Float32bits(got[i]), math.Float32bits(want[i]))
		}
	}
}
