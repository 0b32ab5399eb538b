package fft

import (
	"fmt"
	"math"
	"runtime"

	"prismtop/sim/cpu/vec"
)

// Parallel runs body over ranges that together cover [0, n) once each, on as many
// goroutines as it likes, and returns when all are done. A nil Parallel is serial.
type Parallel func(n int, body func(lo, hi int))

// Plan transforms planes of h rows and w columns, stored row by row. It is used by
// one goroutine at a time; the Parallel given to a call may use more inside it.
type Plan struct {
	h, w        int
	row, column *Lines // nil if a side is not supported by Lines
	set         vec.Set
	workspaces  chan *workspace
	all         []*workspace

	// Intermediate values of a transform with a real result: tiles holds consecutive
	// strips of columns; lines not supported by Lines leave complex values in plane. Each
	// is allocated by the first call that needs it. A complex result needs neither.
	tiles []float32
	plane []complex64

	job job

	// The parts of a transform, as values, so that a call allocates nothing.
	columnsBody, rowsBody func(lo, hi int)
}

// Bounds restricts a transform by half-open ranges: the source is zero outside
// InColumns, and the result is not needed outside OutRows, where it is set to zero.
// An empty range means all.
type Bounds struct{ InColumns, OutRows [2]int }

// job is the current call. An inverse transform is the forward one with real and
// imaginary parts swapped on the way in and out.
type job struct {
	src              []complex64
	srcReal          []float32 // the source instead of src when not nil
	dst              []complex64
	dstReal          []float32 // takes the real part of the result instead when not nil
	inverse, centred bool
	scale            float32
	bounds           Bounds
}

// MaxSide bounds the sides of a plan, so that indices fit the tables.
const MaxSide = 1 << 24

// NewPlan makes a plan for h×w planes. Sides below 1 or above MaxSide are an
// error.
func NewPlan(h, w int) (*Plan, error) {
	if h < 1 || w < 1 || h > MaxSide || w > MaxSide {
		return nil, fmt.Errorf("FFT plan of %d×%d: sides must be 1 to %d", h, w, MaxSide)
	}
	p := &Plan{h: h, w: w, set: vec.Available()[0]}
	row, errRow := NewLines(w)
	column, errColumn := NewLines(h)
	if errRow == nil && errColumn == nil {
		p.row, p.column = row, column
		if h == w {
			p.column = row
		}
	}
	// One work space per strip that can be in flight; further strips wait for
	// one.
	n := min(runtime.NumCPU(), max(blocks(h), blocks(w)))
	p.workspaces = make(chan *workspace, n)
	for range n {
		ws := p.newWorkspace()
		p.all = append(p.all, ws)
		p.workspaces <- ws
	}
	p.columnsBody, p.rowsBody = p.columns, p.rows
	return p, nil
}

// SetKernels chooses the instruction set of subsequent calls. The default is the
// fastest available.
func (p *Plan) SetKernels(set vec.Set) { p.set = set }

// Size returns the number of rows and columns of the planes that p transforms.
func (p *Plan) Size() (h, w int) { return p.h, p.w }

// Lines returns the tables for the rows and the columns; nil if a side is not a
// power of two they support.
func (p *Plan) Lines() (rows, columns *Lines) { return p.row, p.column }

// Bytes returns the memory of the tables and work space.
func (p *Plan) Bytes() int64 {
	n := 4*int64(len(p.tiles)) + 8*int64(len(p.plane))
	if p.row != nil {
		n += p.row.bytes()
		if p.column != p.row {
			n += p.column.bytes()
		}
	}
	for _, ws := range p.all {
		n += ws.bytes()
	}
	return n
}

// Rebuild recomputes all tables in place: the work that keeping a plan saves.
// Transforms give bit-identical results before and after.
func (p *Plan) Rebuild() {
	if p.row != nil {
		p.row.rebuild()
		if p.column != p.row {
			p.column.rebuild()
		}
	}
	for _, ws := range p.all {
		ws.rebuild()
	}
}

// Forward writes the un-normalised transform of src to dst. Both are h×w planes and
// may be the same; they must not overlap otherwise. It panics on wrong lengths.
func (p *Plan) Forward(dst, src []complex64, par Parallel) {
	p.run(job{dst: dst, src: src, scale: 1}, par)
}

// Inverse writes the un-normalised inverse transform of src to dst: Inverse after
// Forward multiplies by h·w. The same rules as Forward's hold.
func (p *Plan) Inverse(dst, src []complex64, par Parallel) {
	p.run(job{dst: dst, src: src, scale: 1, inverse: true}, par)
}

// CentredForward writes fftshift(fft2(ifftshift(src)))/√(h·w) to dst (spec/prism.md
// §2.2). The same rules as Forward's hold.
func (p *Plan) CentredForward(dst, src []complex64, b Bounds, par Parallel) {
	p.run(job{dst: dst, src: src, scale: p.ortho(), centred: true, bounds: b}, par)
}

// CentredInverse is both the inverse and the adjoint of CentredForward.
func (p *Plan) CentredInverse(dst, src []complex64, b Bounds, par Parallel) {
	p.run(job{dst: dst, src: src, scale: p.ortho(), inverse: true, centred: true, bounds: b}, par)
}

// CentredForwardReal is CentredForward of a real plane.
func (p *Plan) CentredForwardReal(dst []complex64, src []float32, b Bounds, par Parallel) {
	p.run(job{dst: dst, srcReal: src, scale: p.ortho(), centred: true, bounds: b}, par)
}

// CentredInverseReal is the real part of CentredInverse: the adjoint of
// CentredForwardReal.
func (p *Plan) CentredInverseReal(dst []float32, src []complex64, b Bounds, par Parallel) {
	p.run(job{dstReal: dst, src: src, scale: p.ortho(), inverse: true, centred: true, bounds: b}, par)
}

func (p *Plan) ortho() float32 {
	return float32(1 / math.Sqrt(float64(p.h)*float64(p.w)))
}

func (p *Plan) run(j job, par Parallel) {
	if n := p.h * p.w; len(j.dst)+len(j.dstReal) != n || len(j.src)+len(j.srcReal) != n {
		panic(fmt.Sprintf("fft: plan of %d×%d got %d elements for %d",
			p.h, p.w, len(j.src)+len(j.srcReal), len(j.dst)+len(j.dstReal)))
	}
	p.makeRoom(&j)
	j.bounds.InColumns = whole(j.bounds.InColumns, p.w)
	j.bounds.OutRows = whole(j.bounds.OutRows, p.h)
	p.job = j
	par.do((blocks(p.w)+bunch-1)/bunch, p.columnsBody)
	par.do(blocks(p.h), p.rowsBody)
	p.job = job{}
}

// makeRoom allocates the buffers for the first call of a kind.
func (p *Plan) makeRoom(j *job) {
	switch {
	case p.row != nil && j.dstReal != nil && p.tiles == nil:
		p.tiles = aligned(blocks(p.w) * p.column.StripLen())
	case p.row == nil && j.dstReal != nil:
		if p.plane == nil {
			p.plane = make([]complex64, p.h*p.w)
		}
		j.dst = p.plane
	}
}

func (par Parallel) do(n int, body func(lo, hi int)) {
	if par == nil {
		body(0, n)
		return
	}
	par(n, body)
}

// whole returns the range, or all of n if it is empty.
func whole(r [2]int, n int) [2]int {
	if r[0] >= r[1] {
		return [2]int{0, n}
	}
	return r
}

// blocks returns the number of strips for n rows or columns.
func blocks(n int) int { return (n + lanes - 1) / lanes }
