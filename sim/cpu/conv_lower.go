package cpu

import (
	"math"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
)

// Lowering turns a gather or scatter into sums of rows. The input's planes are
// copied once per horizontal shift of a tap, with zeros beyond the edge. The
// values that a tap contributes to a whole output plane are then one contiguous
// run of a copy, and the convolution is
//
//	out[o, ·] = Σ over input channels and taps of weight · run
//
// A scatter of stride s splits into s×s phases (sub-pixel positions), each with
// its own taps and its own regular subset of the output's pixels.

// bandFloats bounds the size of the copies, so that they stay in the second-level
// cache: outputs are computed in bands of rows.
const bandFloats = 320 << 10

// span is a row of positions in the source: start, start+step, …
type span struct{ start, step int }

// tap is one weight of the kernel within a phase: its horizontal copy, its set of
// rows, and the row of that set used by the output's first row.
type tap struct{ weight, column, rows, row int }

// phase is a regular subset of the output's pixels, with the taps that contribute
// to it.
type phase struct {
	top, left, stride int // its first pixel and the stride
	h, w              int // its number of rows and columns
	taps              []tap

	segments, weights []int32 // per input channel and tap: the start of the run, and the weight
}

// lowering is the shape of a lowered convolution.
type lowering struct {
	n                    int
	inChannels, inH, inW int
	outChannels          int
	outH, outW           int
	inStride, outStride  int // between the weights of two input or output channels
	height, width        int // in the largest phase
	columns, rows        []span
	extra                []int // extra rows that taps need beyond the band, for each of rows
	phases               []phase
	band, planeRows      int // rows computed at a time; copied rows per plane
}

func gatherLowering(g *geometry) *lowering {
	l := &lowering{n: g.n, inChannels: g.large, inH: g.hl, inW: g.wl,
		outChannels: g.small, outH: g.hs, outW: g.ws,
		inStride: g.taps(), outStride: g.large * g.taps(), height: g.hs, width: g.ws}
	for kx := range g.kw {
		l.columns = append(l.columns, span{kx - g.pad, g.stride})
	}
	for r := range min(g.stride, g.kh) {
		l.rows = append(l.rows, span{r - g.pad, g.stride})
		l.extra = append(l.extra, (g.kh-1-r)/g.stride)
	}
	all := phase{stride: 1, h: g.hs, w: g.ws}
	for ky := range g.kh {
		for kx := range g.kw {
			all.taps = append(all.taps, tap{ky*g.kw + kx, kx, ky % g.stride, ky / g.stride})
		}
	}
	l.phases = []phase{all}
	return l
}

// axisPhase is the part of a phase along one axis: taps k = first, first+stride, …
// with input positions begin, begin−1, … for the first output position.
type axisPhase struct{ start, count, first, begin int }

// axisPhases groups output positions q by (q+pad) mod stride: q + pad = stride·m
// + k pairs output q with input m through tap k.
func axisPhases(out, pad, stride int) []axisPhase {
	var phases []axisPhase
	for first := range stride {
		m := max(0, (pad-first+stride-1)/stride)
		start := stride*m + first - pad
		if start < out {
			phases = append(phases, axisPhase{start, (out - start + stride - 1) / stride, first, m})
		}
	}
	return phases
}

func scatterLowering(g *geometry) *lowering {
	l := &lowering{n: g.n, inChannels: g.small, inH: g.hs, inW: g.ws,
		outChannels: g.large, outH: g.hl, outW: g.wl,
		inStride: g.large * g.taps(), outStride: g.taps()}
	lowest, highest := math.MaxInt, math.MinInt
	vertical, horizontal := axisPhases(g.hl, g.pad, g.stride), axisPhases(g.wl, g.pad, g.stride)
	for _, v := range vertical {
		for t := 0; v.first+t*g.stride < g.kh; t++ {
			lowest, highest = min(lowest, v.begin-t), max(highest, v.begin-t)
		}
	}
	copies := map[int]int{}
	for _, v := range vertical {
		for _, h := range horizontal {
			p := phase{top: v.start, left: h.start, stride: g.stride, h: v.count, w: h.count}
			for ty, ky := 0, v.first; ky < g.kh; ty, ky = ty+1, ky+g.stride {
				for tx, kx := 0, h.first; kx < g.kw; tx, kx = tx+1, kx+g.stride {
					shift := h.begin - tx
					if _, ok := copies[shift]; !ok {
						copies[shift] = len(l.columns)
						l.columns = append(l.columns, span{shift, 1})
					}
					p.taps = append(p.taps, tap{ky*g.kw + kx, copies[shift], 0, v.begin - ty - lowest})
				}
			}
			l.phases = append(l.phases, p)
			l.height, l.width = max(l.height, p.h), max(l.width, p.w)
		}
	}
	if len(l.columns) == 0 || lowest > highest { // no tap reaches any output
		l.columns, lowest, highest = []span{{0, 1}}, 0, 0
	}
	l.rows, l.extra = []span{{lowest, 1}}, []int{highest - lowest}
	return l
}

