// Package telescope holds the passes of the telescope over strips of dft.StripLanes rows
// or columns:
//
//	object's rows → spectrum's columns, masked → image's rows → amplitudes, flipped
//
// (spec/prism.md §2.2). The caller, a step of a plan or a measurement outside the plans,
// keeps the fields between two passes and spreads the strips over threads. Fields are
// squares of a power of two.
package telescope

import (
	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/elements"
)

// Frame is a field of N×N and the window outside which the object is zero: rows Top to
// Bottom and columns Left to Right, whole strips.
type Frame struct {
	Set                      vec.Set
	Lines                    *fft.Lines // of N elements
	N                        int
	Top, Bottom, Left, Right int
}

// Space is the work space of one strip in flight: strips of Frame.Lines, except
// Amplitudes, which has N rows of dft.StripLanes. Mostly zero strips keep their zeros:
// Object and Column outside the window, line outside the columns it last held.
type Space struct {
	Object, Column, A, B, Amplitudes []float32

	line, scratch []float32
	columns       [2]int
}

// NewSpace makes a work space of zeroed strips.
func NewSpace(object, column, line, a, b, scratch, amplitudes []float32) *Space {
	return &Space{Object: object, Column: column, A: a, B: b, scratch: scratch, Amplitudes: amplitudes, line: line}
}

// Strips returns the number of strips in a range of rows or columns.
func Strips(r [2]int) int { return (r[1] - r[0]) / dft.StripLanes }

// WholeStrips returns the smallest range of whole strips that contains r.
func WholeStrips(r [2]int) [2]int {
	return [2]int{r[0] / dft.StripLanes * dft.StripLanes, (r[1] + dft.StripLanes - 1) / dft.StripLanes * dft.StripLanes}
}

// Union returns the smallest range that contains both; empty ranges are ignored.
func Union(a, b [2]int) [2]int {
	switch {
	case a[0] >= a[1]:
		return b
	case b[0] >= b[1]:
		return a
	}
	return [2]int{min(a[0], b[0]), max(a[1], b[1])}
}

// Widen extends columns by the non-zero columns of a mask's row, in whole strips. The
// first call starts with the columns {len(row), 0}.
func Widen(set vec.Set, columns [2]int, row []float32) [2]int {
	if !elements.NonZero(set, row) {
		return columns
	}
	for columns[0] > 0 && elements.NonZero(set, row[:columns[0]]) {
		columns[0] -= dft.StripLanes
	}
	for columns[1] < len(row) && elements.NonZero(set, row[columns[1]:]) {
		columns[1] += dft.StripLanes
	}
	return columns
}

// Transform computes the centred transform of a strip's lines, unscaled.
func (f *Frame) Transform(w *Space, to, from []float32) {
	l := f.Lines.Layout()
	f.Lines.Transform(f.Set, to, l, from, l, w.scratch, true)
}

// TransformOver is Transform, but overwrites the lines that it reads.
func (f *Frame) TransformOver(w *Space, to, from []float32) {
	f.Lines.TransformOver(f.Set, to, f.Lines.Layout(), from, w.scratch, true)
}

// Factor returns the orthonormal factor of both transforms, before and after the
// mask.
func (f *Frame) Factor() float32 { return 1 / (float32(f.N) * float32(f.N)) }

// ObjectRows transforms the strip of the object's rows from row on, and transposes it
// into the columns of strips that are run floats apart, starting at its place in the
// first.
func (f *Frame) ObjectRows(w *Space, to []float32, run int, columns [2]int, object []float32, row int) {
	l := f.Lines.Layout()
	for at := f.Left; at < f.Right; {
		next := min(f.Right, (at/64+1)*64)
		dft.TransposeSquares(f.Set, (next-at)/dft.StripLanes, w.Object, l.Row(at), dft.StripRow,
			dft.StripLanes*dft.StripRow,
			object, row*f.N+at, f.N, dft.StripLanes)
		at = next
	}
	f.Transform(w, w.A, w.Object)
	f.Lines.TurnBack(f.Set, to, run, w.A, columns)
}

// Mask computes to = factor·mask·from for a strip of columns. The mask starts at the
// strip's first element; its rows are pitch apart. to may be from.
func (f *Frame) Mask(to, from, mask []float32, pitch int, factor float32) {
	l := f.Lines.Layout()
	for i := 0; i < f.N; i += 64 {
		dft.MaskStrip(f.Set, min(64, f.N-i), to[l.Row(i):], dft.StripRow, from[l.Row(i):], dft.StripRow, mask[i*pitch:],
			pitch, factor)
	}
}

// MaskAdd is Mask, but adds to the destination.
func (f *Frame) MaskAdd(to, from, mask []float32, pitch int, factor float32) {
	l := f.Lines.Layout()
	for i := 0; i < f.N; i += 64 {
		dft.MaskStripAdd(f.Set, min(64, f.N-i), to[l.Row(i):], dft.StripRow, from[l.Row(i):], dft.StripRow,
			mask[i*pitch:], pitch, factor)
	}
}

// line returns the space's strip for lines that are zero outside the columns.
func (f *Frame) line(w *Space, columns [2]int) []float32 {
	if w.columns != columns {
		clear(w.line)
		w.columns = columns
	}
	return w.line
}

// ImageRows transposes the columns of strips that are run floats apart into a strip of
// rows, starting at its place in the first, and transforms the rows.
func (f *Frame) ImageRows(w *Space, to, field []float32, run int, columns [2]int) {
	line := f.line(w, columns)
	f.Lines.Turn(f.Set, line, field, run, columns)
	f.Transform(w, to, line)
}

// Amplitudes writes the moduli of a strip of the image's rows to the space's amplitudes,
// or adds them to those.
func (f *Frame) Amplitudes(w *Space, z []float32, add bool) {
	l := f.Lines.Layout()
	for i := 0; i < f.N; i += 64 {
		dft.ModulusStrip(f.Set, add, min(64, f.N-i), z[l.Row(i):], w.Amplitudes[i*dft.StripLanes:])
	}
}

// Flip writes the space's amplitudes, of the strip of the image's rows from row on, to
// the plane, flipped as the telescope does.
func (f *Frame) Flip(plane []float32, w *Space, row int) {
	dft.TransposeSquares(f.Set, f.N/dft.StripLanes, plane, (f.N-1-row)*f.N, -f.N, dft.StripLanes,
		w.Amplitudes, (f.N-1)*dft.StripLanes, -dft.StripLanes, -dft.StripLanes*dft.StripLanes)
}

// Unflip is the inverse of Flip: it reads the strip of the image's rows from row on, of
// a plane flipped by the telescope, into the space's amplitudes.
func (f *Frame) Unflip(w *Space, plane []float32, row int) {
	dft.TransposeSquares(f.Set, f.N/dft.StripLanes, w.Amplitudes, (f.N-1)*dft.StripLanes, -dft.StripLanes,
		-dft.StripLanes*dft.StripLanes,
		plane, (f.N-1-row)*f.N, -f.N, dft.StripLanes)
}
