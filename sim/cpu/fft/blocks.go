package fft

import (
	"unsafe"

	"gonum.org/v1/gonum/dsp/fourier"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/elements"
)

// lanes is the number of rows or columns that a strip transforms together.
const lanes = dft.StripLanes

// bunch is the number of strips of columns read together: the processor prefetches
// adjacent whole cache lines of each row.
const bunch = 4

// workspace is the scratch of one strip in flight: strips of lanes, or a sequence
// and gonum's transforms of it.
type workspace struct {
	strips        [bunch][]float32 // columns being loaded
	scratch, band []float32        // band: a strip's lines as rows
	sequence      []complex128
	any           [2]*fourier.CmplxFFT // along a row, along a column
}

func (p *Plan) newWorkspace() *workspace {
	if p.row != nil {
		n := max(p.row.StripLen(), p.column.StripLen())
		ws := &workspace{scratch: aligned(max(p.row.ScratchLen(), p.column.ScratchLen())),
			band: aligned(lanes * p.bandPitch())}
		for i := range ws.strips {
			ws.strips[i] = aligned(n)
		}
		return ws
	}
	ws := &workspace{sequence: make([]complex128, max(p.h, p.w))}
	ws.any = [2]*fourier.CmplxFFT{fourier.NewCmplxFFT(p.w), nil}
	if ws.any[1] = ws.any[0]; p.h != p.w {
		ws.any[1] = fourier.NewCmplxFFT(p.h)
	}
	return ws
}

// aligned returns n floats aligned to a cache line.
func aligned(n int) []float32 {
	const line = 64
	x := make([]float32, n+line/4)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%line) / 4
	return x[skip : skip+n : skip+n]
}

func (ws *workspace) rebuild() {
	for _, t := range ws.any {
		if t != nil {
			t.Reset(t.Len())
		}
	}
}

func (ws *workspace) bytes() int64 {
	n := 4*int64(bunch*len(ws.strips[0])+len(ws.scratch)+len(ws.band)) + 16*int64(len(ws.sequence))
	for i, t := range ws.any {
		if t != nil && (i == 0 || t != ws.any[0]) {
			n += 6 * 8 * int64(t.Len()) // gonum's tables and scratch: 6n float64
		}
	}
	return n
}

// columns transforms the columns of bunches [lo, hi) of strips of the source, see
// between.
func (p *Plan) columns(lo, hi int) {
	ws := <-p.workspaces
	defer func() { p.workspaces <- ws }()
	if p.column == nil {
		p.anyColumns(ws, lo*bunch*lanes, min(hi*bunch*lanes, p.w))
		return
	}
	for b := lo; b < hi; b++ {
		first, count := b*bunch, min(bunch, blocks(p.w)-b*bunch)
		if !p.zeroColumns(first, count) {
			p.loadColumns(ws, first, count)
		}
		for i := range count {
			if p.zeroColumns(first+i, 1) {
				p.clearBetween(first + i)
				continue
			}
			to, layout := p.between(first + i)
			p.column.TransformOver(p.set, to, layout, ws.strips[i], ws.scratch, p.job.centred)
		}
	}
}

// between returns the memory of strip b of the columns between the two halves of a
// transform, and its layout. A complex result has room for it: sixteen complex values
// take as much space as a row of lanes, and a plane larger than the caches is then
// written and read in one place instead of two. For a real result tiles are used.
func (p *Plan) between(b int) ([]float32, Layout) {
	if p.job.dstReal != nil {
		n := p.column.StripLen()
		return p.tiles[b*n:][:n], p.column.layout
	}
	return p.result()[b*dft.StripRow:], Layout{Pitch: 2 * p.w}
}

// result returns the complex result as floats.
func (p *Plan) result() []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(p.job.dst))), 2*len(p.job.dst))
}

// clearBetween makes strip b of the columns zero.
func (p *Plan) clearBetween(b int) {
	strip, layout := p.between(b)
	for i := range p.h {
		clear(strip[layout.Row(i):][:dft.StripRow])
	}
}

// turnRows fills a strip with sixteen intermediate rows from first on.
func (p *Plan) turnRows(strip []float32, first int) {
	all := [2]int{0, p.w}
	if p.job.dstReal != nil {
		p.row.Turn(p.set, strip, p.tiles[p.column.layout.Row(first):], p.column.StripLen(), all)
		return
	}
	p.row.turn(p.set, strip, p.result()[first*2*p.w:], 2*p.w, dft.StripRow, all)
}

// zeroColumns reports whether the source is known to be zero in count strips.
func (p *Plan) zeroColumns(first, count int) bool {
	in := p.job.bounds.InColumns
	return (first+count)*lanes <= in[0] || first*lanes >= in[1]
}

// swapped returns the offsets of a strip's real and imaginary parts: the inverse
// transform is the forward one with the parts swapped.
func (p *Plan) swapped() (re, im int) {
	if p.job.inverse {
		return lanes, 0
	}
	return 0, lanes
}

