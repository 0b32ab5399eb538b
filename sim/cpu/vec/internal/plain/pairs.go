package plain

import (
	"math"

	"prismtop/sim/tensor"
)

// unpair returns the two numbers of a pair.
func unpair(x float32) (first, second float32) {
	bits := math.Float32bits(x)
	return tensor.BF16ToF32(uint16(bits)), tensor.BF16ToF32(uint16(bits >> 16))
}

// PairProduct adds the products of two pairs to a sum, the seconds' first. Hardware counts
// subnormal numbers as zero.
func PairProduct(sum, a, b float32) float32 {
	a0, a1 := unpair(a)
	b0, b1 := unpair(b)
	return sum + float32(a1*b1) + float32(a0*b0)
}

// AxpyPairs is y[i] += x[i]·a for pairs.
func AxpyPairs(y, x []float32, a float32) {
	for i := range y {
		y[i] = PairProduct(y[i], x[i], a)
	}
}
