//go:build !noasm && amd64

package vec

// built are the sets of this build.
var built = []Set{Go, AVX2, AVX512}
