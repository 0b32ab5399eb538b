//go:build !amd64 || noasm

package conv

import "prismtop/sim/cpu/vec"

// TileRows is the maximum number of rows that one tile keeps in registers.
func TileRows(vec.Set) int { return 2 }

// Tile adds weighted runs of x to rows of y; see tile.
func Tile(_ vec.Set, y []float32, pitch, rows, n int, x []float32, segments, weights []int32, w []float32, stride int) {
	tile(y, pitch, rows, n, x, segments, weights, w, stride)
}

// DotRows is the same for dot products.
func DotRows(vec.Set) int { return 2 }

// Dots multiplies rows of p with runs of x; see dots.
func Dots(_ vec.Set, out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	dots(out, pitch, rows, p, stride, n, x, segments)
}

// DotsPairs is Dots for pairs in a and x.
func DotsPairs(_ vec.Pairs, out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	dotsPairs(out, pitch, rows, a, stride, n, x, segments)
}

// TapLanes is the number of pixels of a vector.
func TapLanes(vec.Set) int { return 16 }

// Compute computes the sum for vectors of pixels.
func (t *TapSum) Compute(s vec.Set, p *Pixels) { t.sum(p, TapLanes(s), false) }

// ComputePairs computes the sum of pairs, in x and w, for vectors of pixels.
func (t *TapSum) ComputePairs(_ vec.Pairs, pixels *Pixels) { t.sum(pixels, PairLanes, true) }

// Outer multiplies columns with panels of rows; see outer.
func Outer(_ vec.Set, c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv,
	k int, add bool) {
	outer(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// OuterPairs is Outer for pairs in a and b.
func OuterPairs(_ vec.Pairs, c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv,
	k int, add bool) {
	outerPairs(c, cm, cv, rows, panels, a, am, ak, b, bk, bv, k, add)
}

// Inner multiplies rows with patches; see inner.
func Inner(_ vec.Set, out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	inner(out, pitch, rows, n, a, am, g, step, k)
}

// Patches copies windows of a plane; see patches.
func Patches(_ vec.Set, y, x []float32, pitch, n, rows int) { patches(y, x, pitch, n, rows) }

// Fold adds overlapping patches; see fold.
func Fold(_ vec.Set, y []float32, pitch int, p []float32, n, rows int) { fold(y, pitch, p, n, rows) }

// Prefetch prefetches a row that will be read soon.
func Prefetch(vec.Set, []float32) {}

// Compute computes the sum for tiles.
func (q *SquareSum) Compute(_ vec.Set, t *SquareTiles) { q.sum(t) }
