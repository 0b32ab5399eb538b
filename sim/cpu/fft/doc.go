// Package fft computes two-dimensional discrete Fourier transforms of complex64
// planes on the CPU in plain Go.
//
// A Plan is made for one size and owns its twiddle factors, index tables and work
// space, so that a transform allocates nothing. Power-of-two lengths run radix-4
// and radix-8 passes over blocks of eight rows or columns at a time, which stay
// in the first-level cache; other lengths go through gonum's complex128 transform
// behind the same type. Twiddles are computed in float64 and rounded once.
//
// With j, k the row and column of the input and u, v those of the output,
//
//	Forward:  X[u,v] = Σ x[j,k]·exp(−2πi(ju/h + kv/w))
//	Inverse:  x[j,k] = Σ X[u,v]·exp(+2πi(ju/h + kv/w))
//
// both without a factor. The centred transforms are the ones of spec/prism.md
// §2.2: fftshift(fft2(ifftshift(x)))/√(h·w) and its inverse, with the origin of both
// domains at [h/2, w/2] (rounded down). The shifts cost nothing: they are folded
// into the index tables by which blocks are read and written, and so are exact
// for odd sizes too.
//
// Rows of zeros are not transformed, and of a real plane's spectrum half of the
// columns are computed and mirrored.
//
// Results do not depend on how the work is spread over threads: every row and
// column is computed by the same operations in the same order.
package fft
