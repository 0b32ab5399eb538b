package vec

import (
	"errors"
	"math"
	"sync"
	"time"
	"unsafe"

	"prismtop/sim/tensor"
)

// Kernels on pairs of bfloat16. The element of an operand is a pair: two bfloat16 in the bits of a
// float32, the first in the lower half. The product of two elements is the sum of the products of
// both firsts and both seconds. Whatever moves float32 moves pairs as well.

// BF16Name is the users' name for the AVX-512 kernels combined with products of pairs.
const BF16Name = "avx512-bf16"

// Pairs selects the implementation of products of pairs.
type Pairs uint8

// The implementations of products of pairs.
const (
	// NoPairs means no instructions for them.
	NoPairs Pairs = iota
	// PlainPairs computes in plain Go. It is slow: a reference.
	PlainPairs
	// BF16 requires a processor for which DetectPairs returns it.
	BF16
)

// pair and unpair convert between a pair and its numbers' bits, and its numbers.
func pair(first, second uint16) float32 {
	return math.Float32frombits(uint32(first) | uint32(second)<<16)
}

func unpair(x float32) (first, second float32) {
	bits := math.Float32bits(x)
	return tensor.BF16ToF32(uint16(bits)), tensor.BF16ToF32(uint16(bits >> 16))
}

// PairsOf returns the memory of neighbouring 16-bit numbers, even in number and at least two, as pairs.
func PairsOf(x []uint16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&x[0])), len(x)/2)
}

// pairProduct adds the products of two pairs to a sum, the seconds' first. Hardware counts
// subnormal numbers as zero.
func pairProduct(sum, a, b float32) float32 {
	a0, a1 := unpair(a)
	b0, b1 := unpair(b)
	return sum + float32(a1*b1) + float32(a0*b0)
}

// axpyPairs is y[i] += x[i]·a for pairs.
func axpyPairs(y, x []float32, a float32) {
	for i := range y {
		y[i] = pairProduct(y[i], x[i], a)
	}
}

// outerPairs is outer for pairs in a and b.
func outerPairs(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	for m := range rows {
		for v := range panels {
			y := c[m*cm+v*cv:][:PatchFloats]
			if !add {
				clear(y)
			}
			for t := range k {
				axpyPairs(y, b[t*bk+v*bv:][:PatchFloats], a[m*am+t*ak])
			}
		}
	}
}

// dotsPairs is dots for pairs in a and x.
func dotsPairs(out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	for r := range rows {
		for k, s := range segments {
			total, run := float32(0), x[s:][:n]
			for i, v := range a[r*stride:][:n] {
				total = pairProduct(total, v, run[i])
			}
			out[r*pitch+k] += total
		}
	}
}

// pairRows interleaves n elements of rows of two matrices of bfloat16:
//
//	y[r·yPitch + i] = (even[r·pitch + i], odd[r·pitch + i])
func pairRows(y []float32, yPitch int, even, odd []uint16, pitch, rows, n int) {
	for r := range rows {
		for i := range n {
			y[r*yPitch+i] = pair(even[r*pitch+i], odd[r*pitch+i])
		}
	}
}

// pairTaps interleaves the 4×4 taps of kernels of two rows of weights in an order:
//
//	y[16·k + i] = (even[16·k + order[i]], odd[16·k + order[i]])
func pairTaps(y []float32, even, odd []uint16, order *[PatchFloats]uint32) {
	for k := 0; k+PatchFloats <= len(y); k += PatchFloats {
		for i, tap := range order {
			y[k+i] = pair(even[k+int(tap)], odd[k+int(tap)])
		}
	}
}

// roundPairs is pairRows for float32, which is rounded to bfloat16.
func roundPairs(y []float32, yPitch int, even, odd []float32, pitch, rows, n int) {
	for r := range rows {
		for i := range n {
			y[r*yPitch+i] = pair(tensor.F32ToBF16(even[r*pitch+i]), tensor.F32ToBF16(odd[r*pitch+i]))
		}
	}
}

// halfPiece is the number of elements that plain Go widens at a time.
const halfPiece = 256

// widenPiece widens the piece of x that begins at an element.
func widenPiece(to *[halfPiece]float32, x []uint16, at int) []float32 {
	piece := to[:min(halfPiece, len(x)-at)]
	tensor.Widen(tensor.BFloat16, piece, x[at:][:len(piece)])
	return piece
}

// momentsHalf is moments of bfloat16.
func momentsHalf(x []uint16, shift float32) (total, square float64) {
	var piece [halfPiece]float32
	for at := 0; at < len(x); at += halfPiece {
		t, s := moments(widenPiece(&piece, x, at), shift)
		total, square = total+t, square+s
	}
	return total, square
}

// normReLUGradSumsHalf is normReLUGradSums of bfloat16.
func normReLUGradSumsHalf(x, gy []uint16, mean, factor, shift float32) (total, product float64) {
	var xs, gys [halfPiece]float32
	for at := 0; at < len(x); at += halfPiece {
		t, p := normReLUGradSums(widenPiece(&xs, x, at), widenPiece(&gys, gy[:len(x)], at), mean, factor, shift)
		total, product = total+t, product+p
	}
	return total, product
}

