package conv

import "prismtop/sim/cpu/vec/internal/plain"

// A patch is the part of the large grid under the 4×4 taps of a transposed
// convolution of stride 2 at one pixel of the small grid: PatchFloats numbers in
// the order of the weights. Products with patches are matrix products, and
// neighbouring patches overlap by half.

// PatchFloats is the size of a patch.
const PatchFloats = 16

// outer adds products of columns of a with panels of rows of b, sixteen elements
// each, to c or, without add, replaces c by them:
//
//	c[m·cm + v·cv + i] = Σ over k of a[m·am + k·ak] · b[k·bk + v·bv + i]
func outer(c []float32, cm, cv, rows, panels int, a []float32, am, ak int, b []float32, bk, bv, k int, add bool) {
	for m := range rows {
		for v := range panels {
			y := c[m*cm+v*cv:][:PatchFloats]
			if !add {
				clear(y)
			}
			for t := range k {
				plain.Axpy(y, b[t*bk+v*bv:][:PatchFloats], a[m*am+t*ak])
			}
		}
	}
}

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

// inner multiplies rows of a with patches, n for each sixteen elements of a row;
// n is a multiple of four:
//
//	out[m·pitch + p] = Σ over k and i of a[m·am + 16·k + i] · g[k·step + 16·p + i]
func inner(out []float32, pitch, rows, n int, a []float32, am int, g []float32, step, k int) {
	for m := range rows {
		for p := range n {
			total := float32(0)
			for t := range k {
				total += plain.Dot(a[m*am+PatchFloats*t:][:PatchFloats], g[t*step+PatchFloats*p:][:PatchFloats])
			}
			out[m*pitch+p] = total
		}
	}
}

// patches copies rows of n windows of a plane, two rows or columns apart:
//
//	y[16·(n·i + j) + 4·r + c] = x[(2·i + r)·pitch + 2·j + c]
func patches(y, x []float32, pitch, n, rows int) {
	for i := range rows {
		for j := range n {
			for r := range 4 {
				copy(y[PatchFloats*(n*i+j)+4*r:][:4], x[(2*i+r)*pitch+2*j:][:4])
			}
		}
	}
}

// fold is the adjoint of patches where two rows of patches overlap. For rows + 1
// rows of n patches, it adds the lower half of each row to the upper half of the
// next: for j = 0 … n, r = 0, 1 and c = 0, 1,
//
//	y[(2·i + r)·pitch + 2·j + c] = (p[i+1, j, r, c] + p[i, j, 2+r, c]) + (p[i+1, j−1, r, 2+c] + p[i, j−1, 2+r, 2+c])
//
// with zeros for missing patches. Two more elements of each row of y may be
// overwritten: the pitch must be at least 2·n + 4.
func fold(y []float32, pitch int, p []float32, n, rows int) {
	for i := range 2 * rows {
		row := y[i*pitch:][:2*n+2]
		above := p[i/2*n*PatchFloats+8+i%2*4:]
		below := p[(i/2+1)*n*PatchFloats+i%2*4:]
		clear(row)
		for j := range n {
			up, down := below[PatchFloats*j:][:4], above[PatchFloats*j:][:4]
			row[2*j] = (up[0] + down[0]) + row[2*j]
			row[2*j+1] = (up[1] + down[1]) + row[2*j+1]
			row[2*j+2] = up[2] + down[2]
			row[2*j+3] = up[3] + down[3]
		}
	}
}