// plan chooses the band and computes the tables.
func (l *lowering) plan() {
	extra := 0
	for _, e := range l.extra {
		extra += e
	}
	perRow := l.inChannels * len(l.columns) * l.width
	l.band = min(max((bandFloats/perRow-extra)/len(l.rows), 1), l.height)
	l.planeRows = l.band*len(l.rows) + extra
	for i := range l.phases {
		p := &l.phases[i]
		for c := range l.inChannels {
			for _, t := range p.taps {
				p.segments = append(p.segments, int32(l.run(c, t)))
				p.weights = append(p.weights, int32(c*l.inStride+t.weight))
			}
		}
	}
}

// run returns the offset of a tap's run in the copies of a channel.
func (l *lowering) run(channel int, t tap) int {
	row := (channel*len(l.columns) + t.column) * l.planeRows
	for r := range t.rows {
		row += l.band + l.extra[r]
	}
	return (row + t.row) * l.width
}

// packed is the size in floats of the copies of one band.
func (l *lowering) packed() int {
	return l.inChannels * len(l.columns) * l.planeRows * l.width
}

// pack fills copies [lo, hi) of one image, numbered by channel and column span,
// for the band of rows starting at first:
//
//	dst[c, k, row, u] = src[c, rows.start + rows.step·row, columns[k].start + columns[k].step·u]
func (l *lowering) pack(set vec.Set, dst, src []float32, first, rows, lo, hi int) {
	for i := lo; i < hi; i++ {
		plane := src[i/len(l.columns)*l.inH*l.inW:][:l.inH*l.inW]
		columns := l.columns[i%len(l.columns)].within(l.width, l.inW)
		at := i * l.planeRows
		for r, s := range l.rows {
			n := rows + l.extra[r]
			s.start += s.step * first
			packPlane(set, dst[at*l.width:][:n*l.width], plane, s.within(n, l.inH), columns, l.width, l.inW)
			at += l.band + l.extra[r]
		}
	}
}

// overlap returns the range [lo, hi) of the span's positions that lie within the
// source.
type overlap struct {
	span
	lo, hi int
}

// within returns the range of the span's n positions that lie within size
// elements.
func (s span) within(n, size int) overlap {
	lo := min(max(0, (s.step-1-s.start)/s.step), n)
	return overlap{s, lo, max(lo, min(n, (size-s.start+s.step-1)/s.step))}
}

// packPlane copies rows of width elements from a plane of rows of inW, with zeros
// for rows and columns outside it:
//
//	dst[t, u] = plane[rows.start + rows.step·t, columns.start + columns.step·u]
func packPlane(set vec.Set, dst, plane []float32, rows, columns overlap, width, inW int) {
	clear(dst[:rows.lo*width])
	clear(dst[rows.hi*width:])
	dst = dst[rows.lo*width : rows.hi*width]
	for at := 0; at < len(dst); at += width {
		blank(dst[at : at+columns.lo])
		blank(dst[at+columns.hi : at+width])
	}
	n, m, pitch := rows.hi-rows.lo, columns.hi-columns.lo, rows.step*inW
	if n == 0 || m == 0 {
		return
	}
	dst = dst[columns.lo:]
	plane = plane[(rows.start+rows.step*rows.lo)*inW+columns.start+columns.step*columns.lo:]
	switch columns.step {
	case 1:
		elements.CopyRows(set, dst, width, plane, pitch, n, m)
	case 2:
		elements.EveryOther(set, dst, width, plane, pitch, n, m)
	default:
		for t := range n {
			for u := range m {
				dst[t*width+u] = plane[t*pitch+columns.step*u]
			}
		}
	}
}

// blank clears an edge of a row. Those of convolutions are a few numbers, for which calling clear's kernel takes longer
// than the loop.
func blank(edge []float32) {
	if len(edge) > 8 {
		clear(edge)
		return
	}
	for i := range len(edge) {
		edge[i] = 0
	}
}

// sumFloats is the room for the sums of a task: a few output channels, all phases
// and a range of pixels, small enough for the first-level cache.
const sumFloats = 4096

// channelBlock is the number of input channels added to all phases before the next
// block. The weights of one output channel of a transposed convolution lie far
// apart, at a stride that maps to few cache sets; the phases use parts of the same
// lines, so they take turns while those lines are cached.
const channelBlock = 8

// worthwhile is the number of multiplications that justifies another thread.
const worthwhile = 16 << 10

// lowerer makes the copies of a lowered convolution, one band after the other.
type lowerer struct {
	*lowering
	set                 vec.Set
	in, copies          []float32
	image, first, count int // the current image and band of rows
}

