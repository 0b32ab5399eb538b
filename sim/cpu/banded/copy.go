package banded

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
)

// A Window is a part of a plane of Height×Width elements: Rows×Columns of them, the first at Top, Left. It may reach
// beyond the plane, where it has zeros.
type Window struct {
	Height, Width int
	Top, Left     int
	Rows, Columns int
}

// CopyPairs copies pairs of bfloat16 of two planes, row by row.
func (w *Window) CopyPairs(set vec.Set, dst []float32, even, odd []uint16) {
	top, bottom := within(w.Top, w.Rows, w.Height)
	left, right := within(w.Left, w.Columns, w.Width)
	pitch := w.Columns
	clear(dst[:top*pitch])
	clear(dst[bottom*pitch : w.Rows*pitch])
	for at := top * pitch; at < bottom*pitch; at += pitch {
		row := dst[at : at+pitch]
		for i := range left { // a few, for which calling clear's kernel takes longer
			row[i] = 0
		}
		for i := right; i < pitch; i++ {
			row[i] = 0
		}
	}
	if top < bottom && left < right {
		from := (w.Top+top)*w.Width + w.Left + left
		half.PairRows(set, dst[top*pitch+left:], pitch, even[from:], odd[from:], w.Width, bottom-top, right-left)
	}
}

// within returns the range of n positions from first on that lie in [0, size), as positions from first.
func within(first, n, size int) (lo, hi int) {
	lo = min(max(0, -first), n)
	return lo, max(lo, min(n, size-first))
}
