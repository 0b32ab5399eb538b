// Package vectest has what tests of kernels share: operands between words that a kernel must not touch, loops
// over the instruction sets, and comparisons. It is for tests alone.
package vectest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/tensor"
)

// Lengths has every remainder of a vector and of an unrolled loop.
var Lengths = []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 63, 64, 65, 100, 127, 128, 129, 260}

// Guarded returns n random floats between words that a kernel must not touch, at
// an address that no vector is aligned to.
func Guarded(t *testing.T, rng *rand.Rand, n int) []float32 {
	t.Helper()
	const guard = 40
	all := make([]float32, n+2*guard+1)
	skip := guard
	if uintptr(unsafe.Pointer(&all[guard]))%32 == 0 {
		skip++
	}
	for i := range all {
		all[i] = float32(math.NaN()) // poisons what reads it
	}
	x := all[skip : skip+n : skip+n]
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	t.Cleanup(func() {
		for i, v := range all {
			if (i < skip || i >= skip+n) && v == v {
				t.Errorf("wrote element %d of %d", i-skip, n)
			}
		}
	})
	return x
}

// GuardedPairs returns n random pairs of bfloat16 between words that a kernel must not touch.
func GuardedPairs(t *testing.T, rng *rand.Rand, n int) []float32 {
	x := Guarded(t, rng, n)
	for i := range x {
		first, second := tensor.F32ToBF16(2*rng.Float32()-1), tensor.F32ToBF16(2*rng.Float32()-1)
		x[i] = math.Float32frombits(uint32(first) | uint32(second)<<16)
	}
	return x
}

// ForEach runs a test with every set but Go and every length.
func ForEach(t *testing.T, test func(t *testing.T, s vec.Set, rng *rand.Rand, n int)) {
	for _, s := range vec.Available() {
		if s == vec.Go {
			continue
		}
		for _, n := range Lengths {
			t.Run(fmt.Sprintf("%v/%d", s, n), func(t *testing.T) { test(t, s, rand.New(rand.NewPCG(7, uint64(n))), n) })
		}
	}
}

// EachSet runs a test with every set but Go.
func EachSet(t *testing.T, test func(t *testing.T, s vec.Set, rng *rand.Rand)) {
	for _, s := range vec.Available() {
		if s != vec.Go {
			t.Run(s.String(), func(t *testing.T) { test(t, s, rand.New(rand.NewPCG(11, 3))) })
		}
	}
}

// Pairs is the implementation of products of pairs to compare with plain Go; the test is skipped if there is none.
func Pairs(t *testing.T) vec.Pairs {
	if err := vec.RequirePairs(); err != nil {
		t.Skip("no products of pairs: ", err)
	}
	return vec.BF16
}

// PairSets are the implementations of pairs that the processor has.
func PairSets() []vec.Pairs {
	if vec.RequirePairs() != nil {
		return []vec.Pairs{vec.PlainPairs}
	}
	return []vec.Pairs{vec.PlainPairs, vec.BF16}
}

// Same compares results of two sets; terms of size 1 were added count times, each
// with a relative error of 2^-24 or less per operation.
func Same(t *testing.T, what string, got, want []float32, count int) {
	t.Helper()
	tolerance := float64(count+4) * 0x1p-23
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance) {
			t.Fatalf("%s[%d] = %v, plain Go has %v", what, i, got[i], want[i])
		}
	}
}

// SameBits compares results bit by bit.
func SameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s[%d] = %#x, want %#x", what, i, math.Float32bits(got[i]), math.Float32bits(want[i]))
		}
	}
}
