//go:build !noasm

package vec

// Outer multiplies columns with panels of rows; see outer.
func (s Set) Outer(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	if s == Go || rows <= 0 || panels <= 0 || k <= 0 {
		outer(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
		return
	}
	_ = c[(rows-1)*cm+(panels-1)*cv+PatchFloats-1]
	_, _ = a[(rows-1)*am+(k-1)*ak], b[(k-1)*bk+(panels-1)*bv+PatchFloats-1]
	sum := 0
	if add {
		sum = 1
	}
	if s == AVX2 {
		for v := range panels {
			outerAVX2(c[v*cv:], cm, rows, a, am, ak, b[v*bv:], bk, k, sum)
		}
		return
	}
	v := 0
	for ; v+1 < panels; v += 2 {
		from := &b[v*bv]
		for m := 0; m < rows; {
			to, w := &c[m*cm+v*cv], &a[m*am]
			switch left := rows - m; {
			case left >= 8:
				tiles := left / 8
				outer8x2AVX512(to, cm, cv, w, am, ak, from, bk, bv, k, sum, tiles)
				m += 8 * tiles
			case left >= 4:
				tiles := left / 4
				outer4x2AVX512(to, cm, cv, w, am, ak, from, bk, bv, k, sum, tiles)
				m += 4 * tiles
			case left >= 2:
				tiles := left / 2
				outer2x2AVX512(to, cm, cv, w, am, ak, from, bk, bv, k, sum, tiles)
				m += 2 * tiles
			default:
				outer1x2AVX512(to, cm, cv, w, am, ak, from, bk, bv, k, sum, 1)
				m++
			}
		}
	}
	if v < panels {
		outerLastAVX512(c[v*cv:], cm, rows, a, am, ak, b[v*bv:], bk, k, sum)
	}
}

// outerLastAVX512 is Outer for one panel.
func outerLastAVX512(c []float32, cm, rows int, a []float32, am, ak int, b []float32, bk, k, sum int) {
	for m := 0; m < rows; {
		to, w := &c[m*cm], &a[m*am]
		switch left := rows - m; {
		case left >= 16:
			tiles := left / 16
			outer16x1AVX512(to, cm, 0, w, am, ak, &b[0], bk, 0, k, sum, tiles)
			m += 16 * tiles
		case left >= 8:
			tiles := left / 8
			outer8x1AVX512(to, cm, 0, w, am, ak, &b[0], bk, 0, k, sum, tiles)
			m += 8 * tiles
		case left >= 4:
			tiles := left / 4
			outer4x1AVX512(to, cm, 0, w, am, ak, &b[0], bk, 0, k, sum, tiles)
			m += 4 * tiles
		case left >= 2:
			tiles := left / 2
			outer2x1AVX512(to, cm, 0, w, am, ak, &b[0], bk, 0, k, sum, tiles)
			m += 2 * tiles
		default:
			outer1x1AVX512(to, cm, 0, w, am, ak, &b[0], bk, 0, k, sum, 1)
			m++
		}
	}
}

// outerAVX2 is Outer for one panel of two vectors.
func outerAVX2(c []float32, cm, rows int, a []float32, am, ak int, b []float32, bk, k, sum int) {
	const half = PatchFloats / 2
	for m := 0; m < rows; {
		to, w := &c[m*cm], &a[m*am]
		switch left := rows - m; {
		case left >= 6:
			tiles := left / 6
			outer6x2AVX2(to, cm, half, w, am, ak, &b[0], bk, half, k, sum, tiles)
			m += 6 * tiles
		case left >= 4:
			tiles := left / 4
			outer4x2AVX2(to, cm, half, w, am, ak, &b[0], bk, half, k, sum, tiles)
			m += 4 * tiles
		case left >= 2:
			tiles := left / 2
			outer2x2AVX2(to, cm, half, w, am, ak, &b[0], bk, half, k, sum, tiles)
			m += 2 * tiles
		default:
			outer1x2AVX2(to, cm, half, w, am, ak, &b[0], bk, half, k, sum, 1)
			m++
		}
	}
}

// Inner multiplies rows with patches; see inner.
func (s Set) Inner(out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	if s == Go || rows <= 0 || n <= 0 || k <= 0 {
		inner(out, pitch, rows, n, a, am, g, step, k)
		return
	}
	_, _ = out[(rows-1)*pitch+n-1], a[(rows-1)*am+PatchFloats*k-1]
	_ = g[(k-1)*step+PatchFloats*n-1]
	groups, gs := n/4, &g[0]
	for m := 0; m < rows; {
		to, w, left := &out[m*pitch], &a[m*am], rows-m
		switch {
		case s == AVX512 && left >= 4:
			inner4AVX512(to, pitch, groups, w, am, gs, step, k)
			m += 4
		case s == AVX512 && left >= 2:
			inner2AVX512(to, pitch, groups, w, am, gs, step, k)
			m += 2
		case s == AVX512:
			inner1AVX512(to, pitch, groups, w, am, gs, step, k)
			m++
		case left >= 2:
			inner2AVX2(to, pitch, groups, w, am, gs, step, k)
			m += 2
		default:
			inner1AVX2(to, pitch, groups, w, am, gs, step, k)
			m++
		}
	}
}

// Patches copies windows of a plane; see patches.
func (s Set) Patches(y, x []float32, pitch, n, rows int) {
	if s == Go || n <= 0 || rows <= 0 {
		patches(y, x, pitch, n, rows)
		return
	}
	_, _ = y[PatchFloats*n*rows-1], x[(2*rows+1)*pitch+2*n+1]
	patchesAVX2(&y[0], &x[0], pitch, n, rows)
}

// Fold adds overlapping patches; see fold.
func (s Set) Fold(y []float32, pitch int, p []float32, n, rows int) {
	if s == Go || n <= 0 || rows <= 0 {
		fold(y, pitch, p, n, rows)
		return
	}
	_, _ = y[(2*rows-1)*pitch+2*n+3], p[PatchFloats*n*(rows+1)-1]
	foldAVX2(&y[0], pitch, &p[0], n, rows)
}

// Prefetch prefetches a row that will be read soon.
func (s Set) Prefetch(x []float32) {
	if s != Go && len(x) > 0 {
		prefetchAVX2(&x[0], (len(x)+15)/16)
	}
}
