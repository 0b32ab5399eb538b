// Package half holds the kernels on numbers of 16 bits: conversions of float32 to float16 and bfloat16 and back,
// rounded to nearest even as IEEE 754 has it (half.go), and layouts of pairs of bfloat16 for instructions that multiply
// pairs (pairs.go). Package vec says how its files are named.
package half

import "prismtop/sim/tensor"

// Conversions of mixed precision. Package tensor has those between float32 and the
// 16-bit types.

// split splits x into two bfloat16 values:
//
//	high[i] = bf16(x[i]);  low[i] = bf16(x[i] − high[i])
//
// x = high + low to a relative 2⁻¹⁷. The low part of an infinite x is NaN.
func split(high, low, x []float32) {
	for i, v := range x[:len(high)] {
		h := tensor.BF16ToF32(tensor.F32ToBF16(v))
		high[i], low[i] = h, tensor.BF16ToF32(tensor.F32ToBF16(v-h))
	}
}

// splitSum is split with sum[i] = high[i] + low[i] in place of the low part; a
// float32 holds it exactly.
func splitSum(high, sum, x []float32) {
	for i, v := range x[:len(high)] {
		h := tensor.BF16ToF32(tensor.F32ToBF16(v))
		high[i], sum[i] = h, h+tensor.BF16ToF32(tensor.F32ToBF16(v-h))
	}
}
