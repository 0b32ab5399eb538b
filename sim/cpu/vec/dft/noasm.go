//go:build !amd64 || noasm

package dft

import "prismtop/sim/cpu/vec"

// Pass runs one pass of a Fourier transform over a strip and writes from out[at] on;
// see pass. Without twiddles the radix is 8.
func Pass(_ vec.Set, radix int, out []float32, at int, in []float32, b *Butterflies, twiddles []float32) {
	pass(radix, out, at, in, b, twiddles)
}

// TransposeSquares transposes squares of floats; see transposeSquares.
func TransposeSquares(_ vec.Set, squares int, dst []float32, to, dstPitch, dstStep int, src []float32, from, srcPitch,
	srcStep int) {
	transposeSquares(squares, dst, to, dstPitch, dstStep, src, from, srcPitch, srcStep)
}

// SplitRows splits rows of complex values into real and imaginary parts; see
// splitRows.
func SplitRows(_ vec.Set, rows int, dst []float32, re, im, dstPitch int, src []complex64, srcPitch int) {
	splitRows(rows, dst, re, im, dstPitch, src, srcPitch)
}

// JoinRows is the inverse of SplitRows, times a factor; see joinRows.
func JoinRows(_ vec.Set, rows int, dst []complex64, dstPitch int, src []float32, re, im, srcPitch int, factor float32) {
	joinRows(rows, dst, dstPitch, src, re, im, srcPitch, factor)
}

// MaskStrip multiplies rows of lanes with a mask and a factor; see maskStrip.
func MaskStrip(_ vec.Set, rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32,
	maskStep int, factor float32) {
	maskStrip(rows, dst, dstStep, src, srcStep, mask, maskStep, factor)
}

// MaskStripAdd is MaskStrip, but adds to dst.
func MaskStripAdd(_ vec.Set, rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32,
	maskStep int, factor float32) {
	maskStripAdd(rows, dst, dstStep, src, srcStep, mask, maskStep, factor)
}

// LossStrip compares amplitudes with a target and replaces them by the loss's
// gradient; see lossStrip.
func LossStrip(_ vec.Set, absolute bool, rows int, z, target []float32, sums *[StripRow]float32) {
	lossStrip(absolute, rows, z, target, sums)
}

// ModulusStrip computes amplitudes and directions of complex rows; see
// modulusStrip.
func ModulusStrip(_ vec.Set, add bool, rows int, z, amplitude []float32) {
	modulusStrip(add, rows, z, amplitude)
}
