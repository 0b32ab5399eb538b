//go:build !amd64 || noasm

package vec

// Pass runs one pass of a Fourier transform over a strip and writes from out[at] on;
// see pass. Without twiddles the radix is 8.
func (Set) Pass(radix int, out []float32, at int, in []float32, b *Butterflies, twiddles []float32) {
	pass(radix, out, at, in, b, twiddles)
}

// TransposeSquares transposes squares of floats; see transposeSquares.
func (Set) TransposeSquares(squares int, dst []float32, to, dstPitch, dstStep int, src []float32, from, srcPitch, srcStep int) {
	transposeSquares(squares, dst, to, dstPitch, dstStep, src, from, srcPitch, srcStep)
}

// SplitRows splits rows of complex values into real and imaginary parts; see
// splitRows.
func (Set) SplitRows(rows int, dst []float32, re, im, dstPitch int, src []complex64, srcPitch int) {
	splitRows(rows, dst, re, im, dstPitch, src, srcPitch)
}

// JoinRows is the inverse of SplitRows, times a factor; see joinRows.
func (Set) JoinRows(rows int, dst []complex64, dstPitch int, src []float32, re, im, srcPitch int, factor float32) {
	joinRows(rows, dst, dstPitch, src, re, im, srcPitch, factor)
}

// MaskStrip multiplies rows of lanes with a mask and a factor; see maskStrip.
func (Set) MaskStrip(rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32, maskStep int, factor float32) {
	maskStrip(rows, dst, dstStep, src, srcStep, mask, maskStep, factor)
}

// MaskStripAdd is MaskStrip, but adds to dst.
func (Set) MaskStripAdd(rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32, maskStep int, factor float32) {
	maskStripAdd(rows, dst, dstStep, src, srcStep, mask, maskStep, factor)
}

// LossStrip compares amplitudes with a target and replaces them by the loss's
// gradient; see lossStrip.
func (Set) LossStrip(absolute bool, rows int, z, target []float32, sums *[StripRow]float32) {
	lossStrip(absolute, rows, z, target, sums)
}
