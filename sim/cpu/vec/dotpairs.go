package vec

import "prismtop/sim/cpu/vec/internal/plain"

// outerPairs is outer for pairs in a and b.
func outerPairs(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	for m := range rows {
		for v := range panels {
			y := c[m*cm+v*cv:][:PatchFloats]
			if !add {
				clear(y)
			}
			for t := range k {
				plain.AxpyPairs(y, b[t*bk+v*bv:][:PatchFloats], a[m*am+t*ak])
			}
		}
	}
}

// dotsPairs is dots for pairs in a and x.
func dotsPairs(out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	for r := range rows {
		for k, s := range segments {
			total, run := float32(0), x[s:][:n]
			for i, v := range a[r*stride:][:n] {
				total = plain.PairProduct(total, v, run[i])
			}
			out[r*pitch+k] += total
		}
	}
}
