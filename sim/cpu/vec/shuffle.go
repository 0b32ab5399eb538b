package vec

import "math"

// copyRows moves n elements of each of a number of rows:
//
//	y[r·yPitch + i] = x[r·xPitch + i]
func copyRows(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	for r := range rows {
		copy(y[r*yPitch:][:n], x[r*xPitch:][:n])
	}
}

// everyOther moves every other element of each of a number of rows:
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

// nonZero tells whether an element is neither 0 nor −0.
func nonZero(x []float32) bool {
	any := uint32(0)
	for _, v := range x {
		any |= math.Float32bits(v)
	}
	return any&math.MaxInt32 != 0
}

// rowsIn fills a block from eight rows of a plane, with real and imaginary parts
// exchanged or not, from element first on:
//
//	block[i·Lanes + l] = plane[l·pitch + i]
func rowsIn(block, plane []complex64, pitch, first, n int, swap bool) {
	for l := range Lanes {
		for i, v := range plane[l*pitch:][first:n] {
			if swap {
				v = complex(imag(v), real(v))
			}
			block[(first+i)*Lanes+l] = v
		}
	}
}

// rowsOut fills eight rows of a plane from a block, from element first on:
//
//	plane[l·pitch + j] = block[index[j]·Lanes + l]
func rowsOut(plane []complex64, pitch int, block []complex64, index []int32, first int) {
	for l := range Lanes {
		row := plane[l*pitch:][:len(index)]
		for j := first; j < len(row); j++ {
			row[j] = block[int(index[j])*Lanes+l]
		}
	}
}
