package dft

import "math"

// lossStrip compares the amplitudes of rows of sixteen complex lanes with a target,
// StripLanes floats a row, and replaces them by the loss's gradient, without its
// factor and with real and imaginary parts swapped, ready for an inverse transform.
// With m = |z| and d = m − target it computes
//
//	absolute: sums += |d|, |target|;  z = sign(d)·z/m
//	squares:  sums += d², target²;    z = d·z/m
//
// and 0 where z is 0. The first StripLanes sums are those of the differences, by
// lane.
func lossStrip(absolute bool, rows int, z, target []float32, sums *[StripRow]float32) {
	for i := range rows {
		row, t := stripAt(z, i*StripRow), target[i*StripLanes:][:StripLanes]
		for l, want := range t {
			re, im := float64(row[l]), float64(row[StripLanes+l])
			m := math.Sqrt(re*re + im*im)
			d := float32(m) - want
			f := 0.0
			if absolute {
				sums[l] += float32(math.Abs(float64(d)))
				sums[StripLanes+l] += float32(math.Abs(float64(want)))
				if d != 0 {
					f = math.Copysign(1, float64(d))
				}
			} else {
				sums[l] += d * d
				sums[StripLanes+l] += want * want
				f = float64(d)
			}
			if f /= m; m == 0 {
				f = 0
			}
			row[l], row[StripLanes+l] = float32(im*f), float32(re*f)
		}
	}
}