// normaliseReLUHalf is normaliseReLU of bfloat16.
func normaliseReLUHalf(y, x []uint16, mean, factor, shift float32) {
	var xs, results [halfPiece]float32
	for at := 0; at < len(y); at += halfPiece {
		piece := widenPiece(&xs, x[:len(y)], at)
		normaliseReLU(results[:len(piece)], piece, mean, factor, shift)
		tensor.Narrow(tensor.BFloat16, y[at:][:len(piece)], results[:len(piece)])
	}
}

// normGradReLUHalf is normGradReLU of bfloat16.
func normGradReLUHalf(gx, x, gy []uint16, mean, factor, shift, slope, add float32) {
	var xs, gys, results [halfPiece]float32
	for at := 0; at < len(gx); at += halfPiece {
		piece := widenPiece(&xs, x[:len(gx)], at)
		normGradReLU(results[:len(piece)], piece, widenPiece(&gys, gy[:len(gx)], at), mean, factor, shift, slope, add)
		tensor.Narrow(tensor.BFloat16, gx[at:][:len(piece)], results[:len(piece)])
	}
}

// largestPairs computes the largest of four bfloat16:
//
//	y[i] = max(above[2i], above[2i+1], below[2i], below[2i+1])
func largestPairs(y, above, below []uint16) {
	above, below = above[:2*len(y)], below[:2*len(y)]
	for i := range y {
		y[i] = tensor.F32ToBF16(max(tensor.BF16ToF32(above[2*i]), tensor.BF16ToF32(above[2*i+1]),
			tensor.BF16ToF32(below[2*i]), tensor.BF16ToF32(below[2*i+1])))
	}
}

// ChoosePairs returns the implementation of products of pairs for a name accepted by Choose: with
// "auto" or "", BF16 where it is faster.
func ChoosePairs(name string) Pairs {
	pairs, faster, _ := DetectPairs()
	if name == BF16Name || (name == "auto" || name == "") && faster {
		return pairs
	}
	return NoPairs
}

// DetectPairs returns BF16 if the processor offers it and its products agree with plain Go's, and
// whether it computes faster than multiply-adds; else NoPairs and the reason.
func DetectPairs() (pairs Pairs, faster bool, err error) {
	d := detectPairs()
	return d.pairs, d.faster, d.err
}

type detectedPairs struct {
	pairs  Pairs
	faster bool
	err    error
}

var detectPairs = sync.OnceValue(func() (d detectedPairs) {
	switch {
	case Available()[0] != AVX512:
		d.err = errors.New("it also needs AVX-512")
	case AVX512.DotProducts(1) == 0:
		d.err = errors.New("the processor or the operating system does not offer avx512_bf16")
	case !pairsAgree(BF16):
		d.err = errors.New("its products are not plain Go's on this machine")
	default:
		d.pairs, d.faster = BF16, pairRate() >= fasterPairs
	}
	return d
})

// fasterPairs is the rate of products of pairs relative to multiply-adds from which kernels gain
// from them. Known processors have half, once or twice the rate.
const fasterPairs = 1.5

// pairRate measures how many operations products of pairs do in the time of a multiply-add's. The
// shortest of several short times of each, by turns, are not those in which other programs ran.
func pairRate() float64 {
	const warmup, rounds, trials = 1 << 15, 400, 15
	AVX512.MultiplyAdds(warmup) // a tenth of a millisecond, in which the clock settles
	best := [2]float64{}
	for range trials {
		for i, run := range []func(int) int64{AVX512.MultiplyAdds, AVX512.DotProducts} {
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
func pairsAgree(pairs Pairs) bool {
	const k, rows = 5, 9
	seed := uint32(1)
	small := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			var of [2]uint16
			for j := range of {
				seed = seed*1664525 + 1013904223
				of[j] = [...]uint16{0, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4040, 0x4080, 0xc0a0}[seed>>29] // 0 ±1 ±2 3 4 −5
			}
			x[i] = pair(of[0], of[1])
		}
		return x
	}
	a, b := small(rows*k), small(2*k*PatchFloats)
	got, want := make([]float32, rows*2*PatchFloats), make([]float32, rows*2*PatchFloats)
	pairs.Outer(got, 2*PatchFloats, PatchFloats, rows, 2, a, k, 1, b, 2*PatchFloats, PatchFloats, k, false)
	outerPairs(want, 2*PatchFloats, PatchFloats, rows, 2, a, k, 1, b, 2*PatchFloats, PatchFloats, k, false)
	x := make([]float32, 2*PatchFloats)
	for i := range x {
		x[i] = float32(i*i+1) / 769 // of more bits than a bfloat16 has
	}
	pairs.Round(got[:PatchFloats], PatchFloats, x, x[PatchFloats:], PatchFloats, 1, PatchFloats)
	roundPairs(want[:PatchFloats], PatchFloats, x, x[PatchFloats:], PatchFloats, 1, PatchFloats)
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return false
		}
	}
	return true
}
