package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/tensor"
)

// Convolutions between one pixel and a whole image are matrix products: w is a
// matrix of small rows and large·kh·kw columns. They are bound by memory, from
// which w is read once.

const (
	// columnGrain is the minimum number of matrix columns per thread: a page of
	// each row, within which the processor prefetches.
	columnGrain = 1024
	// rowsPerTask is the number of rows per task: those multiplied side by side.
	rowsPerTask = 4
)

// denseWeights are w of a dense product: float32, bfloat16 as it is, or float32 that is rounded to bfloat16 as it
// is read.
type denseWeights struct {
	f       []float32
	h       []uint16
	rounded []float32
	pairs   vec.Pairs
}

// combine is matrix.Combine for the columns from lo on.
func (w *denseWeights) combine(set vec.Set, y []float32, lo, pitch int, x []float32) {
	switch {
	case w.rounded != nil:
		matrix.CombineRounded(w.pairs, y, w.rounded[lo:], pitch, x)
	case w.h != nil:
		matrix.CombineHalves(set, y, w.h[lo:], pitch, x)
	default:
		matrix.Combine(set, y, w.f[lo:], pitch, x)
	}
}

// products is matrix.Products for the rows from element lo on.
func (w *denseWeights) products(set vec.Set, out []float32, lo, pitch int, x []float32) {
	switch {
	case w.rounded != nil:
		matrix.ProductsRounded(w.pairs, out, w.rounded[lo:], pitch, x)
	case w.h != nil:
		matrix.ProductsHalves(set, out, w.h[lo:], pitch, x)
	default:
		matrix.Products(set, out, w.f[lo:], pitch, x)
	}
}

// matrixInput returns the i-th input as a matrix. A variable in bfloat16 is read where it is, and rounded: to write
// a copy with each update, and to read that, takes longer than to read twice the bytes once.
func (b *convolution) matrixInput(i int) denseWeights {
	if b.buffer(b.current.In[i]).DType != tensor.BFloat16 || b.split() {
		return denseWeights{f: b.in(i)}
	}
	if w, ok := b.unrounded(i); ok && b.backend.pairs != vec.NoPairs {
		return denseWeights{rounded: w, pairs: b.backend.pairs}
	}
	if b.backend.set == vec.AVX512 {
		return denseWeights{h: b.half(i)}
	}
	return denseWeights{f: b.in(i)}
}

// denseWeights returns the weights as a matrix: those made of the step's own, or its second input.
func (b *convolution) denseWeights() denseWeights {
	if b.made[1] != nil {
		return denseWeights{f: b.made[1]}
	}
	return b.matrixInput(1)
}

// bindDenseScatter computes large[n, j] = Σ small[n, s]·w[s, j] + bias[channel of j].
func bindDenseScatter(b *convolution) func() {
	small, w, bias, large := b.input(0), b.denseWeights(), b.bias(), b.output()
	g, set, taps, columns := b.geometry, b.backend.set, b.taps(), b.large*b.taps()
	body := func(lo, hi int) {
		for n := range g.n {
			y := large[n*columns+lo : n*columns+hi]
			clear(y)
			if bias != nil {
				for j := range y {
					y[j] = bias[(lo+j)/taps]
				}
			}
			w.combine(set, y, lo, columns, small[n*g.small:][:g.small])
		}
	}
	pool := b.backend.pool
	return b.rectified(large, func() { pool.ForPieces(columns, columnGrain, 2*columnGrain, body) })
}

// bindDenseGather computes small[n, s] = Σ large[n, j]·w[s, j] + bias[s].
func bindDenseGather(b *convolution) func() {
	large, w, bias, small := b.input(0), b.denseWeights(), b.bias(), b.output()
	g, set, columns := b.geometry, b.backend.set, b.large*b.taps()
	body := func(lo, hi int) {
		lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, g.small)
		for n := range g.n {
			y := small[n*g.small+lo : n*g.small+hi]
			w.products(set, y, lo*columns, columns, large[n*columns:][:columns])
			for s := range y {
				if bias != nil {
					y[s] += bias[lo+s]
				}
			}
		}
	}
	return b.rectified(small, b.tasks((g.small+rowsPerTask-1)/rowsPerTask, rowsPerTask*columns, body))
}

