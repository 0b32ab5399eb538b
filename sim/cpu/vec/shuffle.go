package vec

import "math"

// copyRows copies n elements per row:
//
//	y[r·yPitch + i] = x[r·xPitch + i]
func copyRows(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	for r := range rows {
		copy(y[r*yPitch:][:n], x[r*xPitch:][:n])
	}
}

// everyOther copies every other element of each row:
//
//	y[r·yPitch + i] = x[r·xPitch + 2i] for i < n
func everyOther(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	for r := range rows {
		row, from := y[r*yPitch:][:n], x[r*xPitch:]
		for i := range row {
			row[i] = from[2*i]
		}
	}
}

// nonZero reports whether an element is neither 0 nor −0.
func nonZero(x []float32) bool {
	any := uint32(0)
	for _, v := range x {
		any |= math.Float32bits(v)
	}
	return any&math.MaxInt32 != 0
}
