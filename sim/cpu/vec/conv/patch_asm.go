package conv

import "prismtop/sim/cpu/vec"

// Outer multiplies columns with panels of rows; see outer.
func Outer(s vec.Set, c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv,
	k int, add bool) {
	if s == vec.Go || rows <= 0 || panels <= 0 || k <= 0 {
		outer(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
		return
	}
	checkOuter(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k)
	if s == vec.AVX2 {
		sum := 0
		if add {
			sum = 1
		}
		for v := range panels {
			outerAVX2(c[v*cv:], cm, rows, a, am, ak, b[v*bv:], bk, k, sum)
		}
		return
	}
	outerPanels(&outerSet, c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// checkOuter panics if an element lies outside its slice.
func checkOuter(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int) {
	_ = c[(rows-1)*cm+(panels-1)*cv+PatchFloats-1]
	_, _ = a[(rows-1)*am+(k-1)*ak], b[(k-1)*bk+(panels-1)*bv+PatchFloats-1]
}

// outerTile is a kernel for tiles of a number of rows.
type outerTile struct {
	rows int
	run  func(c *float32, cm, cv int, a *float32, am, ak int, b *float32, bk, bv int, k, add, tiles int)
}

// outerKernels are kernels for two panels and for one, most rows first and one row last.
type outerKernels struct{ two, one []outerTile }

// outerSet are Outer's kernels with AVX-512.
var outerSet = outerKernels{
	two: []outerTile{{8, outer8x2AVX512}, {4, outer4x2AVX512}, {2, outer2x2AVX512}, {1, outer1x2AVX512}},
	one: []outerTile{{16, outer16x1AVX512}, {8, outer8x1AVX512}, {4, outer4x1AVX512}, {2, outer2x1AVX512},
		{1, outer1x1AVX512}},
}

// outerPanels is Outer with panels of one vector.
func outerPanels(kernels *outerKernels, c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk,
	bv, k int, add bool) {
	sum := 0
	if add {
		sum = 1
	}
	for v := 0; v < panels; v += 2 {
		tiles := kernels.two
		if v+1 == panels {
			tiles = kernels.one
		}
		m := 0
		for _, t := range tiles {
			if n := (rows - m) / t.rows; n > 0 {
				t.run(&c[m*cm+v*cv], cm, cv, &a[m*am], am, ak, &b[v*bv], bk, bv, k, sum, n)
				m += n * t.rows
			}
		}
	}
}

// outerAVX2 is Outer for one panel of two vectors. A tile of two rows has too few sums to keep the multipliers busy:
// two tiles of four take less time than one of six and one of two.
func outerAVX2(c []float32, cm, rows int, a []float32, am, ak int, b []float32, bk, k, sum int) {
	const half = PatchFloats / 2
	sixes := rows / 6
	if rows%6 == 2 && rows > 2 {
		sixes--
	}
	m := 0
	for _, t := range outerTilesAVX2 {
		n := (rows - m) / t.rows
		if t.rows == 6 {
			n = sixes
		}
		if n > 0 {
			t.run(&c[m*cm], cm, half, &a[m*am], am, ak, &b[0], bk, half, k, sum, n)
			m += n * t.rows
		}
	}
}

// outerTilesAVX2 are the kernels of outerAVX2.
var outerTilesAVX2 = []outerTile{{6, outer6x2AVX2}, {4, outer4x2AVX2}, {2, outer2x2AVX2}, {1, outer1x2AVX2}}

// OuterPairs is Outer for pairs in a and b.
func OuterPairs(p vec.Pairs, c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv,
	k int, add bool) {
	if p != vec.BF16 || rows <= 0 || panels <= 0 || k <= 0 {
		outerPairs(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
		return
	}
	checkOuter(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k)
	outerPanels(&outerPairKernels, c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// outerPairKernels are Outer's kernels for pairs.
var outerPairKernels = outerKernels{
	two: []outerTile{{8, outer8x2BF16}, {4, outer4x2BF16}, {2, outer2x2BF16}, {1, outer1x2BF16}},
	one: []outerTile{{16, outer16x1BF16}, {8, outer8x1BF16}, {4, outer4x1BF16}, {2, outer2x1BF16}, {1, outer1x1BF16}},
}

// Inner multiplies rows with patches; see inner.
func Inner(s vec.Set, out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	if s == vec.Go || rows <= 0 || n <= 0 || k <= 0 {
		inner(out, pitch, rows, n, a, am, g, step, k)
		return
	}
	checkInner(out, pitch, rows, n, a, am, g, step, k)
	innerRows(innerKernels[s], out, pitch, rows, n, a, am, g, step, k)
}

// checkInner panics if an element lies outside its slice.
func checkInner(out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	_, _ = out[(rows-1)*pitch+n-1], a[(rows-1)*am+PatchFloats*k-1]
	_ = g[(k-1)*step+PatchFloats*n-1]
}

// innerTile is a kernel for a number of rows.
type innerTile struct {
	rows int
	run  func(out *float32, pitch, groups int, a *float32, am int, p *float32, step, k int)
}

// innerKernels are Inner's kernels, most rows first and one row last.
var innerKernels = [...][]innerTile{
	vec.AVX2:   {{2, inner2AVX2}, {1, inner1AVX2}},
	vec.AVX512: {{4, inner4AVX512}, {2, inner2AVX512}, {1, inner1AVX512}},
}

// innerRows is Inner with kernels.
func innerRows(kernels []innerTile, out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	m := 0
	for _, t := range kernels {
		for ; rows-m >= t.rows; m += t.rows {
			t.run(&out[m*pitch], pitch, n/4, &a[m*am], am, &g[0], step, k)
		}
	}
}

// Patches copies windows of a plane; see patches.
func Patches(s vec.Set, y, x []float32, pitch, n, rows int) {
	if s == vec.Go || n <= 0 || rows <= 0 {
		patches(y, x, pitch, n, rows)
		return
	}
	_, _ = y[PatchFloats*n*rows-1], x[(2*rows+1)*pitch+2*n+1]
	patchesAVX2(&y[0], &x[0], pitch, n, rows)
}

// Fold adds overlapping patches; see fold.
func Fold(s vec.Set, y []float32, pitch int, p []float32, n, rows int) {
	if s == vec.Go || n <= 0 || rows <= 0 {
		fold(y, pitch, p, n, rows)
		return
	}
	_, _ = y[(2*rows-1)*pitch+2*n+3], p[PatchFloats*n*(rows+1)-1]
	foldAVX2(&y[0], pitch, &p[0], n, rows)
}

// Prefetch prefetches a row that will be read soon.
func Prefetch(s vec.Set, x []float32) {
	if s != vec.Go && len(x) > 0 {
		prefetchAVX2(&x[0], (len(x)+15)/16)
	}
}
