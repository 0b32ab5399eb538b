// Package matrix holds products of matrices: of a vector and a matrix (dense.go), and of blocks of bfloat16 on tiles of
// AMX (tiles.go), which add into float32. Package vec says how its files are named.
package matrix

import (
	"prismtop/sim/cpu/vec/internal/plain"
	"prismtop/sim/tensor"
)

// Products of a vector and a matrix that is read once from memory.

// combine adds weighted rows of a matrix to a row:
//
//	y[j] += Σ over r of x[r] · w[r·pitch + j]
func combine(y, w []float32, pitch int, x []float32) {
	r := 0
	for ; r+3 < len(x); r += 4 {
		w0, w1 := w[r*pitch:][:len(y)], w[(r+1)*pitch:][:len(y)]
		w2, w3 := w[(r+2)*pitch:][:len(y)], w[(r+3)*pitch:][:len(y)]
		x0, x1, x2, x3 := x[r], x[r+1], x[r+2], x[r+3]
		for j, v := range y {
			v += x0 * w0[j]
			v += x1 * w1[j]
			v += x2 * w2[j]
			v += x3 * w3[j]
			y[j] = v
		}
	}
	for ; r < len(x); r++ {
		plain.Axpy(y, w[r*pitch:][:len(y)], x[r])
	}
}

// products multiplies rows of a matrix with a row:
//
//	out[r] = Σ over j of w[r·pitch + j] · x[j]
func products(out, w []float32, pitch int, x []float32) {
	clear(out)
	r, n := 0, len(x)
	for ; r+3 < len(out); r += 4 {
		plain.DotFour(x, w[r*pitch:][:n], w[(r+1)*pitch:][:n], w[(r+2)*pitch:][:n], w[(r+3)*pitch:][:n],
			(*[4]float32)(out[r:]))
	}
	for ; r < len(out); r++ {
		out[r] = plain.Dot(x, w[r*pitch:][:n])
	}
}

// combineHalves is combine with a matrix of bfloat16.
func combineHalves(y []float32, w []uint16, pitch int, x []float32) {
	row := make([]float32, len(y))
	for r := range x {
		tensor.Widen(tensor.BFloat16, row, w[r*pitch:][:len(row)])
		plain.Axpy(y, row, x[r])
	}
}

// productsHalves is products with a matrix of bfloat16.
func productsHalves(out []float32, w []uint16, pitch int, x []float32) {
	row := make([]float32, len(x))
	for r := range out {
		tensor.Widen(tensor.BFloat16, row, w[r*pitch:][:len(row)])
		out[r] = plain.Dot(x, row)
	}
}

// roundedRow rounds a row to bfloat16.
func roundedRow(row, w []float32) []float32 {
	for i := range row {
		row[i] = tensor.BF16ToF32(tensor.F32ToBF16(w[i]))
	}
	return row
}

// combineRounded is combine with a matrix rounded to bfloat16, subnormal numbers perhaps to zero.
func combineRounded(y, w []float32, pitch int, x []float32) {
	row := make([]float32, len(y))
	for r := range x {
		plain.Axpy(y, roundedRow(row, w[r*pitch:]), x[r])
	}
}

// productsRounded is products with such a matrix.
func productsRounded(out, w []float32, pitch int, x []float32) {
	row := make([]float32, len(x))
	for r := range out {
		out[r] = plain.Dot(x, roundedRow(row, w[r*pitch:]))
	}
}
