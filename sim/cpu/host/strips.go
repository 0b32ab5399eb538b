package host

import (
	"context"
	"runtime"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/optics"
)

// strips measures vec.StripLanes rows or columns at a time: the object's rows are
// transformed, then each strip of columns is transformed, masked and transformed
// again, and each strip of rows goes from its transform to amplitudes before the next
// begins. Fields are squares of a power of two.
type strips struct {
	n      int
	pruned bool
	set    vec.Set
	lines  *fft.Lines // of the measurement in progress
	par    fft.Parallel

	field []float32         // strips of columns, of the object's rows and then of the image
	work  chan *stripsSpace // one for each strip in flight

	dst, object, mask []float32
	rows, columns     [2]int   // where the object, and the mask, are not zero: whole strips
	filled            []bool   // strips of the object's rows that are not zero
	reach             [][2]int // columns of the mask in each strip of its rows

	objectBody, maskBody, rowsBody, columnsBody, imageBody func(lo, hi int)
}

// stripsSpace is what one strip in flight works in. Strips that are mostly zero keep
// their zeros: the imaginary parts of object, column outside rows, line outside columns.
type stripsSpace struct {
	object, column, line, a, scratch, amplitudes []float32
	rows, columns                                [2]int // of column and line
}

// newStrips makes the work space for fields that the lines are the sides of.
func newStrips(lines *fft.Lines, par fft.Parallel) *strips {
	n := lines.Len()
	count := n / vec.StripLanes
	s := &strips{n: n, par: par, field: lines.NewStrips(count), filled: make([]bool, count), reach: make([][2]int, count)}
	workers := min(runtime.NumCPU(), count)
	s.work = make(chan *stripsSpace, workers)
	for range workers {
		s.work <- &stripsSpace{
			object: lines.NewStrips(1), column: lines.NewStrips(1), line: lines.NewStrips(1),
			a: lines.NewStrips(1), scratch: lines.NewStrips(1), amplitudes: lines.NewStrips(1)[:n*vec.StripLanes],
		}
	}
	s.objectBody, s.maskBody = s.lookAtObject, s.lookAtMask
	s.rowsBody, s.columnsBody, s.imageBody = s.objectRows, s.spectrumColumns, s.imageRows
	return s
}

// bytes is the memory of the work space.
func (s *strips) bytes() int64 {
	strip := int64(len(s.field)) / int64(len(s.filled))
	return 4 * (int64(len(s.field)) + 6*strip*int64(cap(s.work)))
}

