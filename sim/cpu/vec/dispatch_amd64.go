//go:build !noasm

package vec

// The methods check lengths where that costs nothing; tables of indices must be
// correct; the plain Go forms check them.

var built = []Set{Go, AVX2, AVX512}
