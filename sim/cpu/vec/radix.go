package vec

import "math"

// Lanes is the number of transforms that a block of rows holds side by side: a row
// is one element of each, a cache line.
const Lanes = 8

type row = [Lanes]complex64

func rowAt(block []complex64, i int) *row { return (*row)(block[i*Lanes:]) }

// radix4 splits every group of m rows into four groups of m/4: with
// quarters a, b, c, d of the group and w = exp(−2πi/m),
//
//	a' = a+b+c+d   b' = (a−ib−c+id)·w^j   c' = (a−b+c−d)·w^2j   d' = (a+ib−c−id)·w^3j
func radix4(block []complex64, m int, twiddles []float32) {
	q := m / 4
	for group := 0; group < len(block)/Lanes; group += m {
		butterfly4(rowAt(block, group), rowAt(block, group+q), rowAt(block, group+2*q), rowAt(block, group+3*q))
		tw := twiddles
		for j := group + 1; j < group+q; j++ {
			a, b := rowAt(block, j), rowAt(block, j+q)
			c, d := rowAt(block, j+2*q), rowAt(block, j+3*q)
			w := (*[6]float32)(tw)
			tw = tw[6:]
			butterfly4Twiddled(a, b, c, d, w)
		}
	}
}

func butterfly4Twiddled(a, b, c, d *row, w *[6]float32) {
	w1r, w1i, w2r, w2i, w3r, w3i := w[0], w[1], w[2], w[3], w[4], w[5]
	for l := range Lanes {
		ar, ai := real(a[l]), imag(a[l])
		cr, ci := real(c[l]), imag(c[l])
		sr, si := ar+cr, ai+ci
		tr, ti := ar-cr, ai-ci
		br, bi := real(b[l]), imag(b[l])
		dr, di := real(d[l]), imag(d[l])
		ur, ui := br+dr, bi+di
		vr, vi := bi-di, dr-br // −i(b−d)
		a[l] = complex(sr+ur, si+ui)
		sr, si = sr-ur, si-ui
		c[l] = complex(sr*w2r-si*w2i, sr*w2i+si*w2r)
		xr, xi := tr+vr, ti+vi
		b[l] = complex(xr*w1r-xi*w1i, xr*w1i+xi*w1r)
		xr, xi = tr-vr, ti-vi
		d[l] = complex(xr*w3r-xi*w3i, xr*w3i+xi*w3r)
	}
}

// butterfly4 is the four-point transform of each lane.
func butterfly4(a, b, c, d *row) {
	for l := range Lanes {
		ar, ai := real(a[l]), imag(a[l])
		cr, ci := real(c[l]), imag(c[l])
		sr, si := ar+cr, ai+ci
		tr, ti := ar-cr, ai-ci
		br, bi := real(b[l]), imag(b[l])
		dr, di := real(d[l]), imag(d[l])
		ur, ui := br+dr, bi+di
		vr, vi := bi-di, dr-br
		a[l] = complex(sr+ur, si+ui)
		b[l] = complex(tr+vr, ti+vi)
		c[l] = complex(sr-ur, si-ui)
		d[l] = complex(tr-vr, ti-vi)
	}
}

// radix8 is the eight-point transform of every eight rows, in natural order.
func radix8(block []complex64) {
	const h = float32(math.Sqrt2 / 2)
	for ; len(block) >= 8*Lanes; block = block[8*Lanes:] {
		b := (*[8 * Lanes]complex64)(block)
		for l := range Lanes {
			x0, x1, x2, x3 := b[l], b[Lanes+l], b[2*Lanes+l], b[3*Lanes+l]
			x4, x5, x6, x7 := b[4*Lanes+l], b[5*Lanes+l], b[6*Lanes+l], b[7*Lanes+l]
			// Even coefficients: a four-point transform of the sums.
			s0, s1, s2, s3 := x0+x4, x1+x5, x2+x6, x3+x7
			p, q, r, s := s0+s2, s0-s2, s1+s3, s1-s3
			b[l], b[4*Lanes+l] = p+r, p-r
			s = complex(imag(s), -real(s))
			b[2*Lanes+l], b[6*Lanes+l] = q+s, q-s
			// Odd ones: the differences times exp(−2πi·j/8), then four points.
			d0, d1, d2, d3 := x0-x4, x1-x5, x2-x6, x3-x7
			d1 = complex(h*(real(d1)+imag(d1)), h*(imag(d1)-real(d1)))
			d2 = complex(imag(d2), -real(d2))
			d3 = complex(h*(imag(d3)-real(d3)), -h*(real(d3)+imag(d3)))
			p, q, r, s = d0+d2, d0-d2, d1+d3, d1-d3
			b[Lanes+l], b[5*Lanes+l] = p+r, p-r
			s = complex(imag(s), -real(s))
			b[3*Lanes+l], b[7*Lanes+l] = q+s, q-s
		}
	}
}
