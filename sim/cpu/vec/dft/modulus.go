package dft

import "math"

// modulusStrip computes the amplitudes of rows of sixteen complex lanes, StripLanes
// floats a row, and replaces the rows by their directions z/|z| (0 where z is 0) with
// real and imaginary parts swapped, ready for an inverse transform. With add it
// accumulates the amplitudes.
func modulusStrip(add bool, rows int, z, amplitude []float32) {
	for i := range rows {
		row, to := stripAt(z, i*StripRow), amplitude[i*StripLanes:][:StripLanes]
		for l := range to {
			re, im := float64(row[l]), float64(row[StripLanes+l])
			m := math.Sqrt(re*re + im*im)
			f := 1 / m
			if m == 0 {
				f = 0
			}
			row[l], row[StripLanes+l] = float32(im*f), float32(re*f)
			if add {
				to[l] += float32(m)
			} else {
				to[l] = float32(m)
			}
		}
	}
}
