//go:build !amd64 || noasm

package vec

import "prismtop/sim/tensor"

// Widen converts elements of a 16-bit type to float32; see tensor.Widen.
func (Set) Widen(d tensor.DType, y []float32, x []uint16) { tensor.Widen(d, y, x) }

// Narrow rounds float32 values to a 16-bit type; see tensor.Narrow.
func (Set) Narrow(d tensor.DType, y []uint16, x []float32) { tensor.Narrow(d, y, x) }

// Split splits float32 values into two bfloat16 values each; see split.
func (Set) Split(high, low, x []float32) { split(high, low, x) }

// SplitSum is Split with the sum of both parts in place of the low part; see
// splitSum.
func (Set) SplitSum(high, sum, x []float32) { splitSum(high, sum, x) }
