package vec

import "errors"

// Pairs selects the implementation of kernels on pairs of bfloat16. The element of an operand is a pair: two
// bfloat16 in the bits of a float32, the first in the lower half. The product of two elements is the sum of the
// products of both firsts and both seconds. Whatever moves float32 moves pairs as well.
type Pairs uint8

// The implementations of products of pairs.
const (
	// NoPairs means no instructions for them.
	NoPairs Pairs = iota
	// PlainPairs computes in plain Go. It is slow: a reference.
	PlainPairs
	// BF16 requires a processor for which RequirePairs returns nil.
	BF16
)

// RequirePairs returns an error unless this build and this processor have products of pairs.
func RequirePairs() error {
	switch {
	case Available()[0] != AVX512:
		return errors.New("it also needs AVX-512")
	case AVX512.DotProducts(1) == 0:
		return errors.New("the processor or the operating system does not offer avx512_bf16")
	}
	return nil
}
