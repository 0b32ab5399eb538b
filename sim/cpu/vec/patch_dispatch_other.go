//go:build !amd64 || noasm

package vec

// Outer multiplies columns with panels of rows; see outer.
func (Set) Outer(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	outer(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// Inner multiplies rows with patches; see inner.
func (Set) Inner(out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	inner(out, pitch, rows, n, a, am, g, step, k)
}

// Patches copies windows of a plane; see patches.
func (Set) Patches(y, x []float32, pitch, n, rows int) { patches(y, x, pitch, n, rows) }

// Fold adds overlapping patches; see fold.
func (Set) Fold(y []float32, pitch int, p []float32, n, rows int) { fold(y, pitch, p, n, rows) }

// Prefetch prefetches a row that will be read soon.
func (Set) Prefetch([]float32) {}
