package elements

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

// doubleRows repeats each of n elements of rows in a block of 2×2:
//
//	y[2r·2n + i] = y[(2r+1)·2n + i] = x[r·n + ⌊i/2⌋] for i < 2n
func doubleRows(y, x []float32, rows, n int) {
	for r := range rows {
		above := y[4*r*n:][:2*n]
		for i, v := range x[r*n:][:n] {
			above[2*i], above[2*i+1] = v, v
		}
		copy(y[(4*r+2)*n:][:2*n], above)
	}
}

// maxPool keeps the largest of each 2×2 elements, n per row; a NaN is larger than any number:
//
//	y[r·n + i] = max(x[2r·2n + 2i], x[2r·2n + 2i+1], x[(2r+1)·2n + 2i], x[(2r+1)·2n + 2i+1])
func maxPool(y, x []float32, rows, n int) {
	for r := range rows {
		to, above, below := y[r*n:][:n], x[4*r*n:][:2*n], x[(4*r+2)*n:][:2*n]
		for i := range to {
			to[i] = max(above[2*i], above[2*i+1], below[2*i], below[2*i+1])
		}
	}
}

// interleaveRows puts n elements of rows of even and odd beside each other:
//
//	y[r·yPitch + 2i] = even[r·n + i], y[r·yPitch + 2i+1] = odd[r·n + i]
func interleaveRows(y []float32, yPitch int, even, odd []float32, rows, n int) {
	for r := range rows {
		to := y[r*yPitch:][:2*n]
		for i := range n {
			to[2*i], to[2*i+1] = even[r*n+i], odd[r*n+i]
		}
	}
}

// padRows copies rows of n elements between zeros:
//
//	y[r·(n+2)] = y[r·(n+2) + n+1] = 0, y[r·(n+2) + 1+i] = x[r·n + i]
func padRows(y, x []float32, rows, n int) {
	for r := range rows {
		to := y[r*(n+2):][:n+2]
		to[0], to[n+1] = 0, 0
		copy(to[1:], x[r*n:][:n])
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
