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
	row, column *axis // along a row: w elements; along a column: h elements
	workspaces  chan *workspace
	all         []*workspace

	// plane holds the rows' transform where the result is real; the first call
	// that needs it makes it.
	plane []complex64

	job job

	// The parts of a transform, as values, so that a call allocates nothing.
	rowsBody, columnsBody, hermitianBody, mirrorBody, pairedBody func(lo, hi int)
}

// job is the call in progress. An inverse transform is the forward one with real
// and imaginary parts swapped on the way in and out.
type job struct {
	src     []complex64
	srcReal []float32 // the source instead of src when not nil
	dst     []complex64
	dstReal []float32 // takes the real part of the result when not nil; dst is scratch then
	inverse bool
	scale   float32

	rowLoad, rowStore, rowUnload, columnLoad, columnStore []int32
}

// MaxSide bounds the sides of a plan, so that indices fit the tables.
const MaxSide = 1 << 24

// NewPlan makes a plan for h×w planes. Sides below 1 or above MaxSide are an
// error.
func NewPlan(h, w int) (*Plan, error) {
	if h < 1 || w < 1 || h > MaxSide || w > MaxSide {
		return nil, fmt.Errorf("FFT plan of %d×%d: sides must be 1 to %d", h, w, MaxSide)
	}
	p := &Plan{h: h, w: w, row: newAxis(w)}
	p.column = p.row
	if h != w {
		p.column = newAxis(h)
	}
	// One work space per block that can be in flight; a block that finds none
	// waits for one.
	n := min(runtime.NumCPU(), max(blocks(h), blocks(w)))
	p.workspaces = make(chan *workspace, n)
	for range n {
		ws := newWorkspace(p.row, p.column)
		p.all = append(p.all, ws)
		p.workspaces <- ws
	}
	p.SetKernels(vec.Available()[0])
	p.rowsBody, p.columnsBody = p.rows, p.columns
	p.hermitianBody, p.mirrorBody, p.pairedBody = p.hermitianColumns, p.mirrorRows, p.pairedColumns
	return p, nil
}

// SetKernels chooses the instruction set of the calls to come. It starts as the
// fastest that the processor has.
func (p *Plan) SetKernels(set vec.Set) {
	for _, ws := range p.all {
		ws.set = set
	}
}

// Size is the number of rows and columns of the planes that p transforms.
func (p *Plan) Size() (h, w int) { return p.h, p.w }

// Bytes is the memory of the tables and work space.
func (p *Plan) Bytes() int64 {
	n := p.row.bytes() + 8*int64(len(p.plane))
	if p.column != p.row {
		n += p.column.bytes()
	}
	for _, ws := range p.all {
		n += ws.bytes()
	}
	return n
}

// Rebuild computes all tables again, in place: the work that keeping a plan
// saves. Transforms give the same bits before and after.
func (p *Plan) Rebuild() {
	p.row.rebuild()
	if p.column != p.row {
		p.column.rebuild()
	}
	for _, ws := range p.all {
		ws.rebuild()
	}
}

// Forward writes the un-normalised transform of src to dst. Both are h×w planes and
// may be the same; other overlap is not allowed. It panics on other lengths.
func (p *Plan) Forward(dst, src []complex64, par Parallel) {
	p.run(job{dst: dst, src: src, scale: 1}, false, par)
}

// Inverse writes the un-normalised inverse transform of src to dst: Inverse after
// Forward multiplies by h·w. The same rules as Forward's hold.
func (p *Plan) Inverse(dst, src []complex64, par Parallel) {
	p.run(job{dst: dst, src: src, scale: 1, inverse: true}, false, par)
}

// CentredForward writes fftshift(fft2(ifftshift(src)))/√(h·w) to dst (spec/prism.md
// §2.2). The same rules as Forward's hold.
func (p *Plan) CentredForward(dst, src []complex64, par Parallel) {
	p.run(job{dst: dst, src: src, scale: p.ortho()}, true, par)
}

// CentredInverse is the inverse of CentredForward, and its adjoint.
func (p *Plan) CentredInverse(dst, src []complex64, par Parallel) {
	p.run(job{dst: dst, src: src, scale: p.ortho(), inverse: true}, true, par)
}

// CentredForwardReal is CentredForward of a real plane.
func (p *Plan) CentredForwardReal(dst []complex64, src []float32, par Parallel) {
	p.run(job{dst: dst, srcReal: src, scale: p.ortho()}, true, par)
}

// CentredInverseReal is the real part of CentredInverse: the adjoint of
// CentredForwardReal. Its first call allocates h·w complex64 of scratch.
func (p *Plan) CentredInverseReal(dst []float32, src []complex64, par Parallel) {
	if p.plane == nil {
		p.plane = make([]complex64, p.h*p.w)
	}
	if len(dst) != len(p.plane) {
		panic(fmt.Sprintf("fft: plan of %d×%d got room for %d elements", p.h, p.w, len(dst)))
	}
	p.run(job{dst: p.plane, dstReal: dst, src: src, scale: p.ortho(), inverse: true}, true, par)
}

func (p *Plan) ortho() float32 {
	return float32(1 / math.Sqrt(float64(p.h)*float64(p.w)))
}

func (p *Plan) run(j job, centred bool, par Parallel) {
	if n := p.h * p.w; len(j.dst) != n || len(j.src)+len(j.srcReal) != n {
		panic(fmt.Sprintf("fft: plan of %d×%d got %d elements for %d",
			p.h, p.w, len(j.src)+len(j.srcReal), len(j.dst)))
	}
	j.rowLoad, j.rowStore, j.rowUnload = p.row.tables(centred)
	j.columnLoad, j.columnStore, _ = p.column.tables(centred)
	p.job = j
	par.do(blocks(p.h), p.rowsBody)
	switch {
	case (j.srcReal == nil && j.dstReal == nil) || !p.halves():
		par.do(blocks(p.w), p.columnsBody)
	case j.srcReal != nil:
		par.do(p.hermitianBlocks(), p.hermitianBody)
		par.do(blocks(p.h), p.mirrorBody)
	default:
		par.do(blocks(p.w)/2, p.pairedBody)
	}
	p.job = job{}
}

func (par Parallel) do(n int, body func(lo, hi int)) {
	if par == nil {
		body(0, n)
		return
	}
	par(n, body)
}

// blocks is the number of blocks that n rows or columns make.
func blocks(n int) int { return (n + lanes - 1) / lanes }
