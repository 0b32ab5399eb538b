// Package fft computes two-dimensional discrete Fourier transforms of complex64
// planes on the CPU.
//
// A Plan serves one size and owns its twiddle factors and work space, so that a
// transform allocates nothing. Sides that are powers of two, at least 16, run passes
// of radix 8, 4 and 2 over strips of sixteen rows or columns, with separate real and
// imaginary parts; other sides go through gonum's complex128 transform behind the
// same type. Twiddles are computed in float64 and rounded once.
//
// With j, k the row and column of the input and u, v those of the output,
//
//	Forward:  X[u,v] = Σ x[j,k]·exp(−2πi(ju/h + kv/w))
//	Inverse:  x[j,k] = Σ X[u,v]·exp(+2πi(ju/h + kv/w))
//
// both without a factor. The centred transforms are the ones of spec/prism.md
// §2.2: fftshift(fft2(ifftshift(x)))/√(h·w) and its inverse, with the origin of both
// domains at [h/2, w/2] (rounded down). The shifts cost nothing: they are folded
// into twiddles and into where results are written, and are exact for odd sizes too.
//
// Columns known to be zero and rows that are not needed are skipped, see Bounds.
//
// Results do not depend on how the work is spread over threads: every row and
// column is computed by the same operations in the same order.
package fft