// measure is Telescope.Measure.
func (s *strips) measure(ctx context.Context, dst, object, mask []float32, where optics.Support) error {
	s.dst, s.object, s.mask = dst, object, mask
	s.rows, s.columns = [2]int{0, s.n}, [2]int{0, s.n}
	if s.pruned {
		s.rows, s.columns = wholeStrips(where.Rows), wholeStrips(where.Columns)
		s.prune()
	}
	if s.rows[0] == s.rows[1] || s.columns[0] == s.columns[1] {
		clear(dst)
		return ctx.Err()
	}
	for _, pass := range [...]struct {
		strips int
		body   func(lo, hi int)
	}{
		{(s.rows[1] - s.rows[0]) / vec.StripLanes, s.rowsBody},
		{(s.columns[1] - s.columns[0]) / vec.StripLanes, s.columnsBody},
		{s.n / vec.StripLanes, s.imageBody},
	} {
		s.each(pass.strips, pass.body)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (s *strips) each(count int, body func(lo, hi int)) {
	if s.par == nil {
		body(0, count)
		return
	}
	s.par(count, body)
}

// prune finds where the object and the mask are not zero, if that is not known.
func (s *strips) prune() {
	if s.rows[0] >= s.rows[1] {
		s.each(len(s.filled), s.objectBody)
		s.rows = [2]int{}
		for b, filled := range s.filled {
			if filled {
				s.rows = union(s.rows, [2]int{b * vec.StripLanes, (b + 1) * vec.StripLanes})
			}
		}
	}
	if s.columns[0] >= s.columns[1] {
		s.each(len(s.reach), s.maskBody)
		s.columns = [2]int{}
		for _, columns := range s.reach {
			s.columns = union(s.columns, columns)
		}
	}
}

// wholeStrips is the least range of whole strips that holds r.
func wholeStrips(r [2]int) [2]int {
	return [2]int{r[0] / vec.StripLanes * vec.StripLanes, (r[1] + vec.StripLanes - 1) / vec.StripLanes * vec.StripLanes}
}

// union is the least range that holds both, of which an empty one is nothing.
func union(a, b [2]int) [2]int {
	switch {
	case a[0] >= a[1]:
		return b
	case b[0] >= b[1]:
		return a
	}
	return [2]int{min(a[0], b[0]), max(a[1], b[1])}
}

// lookAtObject examines strips [lo, hi) of the object's rows.
func (s *strips) lookAtObject(lo, hi int) {
	band := vec.StripLanes * s.n
	for b := lo; b < hi; b++ {
		s.filled[b] = s.set.NonZero(s.object[b*band:][:band])
	}
}

// lookAtMask examines strips [lo, hi) of the mask's rows.
func (s *strips) lookAtMask(lo, hi int) {
	for b := lo; b < hi; b++ {
		first, end := s.n, 0
		for i := range vec.StripLanes {
			row := s.mask[(b*vec.StripLanes+i)*s.n:][:s.n]
			if !s.set.NonZero(row) {
				continue
			}
			for first > 0 && s.set.NonZero(row[:first]) {
				first -= vec.StripLanes
			}
			for end < s.n && s.set.NonZero(row[end:]) {
				end += vec.StripLanes
			}
		}
		s.reach[b] = [2]int{first, max(first, end)}
	}
}

// objectRows transforms strips [lo, hi) of the object's rows.
func (s *strips) objectRows(lo, hi int) {
	w, l := <-s.work, s.lines.Layout()
	for b := lo; b < hi; b++ {
		row := s.rows[0] + b*vec.StripLanes
		for at := 0; at < s.n; at += 64 {
			s.set.TransposeSquares(min(64, s.n-at)/vec.StripLanes, w.object, l.Row(at), vec.StripRow, vec.StripLanes*vec.StripRow,
				s.object, row*s.n+at, s.n, vec.StripLanes)
		}
		s.lines.Transform(s.set, w.a, l, w.object, l, w.scratch, true)
		s.lines.TurnBack(s.set, s.field[l.Row(row):], s.lines.StripLen(), w.a, s.columns)
	}
	s.work <- w
}

// spectrumColumns transforms strips [lo, hi) of the columns, masks them and transforms
// them again. The orthonormal factors of both transforms go with the mask.
func (s *strips) spectrumColumns(lo, hi int) {
	w, l, size := <-s.work, s.lines.Layout(), s.lines.StripLen()
	if w.rows != s.rows {
		clear(w.column)
		w.rows = s.rows
	}
	factor := 1 / (float32(s.n) * float32(s.n))
	for i := lo; i < hi; i++ {
		column := s.columns[0] + i*vec.StripLanes
		tile := s.field[column/vec.StripLanes*size:][:size]
		copy(w.column[l.Row(s.rows[0]):l.Row(s.rows[1])], tile[l.Row(s.rows[0]):])
		s.lines.Transform(s.set, w.a, l, w.column, l, w.scratch, true)
		for at := 0; at < s.n; at += 64 {
			run := w.a[l.Row(at):]
			s.set.MaskStrip(min(64, s.n-at), run, vec.StripRow, run, vec.StripRow, s.mask[at*s.n+column:], s.n, factor)
		}
		s.lines.Transform(s.set, tile, l, w.a, l, w.scratch, true)
	}
	s.work <- w
}

// imageRows transforms strips [lo, hi) of the image's rows and writes their amplitudes,
// which the telescope flips.
func (s *strips) imageRows(lo, hi int) {
	w, l := <-s.work, s.lines.Layout()
	if w.columns != s.columns {
		clear(w.line)
		w.columns = s.columns
	}
	for b := lo; b < hi; b++ {
		row := b * vec.StripLanes
		s.lines.Turn(s.set, w.line, s.field[l.Row(row):], s.lines.StripLen(), s.columns)
		s.lines.Transform(s.set, w.a, l, w.line, l, w.scratch, true)
		for at := 0; at < s.n; at += 64 {
			s.set.ModulusStrip(false, min(64, s.n-at), w.a[l.Row(at):], w.amplitudes[at*vec.StripLanes:])
		}
		s.set.TransposeSquares(s.n/vec.StripLanes, s.dst, (s.n-1-row)*s.n, -s.n, vec.StripLanes,
			w.amplitudes, (s.n-1)*vec.StripLanes, -vec.StripLanes, -vec.StripLanes*vec.StripLanes)
	}
	s.work <- w
}
