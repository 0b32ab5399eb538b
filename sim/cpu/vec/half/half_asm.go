package half

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/tensor"
)

// Widen converts elements of a 16-bit type to float32; see tensor.Widen.
func Widen(s vec.Set, d tensor.DType, y []float32, x []uint16) {
	n := wholeVectors(s, len(y))
	x = x[:len(y)]
	if n > 0 {
		switch {
		case d == tensor.BFloat16 && s == vec.AVX512:
			widenBF16AVX512(&y[0], &x[0], n/16)
		case d == tensor.BFloat16:
			widenBF16AVX2(&y[0], &x[0], n/8)
		case d == tensor.Float16 && s == vec.AVX512:
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
func Narrow(s vec.Set, d tensor.DType, y []uint16, x []float32) {
	n := wholeVectors(s, len(y))
	x = x[:len(y)]
	if n > 0 {
		switch {
		case d == tensor.BFloat16 && s == vec.AVX512:
			narrowBF16AVX512(&y[0], &x[0], n/16)
		case d == tensor.BFloat16:
			narrowBF16AVX2(&y[0], &x[0], n/8)
		case d == tensor.Float16 && s == vec.AVX512:
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
func wholeVectors(s vec.Set, n int) int {
	return [...]int{vec.Go: 0, vec.AVX2: n &^ 7, vec.AVX512: n &^ 15}[s]
}

// Split splits float32 values into two bfloat16 values each; see split.
func Split(s vec.Set, high, low, x []float32) {
	n := len(high)
	if s == vec.Go || n == 0 {
		split(high, low, x)
		return
	}
	low, x = low[:n], x[:n]
	if s == vec.AVX512 {
		splitAVX512(&high[0], &low[0], &x[0], n)
	} else {
		splitAVX2(&high[0], &low[0], &x[0], n)
	}
}

// SplitSum is Split with the sum of both parts in place of the low part; see
// splitSum.
func SplitSum(s vec.Set, high, sum, x []float32) {
	n := len(high)
	if s == vec.Go || n == 0 {
		splitSum(high, sum, x)
		return
	}
	sum, x = sum[:n], x[:n]
	if s == vec.AVX512 {
		splitSumAVX512(&high[0], &sum[0], &x[0], n)
	} else {
		splitSumAVX2(&high[0], &sum[0], &x[0], n)
	}
}