// loadColumns fills count strips with sixteen columns each.
func (p *Plan) loadColumns(ws *workspace, first, count int) {
	re, im := p.swapped()
	layout := p.column.layout
	for i := 0; i < p.h; i += 64 {
		rows := min(64, p.h-i)
		for b := range count {
			to, column := ws.strips[b][layout.Row(i):], (first+b)*lanes
			if p.job.srcReal == nil {
				dft.SplitRows(p.set, rows, to, re, im, dft.StripRow, p.job.src[i*p.w+column:], p.w)
				continue
			}
			for r := range rows {
				*(*[lanes]float32)(to[r*dft.StripRow+re:]) = *(*[lanes]float32)(p.job.srcReal[(i+r)*p.w+column:])
				*(*[lanes]float32)(to[r*dft.StripRow+im:]) = [lanes]float32{}
			}
		}
	}
}

// rows transforms the rows of strips [lo, hi) into the result, scaled.
func (p *Plan) rows(lo, hi int) {
	ws := <-p.workspaces
	defer func() { p.workspaces <- ws }()
	if p.row == nil {
		p.anyRows(ws, lo*lanes, min(hi*lanes, p.h))
		return
	}
	for b := lo; b < hi; b++ {
		first := b * lanes
		if first+lanes <= p.job.bounds.OutRows[0] || first >= p.job.bounds.OutRows[1] {
			p.clearRows(first, lanes)
			continue
		}
		strip := ws.strips[0]
		p.turnRows(strip, first)
		p.row.Transform(p.set, strip, p.row.layout, strip, p.row.layout, ws.scratch, p.job.centred)
		p.storeRows(ws, first)
	}
}

// Turn fills a range of elements of a strip's lines from tiles: sixteen rows of each
// of the consecutive strips of columns, which are a fixed distance apart. The ends
// of the range are multiples of sixteen.
func (l *Lines) Turn(set vec.Set, strip, tiles []float32, distance int, columns [2]int) {
	l.turn(set, strip, tiles, dft.StripRow, distance, columns)
}

// turn is Turn with rows of lanes pitch apart in a strip of columns.
func (l *Lines) turn(set vec.Set, strip, tiles []float32, pitch, distance int, columns [2]int) {
	for at := columns[0]; at < columns[1]; {
		squares := l.run(at, columns[1])
		for part := 0; part < dft.StripRow; part += lanes {
			dft.TransposeSquares(set, squares, strip, l.layout.Row(at)+part, dft.StripRow, lanes*dft.StripRow,
				tiles, at/lanes*distance+part, pitch, distance)
		}
		at += squares * lanes
	}
}

// TurnBack is the inverse of Turn.
func (l *Lines) TurnBack(set vec.Set, tiles []float32, distance int, strip []float32, columns [2]int) {
	for at := columns[0]; at < columns[1]; {
		squares := l.run(at, columns[1])
		for part := 0; part < dft.StripRow; part += lanes {
			dft.TransposeSquares(set, squares, tiles, at/lanes*distance+part, dft.StripRow, distance,
				strip, l.layout.Row(at)+part, dft.StripRow, lanes*dft.StripRow)
		}
		at += squares * lanes
	}
}

// run returns the number of squares from element at on that are equally spaced in a
// strip.
func (l *Lines) run(at, end int) int { return (min(end, (at/64+1)*64) - at) / lanes }

// bandPitch is the distance between a band's rows, chosen so that they do not
// conflict in the first-level cache.
func (p *Plan) bandPitch() int { return 2*p.w + dft.StripRow }

func (p *Plan) clearRows(first, count int) {
	if p.job.dstReal != nil {
		clear(p.job.dstReal[first*p.w:][:count*p.w])
	} else {
		clear(p.job.dst[first*p.w:][:count*p.w])
	}
}

// storeRows writes the first strip's lines to the result as complex or real numbers.
func (p *Plan) storeRows(ws *workspace, first int) {
	re, im := p.swapped()
	strip := ws.strips[0]
	if p.job.dstReal != nil {
		to := p.job.dstReal[first*p.w:][:lanes*p.w]
		for at := 0; at < p.w; {
			squares := p.row.run(at, p.w)
			dft.TransposeSquares(p.set, squares, to, at, p.w, lanes, strip, p.row.layout.Row(at)+re, dft.StripRow,
				lanes*dft.StripRow)
			at += squares * lanes
		}
		elements.Scale(p.set, to, to, p.job.scale)
		return
	}
	pitch := p.bandPitch()
	for at := 0; at < p.w; {
		squares := p.row.run(at, p.w)
		for part := 0; part < dft.StripRow; part += lanes {
			dft.TransposeSquares(p.set, squares, ws.band, 2*at+part, pitch, dft.StripRow,
				strip, p.row.layout.Row(at)+part, dft.StripRow, lanes*dft.StripRow)
		}
		at += squares * lanes
	}
	for r := range lanes {
		dft.JoinRows(p.set, p.w/lanes, p.job.dst[(first+r)*p.w:][:p.w], lanes, ws.band[r*pitch:][:2*p.w], re, im,
			dft.StripRow, p.job.scale)
	}
}