// bindDenseWeight computes gw[s, j] = Σ over images of small[n, s]·large[n, j].
func bindDenseWeight(b *convolution) func() {
	small, large, gw := b.input(b.s), b.input(b.l), b.output()
	g, set, columns := b.geometry, b.backend.set, b.large*b.taps()
	body := func(lo, hi int) {
		for s := lo; s < hi; s++ {
			row := gw[s*columns:][:columns]
			elements.Scale(set, row, large[:columns], small[s])
			for n := 1; n < g.n; n++ {
				elements.Axpy(set, row, large[n*columns:][:columns], small[n*g.small+s])
			}
		}
	}
	return b.rows(g.small, columns, body)
}

// bindFactors keeps the two vectors whose product is the weights' gradient, for Adam and State.Read.
func bindFactors(b *convolution) func() {
	id := b.current.Out[0]
	v := b.buffer(id).Variable
	if !single(b) || b.n != 1 || b.split() || v < 0 {
		return b.fail("a gradient as factors that is no outer product")
	}
	small, large, state := b.in(b.s), b.in(b.l), b.state
	f := &factors{make([]float32, len(small)), make([]float32, len(large))}
	b.table(len(small)+len(large), 4)
	b.factors[id] = f
	return func() {
		copy(f.small, small)
		copy(f.large, large)
		state.factors[v] = f
	}
}

const (
	// dotPixels is the number of products summed before they are added to the
	// weight gradient: short sums lose fewer bits.
	dotPixels = 256
	// weightBlock is the number of weights of a group of channels per task.
	weightBlock = 60
)

// weightGradient computes gw[s][l][k] = Σ small[s, p]·large[l, stride·p − pad + k]
// over all pixels p and images, from the copies made for a gather of large.
type weightGradient struct {
	lowerer
	rows      int // channels of the small grid per task
	gw, small []float32
	segments  []int32 // start of the run of each (l, k)
}

func bindLoweredWeight(b *convolution) func() {
	l := gatherLowering(&b.geometry)
	l.plan()
	d := &weightGradient{
		lowerer: lowerer{lowering: l, set: b.backend.set, in: b.input(b.l), copies: b.floats(l.packed())},
		rows:    conv.DotRows(b.backend.set), small: b.input(b.s), gw: b.output(), segments: l.phases[0].segments}
	b.table(2*len(d.segments), 4)
	perTask := 1 + d.rows*min(weightBlock, len(d.segments))*l.band*l.width
	run := d.runner(b, perTask, func() int { return d.groups() * d.blocks() }, d.compute)
	return inOrder(func() { clear(d.gw) }, run)
}

// groups is the number of groups of the small grid's channels.
func (d *weightGradient) groups() int { return (d.outChannels + d.rows - 1) / d.rows }

// blocks is the number of weight ranges of a group of channels.
func (d *weightGradient) blocks() int { return (len(d.segments) + weightBlock - 1) / weightBlock }

// compute runs tasks: a group of the small grid's channels and a range of weights.
func (d *weightGradient) compute(lo, hi int) {
	blocks, n := d.blocks(), d.count*d.width
	plane := d.outH * d.outW
	for task := lo; task < hi; task++ {
		s, k0 := task/blocks*d.rows, task%blocks*weightBlock
		segments := d.segments[k0:min(k0+weightBlock, len(d.segments))]
		p := d.small[(d.image*d.outChannels+s)*plane+d.first*d.width:]
		w := d.gw[s*d.outStride+k0:]
		for from := 0; from < n; from += dotPixels {
			conv.Dots(d.set, w, d.outStride, min(d.rows, d.outChannels-s), p[from:], plane, min(dotPixels, n-from),
				d.copies[from:], segments)
		}
	}
}
