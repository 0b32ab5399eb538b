//go:build !noasm

package vec

// NonZero reports whether an element is neither 0 nor −0.
func (s Set) NonZero(x []float32) bool {
	switch {
	case s == Go || len(x) == 0:
		return nonZero(x)
	case s == AVX512:
		return nonZeroAVX512(&x[0], len(x)) != 0
	default:
		return nonZeroAVX2(&x[0], len(x)) != 0
	}
}
