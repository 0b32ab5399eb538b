package choice

import (
	"errors"
	"math"
	"sync"
	"time"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
)

// Pairs returns the implementation of products of pairs for a name accepted by Set: with
// "auto" or "", BF16 where it is faster. Where there are tiles, they multiply what fills them, and pairs the rest.
func Pairs(name string) vec.Pairs {
	pairs, faster, _ := DetectPairs()
	if name == BF16Name || Tiles(name) == matrix.AMX || (name == "auto" || name == "") && faster {
		return pairs
	}
	return vec.NoPairs
}

// DetectPairs returns BF16 if the processor offers it and its products agree with plain Go's, and
// whether it computes faster than multiply-adds; else NoPairs and the reason.
func DetectPairs() (pairs vec.Pairs, faster bool, err error) {
	d := detectPairs()
	return d.pairs, d.faster, d.err
}

// detectedPairs are DetectPairs' results.
type detectedPairs struct {
	pairs  vec.Pairs
	faster bool
	err    error
}

var detectPairs = sync.OnceValue(func() (d detectedPairs) {
	if d.err = vec.RequirePairs(); d.err != nil {
		return d
	}
	if !pairsAgree(vec.BF16) {
		d.err = errors.New("its products are not plain Go's on this machine")
		return d
	}
	d.pairs, d.faster = vec.BF16, pairRate() >= fasterPairs
	return d
})

// fasterPairs is the rate of products of pairs relative to multiply-adds from which kernels gain
// from them. Known processors have half, once or twice the rate.
const fasterPairs = 1.5

// pairRate measures how many operations products of pairs do in the time of a multiply-add's. The
// shortest of several short times of each, by turns, are not those in which other programs ran.
func pairRate() float64 {
	const warmup, rounds, trials = 1 << 15, 400, 15
	vec.AVX512.MultiplyAdds(warmup) // a tenth of a millisecond, in which the clock settles
	best := [2]float64{}
	for range trials {
		for i, run := range []func(int) int64{vec.AVX512.MultiplyAdds, vec.AVX512.DotProducts} {
			start := time.Now()
			operations := run(rounds)
			if s := time.Since(start).Seconds(); s > 0 {
				best[i] = max(best[i], float64(operations)/s)
			}
		}
	}
	if best[0] == 0 {
		return 0
	}
	return best[1] / best[0]
}

// pairsAgree multiplies small whole numbers, whose sums are exact in any order, rounds some, and compares
// with plain Go bit by bit.
func pairsAgree(pairs vec.Pairs) bool {
	const k, rows = 5, 9
	seed := uint32(1)
	small := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			var of [2]uint16
			for j := range of {
				seed = seed*1664525 + 1013904223
				// 0 ±1 ±2 3 4 −5
				of[j] = [...]uint16{0, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4040, 0x4080, 0xc0a0}[seed>>29]
			}
			x[i] = half.Pair(of[0], of[1])
		}
		return x
	}
	a, b := small(rows*k), small(2*k*conv.PatchFloats)
	got, want := make([]float32, rows*2*conv.PatchFloats), make([]float32, rows*2*conv.PatchFloats)
	conv.OuterPairs(pairs, got, 2*conv.PatchFloats, conv.PatchFloats, rows, 2, a, k, 1, b, 2*conv.PatchFloats,
		conv.PatchFloats, k, false)
	conv.OuterPairs(vec.PlainPairs, want, 2*conv.PatchFloats, conv.PatchFloats, rows, 2, a, k, 1, b, 2*conv.PatchFloats,
		conv.PatchFloats, k, false)
	x := make([]float32, 2*conv.PatchFloats)
	for i := range x {
		x[i] = float32(i*i+1) / 769 // of more bits than a bfloat16 has
	}
	half.RoundPairs(pairs, got[:conv.PatchFloats], conv.PatchFloats, x, x[conv.PatchFloats:], conv.PatchFloats, 1,
		conv.PatchFloats)
	half.RoundPairs(vec.PlainPairs, want[:conv.PatchFloats], conv.PatchFloats, x, x[conv.PatchFloats:],
		conv.PatchFloats, 1, conv.PatchFloats)
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return false
		}
	}
	return true
}
