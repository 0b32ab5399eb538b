package host

import (
	"context"
	"runtime"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/telescope"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/optics"
)

// strips drives the telescope's passes for one measurement outside the plans: the
// object's rows are transformed, then each strip of columns is transformed, masked and
// transformed again, and each strip of rows goes from its transform to amplitudes before
// the next begins.
type strips struct {
	telescope.Frame // of the current measurement
	pruned          bool
	par             fft.Parallel

	field []float32   // strips of columns, of the object's rows and then of the image
	work  chan *space // one for each strip in flight

	dst, object, mask []float32
	rows, columns     [2]int   // non-zero range of the object and of the mask, in whole strips
	filled            []bool   // non-zero strips of the object's rows
	reach             [][2]int // columns of the mask in each strip of its rows

	objectBody, maskBody, rowsBody, columnsBody, imageBody func(lo, hi int)
}

// space is the work space of one strip in flight. Its column is zero outside the
// rows.
type space struct {
	*telescope.Space
	rows [2]int
}

// newStrips makes the work space for fields whose sides are transformed by lines.
func newStrips(lines *fft.Lines, par fft.Parallel) *strips {
	n := lines.Len()
	count := n / dft.StripLanes
	s := &strips{Frame: telescope.Frame{Lines: lines, N: n, Right: n}, par: par, field: lines.NewStrips(count),
		filled: make([]bool, count), reach: make([][2]int, count)}
	workers := min(runtime.NumCPU(), count)
	s.work = make(chan *space, workers)
	for range workers {
		strip := func() []float32 { return lines.NewStrips(1) }
		s.work <- &space{Space: telescope.NewSpace(strip(), strip(), strip(), strip(), nil, lines.NewScratch(),
			strip()[:n*dft.StripLanes])}
	}
	s.objectBody, s.maskBody = s.lookAtObject, s.lookAtMask
	s.rowsBody, s.columnsBody, s.imageBody = s.objectRows, s.spectrumColumns, s.imageRows
	return s
}

// bytes returns the memory of the work space.
func (s *strips) bytes() int64 {
	strip := int64(len(s.field)) / int64(len(s.filled))
	return 4 * (int64(len(s.field)) + (5*strip+int64(s.Lines.ScratchLen()))*int64(cap(s.work)))
}

// measure is Telescope.Measure.
func (s *strips) measure(ctx context.Context, dst, object, mask []float32, where optics.Support) error {
	s.dst, s.object, s.mask = dst, object, mask
	s.rows, s.columns = [2]int{0, s.N}, [2]int{0, s.N}
	if s.pruned {
		s.rows, s.columns = telescope.WholeStrips(where.Rows), telescope.WholeStrips(where.Columns)
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
		{telescope.Strips(s.rows), s.rowsBody},
		{telescope.Strips(s.columns), s.columnsBody},
		{s.N / dft.StripLanes, s.imageBody},
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

// prune finds the non-zero ranges of the object and the mask, unless they are
// known.
func (s *strips) prune() {
	if s.rows[0] >= s.rows[1] {
		s.each(len(s.filled), s.objectBody)
		s.rows = [2]int{}
		for b, filled := range s.filled {
			if filled {
				s.rows = telescope.Union(s.rows, [2]int{b * dft.StripLanes, (b + 1) * dft.StripLanes})
			}
		}
	}
	if s.columns[0] >= s.columns[1] {
		s.each(len(s.reach), s.maskBody)
		s.columns = [2]int{}
		for _, columns := range s.reach {
			s.columns = telescope.Union(s.columns, columns)
		}
	}
}

// lookAtObject examines strips [lo, hi) of the object's rows.
func (s *strips) lookAtObject(lo, hi int) {
	band := dft.StripLanes * s.N
	for b := lo; b < hi; b++ {
		s.filled[b] = elements.NonZero(s.Set, s.object[b*band:][:band])
	}
}

// lookAtMask examines strips [lo, hi) of the mask's rows.
func (s *strips) lookAtMask(lo, hi int) {
	for b := lo; b < hi; b++ {
		columns := [2]int{s.N, 0}
		for i := range dft.StripLanes {
			columns = telescope.Widen(s.Set, columns, s.mask[(b*dft.StripLanes+i)*s.N:][:s.N])
		}
		s.reach[b] = [2]int{columns[0], max(columns[0], columns[1])}
	}
}

// objectRows transforms strips [lo, hi) of the object's rows.
func (s *strips) objectRows(lo, hi int) {
	w, l := <-s.work, s.Lines.Layout()
	for b := lo; b < hi; b++ {
		row := s.rows[0] + b*dft.StripLanes
		s.ObjectRows(w.Space, s.field[l.Row(row):], s.Lines.StripLen(), s.columns, s.object, row)
	}
	s.work <- w
}

// spectrumColumns transforms strips [lo, hi) of the columns, masks them and transforms
// them again. The orthonormal factors of both transforms go with the mask.
func (s *strips) spectrumColumns(lo, hi int) {
	w, l, size := <-s.work, s.Lines.Layout(), s.Lines.StripLen()
	if w.rows != s.rows {
		clear(w.Column)
		w.rows = s.rows
	}
	for i := lo; i < hi; i++ {
		column := s.columns[0] + i*dft.StripLanes
		tile := s.field[column/dft.StripLanes*size:][:size]
		copy(w.Column[l.Row(s.rows[0]):l.Row(s.rows[1])], tile[l.Row(s.rows[0]):])
		s.Transform(w.Space, w.A, w.Column)
		s.Mask(w.A, w.A, s.mask[column:], s.N, s.Factor())
		s.TransformOver(w.Space, tile, w.A)
	}
	s.work <- w
}

// imageRows transforms strips [lo, hi) of the image's rows and writes their amplitudes,
// flipped.
func (s *strips) imageRows(lo, hi int) {
	w, l := <-s.work, s.Lines.Layout()
	for b := lo; b < hi; b++ {
		row := b * dft.StripLanes
		s.ImageRows(w.Space, w.A, s.field[l.Row(row):], s.Lines.StripLen(), s.columns)
		s.Amplitudes(w.Space, w.A, false)
		s.Flip(s.dst, w.Space, row)
	}
	s.work <- w
}