// runner returns a closure that calls compute for the tasks of each band, each of a number of multiplications.
func (c *lowerer) runner(b *convolution, work int, tasks func() int, compute func(lo, hi int)) func() {
	inPlane, pool := c.inChannels*c.inH*c.inW, b.backend.pool
	pack := func(lo, hi int) {
		c.pack(c.set, c.copies, c.in[c.image*inPlane:][:inPlane], c.first, c.count, lo, hi)
	}
	return func() {
		for c.image = 0; c.image < c.n; c.image++ {
			for c.first = 0; c.first < c.height; c.first += c.band {
				c.count = min(c.band, c.height-c.first)
				pool.For(c.inChannels*len(c.columns), 1+grain/(c.planeRows*c.width), pack)
				pool.ForPieces(tasks(), 1+worthwhile/work, 1+pieceWork/work, compute)
			}
		}
	}
}

// lowered is a lowered gather or scatter, bound to its operands.
type lowered struct {
	lowerer
	out, w, bias []float32
	relu         bool // of gathers only
	rows         int  // output channels per task
	pixels       int  // outputs of a phase per task
}

// bindLowered binds a gather or a scatter of any shape.
func bindLowered(b *convolution) func() {
	lower := gatherLowering
	if b.computes == scatters {
		lower = scatterLowering
	}
	l := lower(&b.geometry)
	l.plan()
	for i := range l.phases {
		b.table(2*len(l.phases[i].segments), 4)
	}
	c := &lowered{lowerer: lowerer{lowering: l, set: b.backend.set, in: b.input(0), copies: b.floats(l.packed())},
		w: b.input(1), bias: b.bias(), out: b.output(), relu: b.relu && b.computes == gathers}
	c.rows = min(conv.TileRows(c.set), l.outChannels)
	c.pixels = max(1, min(512, sumFloats/c.rows/len(l.phases)))
	perTask := 1
	for i := range c.phases {
		perTask += c.rows * len(c.phases[i].segments) * min(c.pixels, c.band*c.width)
	}
	run := c.runner(b, perTask, func() int { return c.groups() * c.chunks() }, c.compute)
	if c.relu {
		return run
	}
	return b.rectified(c.out, run)
}

// chunks is the number of pixel ranges in the current band.
func (c *lowered) chunks() int { return (c.count*c.width + c.pixels - 1) / c.pixels }

// groups is the number of groups of output channels.
func (c *lowered) groups() int { return (c.outChannels + c.rows - 1) / c.rows }

// compute runs tasks: a group of output channels and a range of pixels, all phases.
func (c *lowered) compute(lo, hi int) {
	var sums [sumFloats]float32
	chunks := c.chunks()
	for task := lo; task < hi; task++ {
		o, from := task/chunks*c.rows, task%chunks*c.pixels
		n, rows := min(c.pixels, c.count*c.width-from), min(c.rows, c.outChannels-o)
		clear(sums[:rows*n*len(c.phases)])
		x, w := c.copies[from:], c.w[o*c.outStride:]
		for channel := 0; channel < c.inChannels; channel += channelBlock {
			for i := range c.phases {
				p := &c.phases[i]
				k0 := channel * len(p.taps)
				k1 := min(channel+channelBlock, c.inChannels) * len(p.taps)
				conv.Tile(c.set, sums[i*rows*n:], n, rows, n, x, p.segments[k0:k1], p.weights[k0:k1], w, c.outStride)
			}
		}
		for i := range c.phases {
			for r := range rows {
				c.store(&c.phases[i], sums[(i*rows+r)*n:][:n], o+r, from)
			}
		}
	}
}

// store writes sums to their pixels of output channel o, with the bias and, if
// asked for, the ReLU:
//
//	out[o, top + stride·row, left + stride·column] = y[i] + bias[o]
func (c *lowered) store(p *phase, y []float32, o, from int) {
	b := valueOr0(c.bias, o)
	plane := c.out[(c.image*c.outChannels+o)*c.outH*c.outW:][:c.outH*c.outW]
	row, column := from/c.width, from%c.width
	for len(y) > 0 && c.first+row < p.h {
		n := min(len(y), c.width-column)
		out := plane[(p.top+(c.first+row)*p.stride)*c.outW:][:c.outW]
		part := y[:min(n, max(p.w-column, 0))]
		if p.stride == 1 {
			storeBiased(c.set, out[p.left+column:][:len(part)], part, b, c.relu)
		} else {
			storeRow(out, part, p.left+column*p.stride, p.stride, b)
		}
		y, row, column = y[n:], row+1, 0
	}
}

// storeRow computes out[at + stride·i] = y[i] + b.
func storeRow(out, y []float32, at, stride int, b float32) {
	for _, v := range y {
		out[at] = v + b
		at += stride
	}
}
