//go:build !noasm

package vec

import "prismtop/sim/tensor"

// Widen converts elements of a 16-bit type to float32; see tensor.Widen.
func (s Set) Widen(d tensor.DType, y []float32, x []uint16) {
	n := s.wholeVectors(len(y))
	x = x[:len(y)]
	if n > 0 {
		switch {
		case d == tensor.BFloat16 && s == AVX512:
			widenBF16AVX512(&y[0], &x[0], n/16)
		case d == tensor.BFloat16:
			widenBF16AVX2(&y[0], &x[0], n/8)
		case d == tensor.Float16 && s == AVX512:
			widenF16AVX512(&y[0], &x[0], n/16)
		case d == tensor.Float16:
			widenF16AVX2(&y[0], &x[0], n/8)
		default:
			n = 0
		}
	}
	tensor.Widen(d, y[n:], x[n:])
}

// Narrow rounds float32 values to a 16-bit type; see tensor.Narrow.
func (s Set) Narrow(d tensor.DType, y []uint16, x []float32) {
	n := s.wholeVectors(len(y))
	x = x[:len(y)]
	if n > 0 {
		switch {
		case d == tensor.BFloat16 && s == AVX512:
			narrowBF16AVX512(&y[0], &x[0], n/16)
		case d == tensor.BFloat16:
			narrowBF16AVX2(&y[0], &x[0], n/8)
		case d == tensor.Float16 && s == AVX512:
			narrowF16AVX512(&y[0], &x[0], n/16)
		case d == tensor.Float16:
			narrowF16AVX2(&y[0], &x[0], n/8)
		default:
			n = 0
		}
	}
	tensor.Narrow(d, y[n:], x[n:])
}

// wholeVectors is the number of n elements that fill whole vectors.
func (s Set) wholeVectors(n int) int { return [...]int{Go: 0, AVX2: n &^ 7, AVX512: n &^ 15}[s] }

// Split splits float32 values into two bfloat16 values each; see split.
func (s Set) Split(high, low, x []float32) {
	n := len(high)
	if s == Go || n == 0 {
		split(high, low, x)
		return
	}
	low, x = low[:n], x[:n]
	if s == AVX512 {
		splitAVX512(&high[0], &low[0], &x[0], n)
	} else {
		splitAVX2(&high[0], &low[0], &x[0], n)
	}
}

// SplitSum is Split with the sum of both parts in place of the low part; see
// splitSum.
func (s Set) SplitSum(high, sum, x []float32) {
	n := len(high)
	if s == Go || n == 0 {
		splitSum(high, sum, x)
		return
	}
	sum, x = sum[:n], x[:n]
	if s == AVX512 {
		splitSumAVX512(&high[0], &sum[0], &x[0], n)
	} else {
		splitSumAVX2(&high[0], &sum[0], &x[0], n)
	}
}
