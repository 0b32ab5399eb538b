package optics

import "slices"

// Window is a square part of a field: rows Top to Top+Size, columns likewise.
type Window struct{ Top, Left, Size int }

// ObjectWindow returns the window of an object of s pixels in a field of n: as
// placed by padding, (n−s)/2 pixels, rounded down, from the first row
// (spec/prism.md §1.4).
func ObjectWindow(n, s int) Window {
	top := (n - s) / 2
	return Window{top, top, min(s, n)}
}

// PRISMWindow returns the window that PRISM crops for its metrics: one pixel later
// than the object's and clipped at the border, so that it misses the object's
// first row and column (spec/prism.md §1.4, §6).
func PRISMWindow(n, s int) Window {
	top := (n-s)/2 + 1
	return Window{top, top, min(s, n-top)}
}

// FilledRows returns the smallest range of rows outside which an n×n plane is
// zero.
func FilledRows(plane []float32, n int) (rows [2]int) {
	nonZero := func(v float32) bool { return v != 0 }
	for i := range n {
		if !slices.ContainsFunc(plane[i*n:][:n], nonZero) {
			continue
		}
		if rows[1] == 0 {
			rows[0] = i
		}
		rows[1] = i + 1
	}
	return rows
}

// Crop copies the window of an n×n plane to dst, which has Size² elements.
func (w Window) Crop(dst, plane []float32, n int) { w.CropRows(dst, plane, n, 0, w.Size) }

// CropRows is Crop for rows [lo, hi) of the window.
func (w Window) CropRows(dst, plane []float32, n, lo, hi int) {
	for i := lo; i < hi; i++ {
		copy(dst[i*w.Size:(i+1)*w.Size], plane[(w.Top+i)*n+w.Left:])
	}
}
