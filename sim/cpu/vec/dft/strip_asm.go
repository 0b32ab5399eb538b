package dft

import "prismtop/sim/cpu/vec"

// Pass runs one pass of a Fourier transform over a strip and writes from out[at] on;
// see pass. Without twiddles the radix is 8.
func Pass(s vec.Set, radix int, out []float32, at int, in []float32, b *Butterflies, twiddles []float32) {
	if s == vec.Go || b.Groups <= 0 {
		pass(radix, out, at, in, b, twiddles)
		return
	}
	n, last := b.Groups, b.Groups-1
	_, _ = in[last*b.InStep+(radix-1)*b.InStride+StripRow-1], out[at+last*b.OutStep+StripRow-1]
	x, y := &in[0], &out[at]
	if twiddles == nil {
		if s == vec.AVX512 {
			pass8LastAVX512(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, nil)
		} else {
			pass8LastAVX2(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, nil)
		}
		return
	}
	w := &twiddles[:2*(radix-1)*n][0]
	switch {
	case s == vec.AVX512 && radix == 8:
		pass8AVX512(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, w)
	case s == vec.AVX512 && radix == 4:
		pass4AVX512(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, w)
	case s == vec.AVX512:
		pass2AVX512(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, w)
	case radix == 8:
		pass8AVX2(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, w)
	case radix == 4:
		pass4AVX2(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, w)
	default:
		pass2AVX2(n, x, b.InStep, b.InStride, y, b.OutStep, b.OutStride, b.Half, w)
	}
}

// TransposeSquares transposes squares of floats; see transposeSquares.
func TransposeSquares(s vec.Set, squares int, dst []float32, to, dstPitch, dstStep int, src []float32, from, srcPitch,
	srcStep int) {
	if s == vec.Go || squares <= 0 {
		transposeSquares(squares, dst, to, dstPitch, dstStep, src, from, srcPitch, srcStep)
		return
	}
	last, side := squares-1, StripLanes-1
	for _, corner := range [4][2]int{{0, 0}, {0, side}, {last, 0}, {last, side}} {
		_ = dst[to+corner[0]*dstStep+corner[1]*dstPitch:][:StripLanes]
		_ = src[from+corner[0]*srcStep+corner[1]*srcPitch:][:StripLanes]
	}
	if s == vec.AVX512 {
		transposeSquaresAVX512(squares, &src[from], srcPitch, srcStep, &dst[to], dstPitch, dstStep)
	} else {
		transposeSquaresAVX2(squares, &src[from], srcPitch, srcStep, &dst[to], dstPitch, dstStep)
	}
}

// SplitRows splits rows of complex values into real and imaginary parts; see
// splitRows.
func SplitRows(s vec.Set, rows int, dst []float32, re, im, dstPitch int, src []complex64, srcPitch int) {
	if s == vec.Go || rows <= 0 {
		splitRows(rows, dst, re, im, dstPitch, src, srcPitch)
		return
	}
	_, _ = dst[max(re, im)+(rows-1)*dstPitch+StripLanes-1], src[(rows-1)*srcPitch+StripLanes-1]
	if s == vec.AVX512 {
		splitRowsAVX512(rows, &src[0], 2*srcPitch, &dst[re], &dst[im], dstPitch)
	} else {
		splitRowsAVX2(rows, &src[0], 2*srcPitch, &dst[re], &dst[im], dstPitch)
	}
}

// JoinRows is the inverse of SplitRows, times a factor; see joinRows.
func JoinRows(s vec.Set, rows int, dst []complex64, dstPitch int, src []float32, re, im, srcPitch int, factor float32) {
	if s == vec.Go || rows <= 0 {
		joinRows(rows, dst, dstPitch, src, re, im, srcPitch, factor)
		return
	}
	_, _ = src[max(re, im)+(rows-1)*srcPitch+StripLanes-1], dst[(rows-1)*dstPitch+StripLanes-1]
	if s == vec.AVX512 {
		joinRowsAVX512(rows, &dst[0], 2*dstPitch, &src[re], &src[im], srcPitch, factor)
	} else {
		joinRowsAVX2(rows, &dst[0], 2*dstPitch, &src[re], &src[im], srcPitch, factor)
	}
}

// MaskStrip multiplies rows of lanes with a mask and a factor; see maskStrip.
func MaskStrip(s vec.Set, rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32,
	maskStep int, factor float32) {
	if s == vec.Go || rows <= 0 {
		maskStrip(rows, dst, dstStep, src, srcStep, mask, maskStep, factor)
		return
	}
	_, _, _ = dst[(rows-1)*dstStep+StripRow-1], src[(rows-1)*srcStep+StripRow-1], mask[(rows-1)*maskStep+StripLanes-1]
	if s == vec.AVX512 {
		maskStripAVX512(rows, &dst[0], dstStep, &src[0], srcStep, &mask[0], maskStep, factor)
	} else {
		maskStripAVX2(rows, &dst[0], dstStep, &src[0], srcStep, &mask[0], maskStep, factor)
	}
}

// MaskStripAdd is MaskStrip, but adds to dst.
func MaskStripAdd(s vec.Set, rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32,
	maskStep int, factor float32) {
	if s == vec.Go || rows <= 0 {
		maskStripAdd(rows, dst, dstStep, src, srcStep, mask, maskStep, factor)
		return
	}
	_, _, _ = dst[(rows-1)*dstStep+StripRow-1], src[(rows-1)*srcStep+StripRow-1], mask[(rows-1)*maskStep+StripLanes-1]
	if s == vec.AVX512 {
		maskStripAddAVX512(rows, &dst[0], dstStep, &src[0], srcStep, &mask[0], maskStep, factor)
	} else {
		maskStripAddAVX2(rows, &dst[0], dstStep, &src[0], srcStep, &mask[0], maskStep, factor)
	}
}

// LossStrip compares amplitudes with a target and replaces them by the loss's
// gradient; see lossStrip.
func LossStrip(s vec.Set, absolute bool, rows int, z, target []float32, sums *[StripRow]float32) {
	if s == vec.Go || rows <= 0 {
		lossStrip(absolute, rows, z, target, sums)
		return
	}
	x, t := &z[:rows*StripRow][0], &target[:rows*StripLanes][0]
	switch {
	case s == vec.AVX512 && absolute:
		lossStripL1AVX512(rows, x, t, &sums[0])
	case s == vec.AVX512:
		lossStripL2AVX512(rows, x, t, &sums[0])
	case absolute:
		lossStripL1AVX2(rows, x, t, &sums[0])
	default:
		lossStripL2AVX2(rows, x, t, &sums[0])
	}
}
