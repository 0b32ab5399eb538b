// Package dft holds the kernels of Fourier transforms: their passes over strips of sixteen lines side by side, and what
// is done with strips between two transforms, with masks, amplitudes and their losses.
package dft

import "math"

// StripLanes is the number of rows or columns of a plane held side by side in a strip
// of a Fourier transform. A row of a strip is StripLanes real parts followed by
// StripLanes imaginary parts; StripRow is its length in floats.
const (
	StripLanes = 16
	StripRow   = 2 * StripLanes
)

// Butterflies describes the groups of one pass of a Fourier transform, with distances
// in floats. Group g reads the rows of lanes at g·InStep + j·InStride for j below the
// radix and writes result k to g·OutStep + k·OutStride; for radix 8, result k ≥ 4
// lies Half after result k−4. A pass may run in place.
type Butterflies struct {
	Groups                   int
	InStep, InStride         int
	OutStep, OutStride, Half int
}

type stripRow = [StripRow]float32

func stripAt(x []float32, i int) *stripRow { return (*stripRow)(x[i:]) }

// pass computes, for every group and lane and with w = exp(−2πi/radix),
//
//	y[k] = t[k] · Σ over j of x[j] · w^(jk)
//
// where t, the twiddles, are radix−1 complex factors per group for k from 1 on, or 1.
func pass(radix int, out []float32, at int, in []float32, b *Butterflies, twiddles []float32) {
	for g := range b.Groups {
		var x, y [8]*stripRow
		for j := range radix {
			x[j] = stripAt(in, g*b.InStep+j*b.InStride)
			to := at + g*b.OutStep + j*b.OutStride
			if radix == 8 && j >= 4 {
				to += b.Half - 4*b.OutStride
			}
			y[j] = stripAt(out, to)
		}
		var t [8]complex64
		for k := range t {
			t[k] = 1
		}
		if twiddles != nil {
			for k := 1; k < radix; k++ {
				t[k] = complex(twiddles[2*k-2], twiddles[2*k-1])
			}
			twiddles = twiddles[2*(radix-1):]
		}
		for l := range StripLanes {
			var v [8]complex64
			for j := range radix {
				v[j] = complex(x[j][l], x[j][StripLanes+l])
			}
			butterfly(&v, radix)
			for k := range radix {
				z := v[k]
				if k > 0 {
					z *= t[k]
				}
				y[k][l], y[k][StripLanes+l] = real(z), imag(z)
			}
		}
	}
}

func butterfly(v *[8]complex64, radix int) {
	switch radix {
	case 2:
		v[0], v[1] = v[0]+v[1], v[0]-v[1]
	case 4:
		v[0], v[1], v[2], v[3] = quarters(v[0], v[1], v[2], v[3])
	default:
		const h = math.Sqrt2 / 2
		d1, d3 := v[1]-v[5], v[3]-v[7]
		e := complex(h*(real(d1)+imag(d1)), h*(imag(d1)-real(d1)))
		f := complex(h*(imag(d3)-real(d3)), -h*(real(d3)+imag(d3)))
		a, b := v[0]-v[4], v[2]-v[6]
		v[0], v[2], v[4], v[6] = quarters(v[0]+v[4], v[1]+v[5], v[2]+v[6], v[3]+v[7])
		v[1], v[3], v[5], v[7] = quarters(a, e, turn(b), f)
	}
}

// turn returns −i·z.
func turn(z complex64) complex64 { return complex(imag(z), -real(z)) }

// quarters computes the transform of four points.
func quarters(a, b, c, d complex64) (p, q, r, s complex64) {
	even, odd := a+c, b+d
	x, y := a-c, turn(b-d)
	return even + odd, x + y, even - odd, x - y
}

// transposeSquares computes, for each square of sixteen by sixteen floats,
//
//	dst[j·dstPitch + i] = src[i·srcPitch + j]
//
// src and dst, the start of the first square, advance by a step for every square;
// pitches and steps may be negative.
func transposeSquares(squares int, dst []float32, to, dstPitch, dstStep int, src []float32, from, srcPitch,
	srcStep int) {
	for q := range squares {
		for i := range StripLanes {
			row := src[from+q*srcStep+i*srcPitch:][:StripLanes]
			for j, v := range row {
				dst[to+q*dstStep+j*dstPitch+i] = v
			}
		}
	}
}

// splitRows splits sixteen complex values of each row: the real parts go to dst[re:],
// the imaginary ones to dst[im:].
func splitRows(rows int, dst []float32, re, im, dstPitch int, src []complex64, srcPitch int) {
	for r := range rows {
		a, b := dst[re+r*dstPitch:][:StripLanes], dst[im+r*dstPitch:][:StripLanes]
		for l, z := range src[r*srcPitch:][:StripLanes] {
			a[l], b[l] = real(z), imag(z)
		}
	}
}

// joinRows is the inverse of splitRows, times a factor. A row may be joined in
// place.
func joinRows(rows int, dst []complex64, dstPitch int, src []float32, re, im, srcPitch int, factor float32) {
	for r := range rows {
		a, b := *(*[StripLanes]float32)(src[re+r*srcPitch:]), *(*[StripLanes]float32)(src[im+r*srcPitch:])
		to := dst[r*dstPitch:][:StripLanes]
		for l := range to {
			to[l] = complex(factor*a[l], factor*b[l])
		}
	}
}

// maskStrip computes dst = factor·mask·src for rows of sixteen complex lanes, and maskStripAdd
// adds to dst. The mask is real.
func maskStrip(rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32, maskStep int,
	factor float32) {
	for r := range rows {
		y, z, m := stripAt(dst, r*dstStep), stripAt(src, r*srcStep), mask[r*maskStep:][:StripLanes]
		for l, v := range m {
			v *= factor
			y[l], y[StripLanes+l] = v*z[l], v*z[StripLanes+l]
		}
	}
}

func maskStripAdd(rows int, dst []float32, dstStep int, src []float32, srcStep int, mask []float32, maskStep int,
	factor float32) {
	for r := range rows {
		y, z, m := stripAt(dst, r*dstStep), stripAt(src, r*srcStep), mask[r*maskStep:][:StripLanes]
		for l, v := range m {
			v *= factor
			y[l] += v * z[l]
			y[StripLanes+l] += v * z[StripLanes+l]
		}
	}
}
