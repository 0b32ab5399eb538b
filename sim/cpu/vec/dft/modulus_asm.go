package dft

import "prismtop/sim/cpu/vec"

// ModulusStrip computes amplitudes and directions of complex rows; see
// modulusStrip.
func ModulusStrip(s vec.Set, add bool, rows int, z, amplitude []float32) {
	if s == vec.Go || rows <= 0 {
		modulusStrip(add, rows, z, amplitude)
		return
	}
	x, y := &z[:rows*StripRow][0], &amplitude[:rows*StripLanes][0]
	switch {
	case s == vec.AVX512 && add:
		modulusStripAddAVX512(rows, x, y)
	case s == vec.AVX512:
		modulusStripAVX512(rows, x, y)
	case add:
		modulusStripAddAVX2(rows, x, y)
	default:
		modulusStripAVX2(rows, x, y)
	}
}
