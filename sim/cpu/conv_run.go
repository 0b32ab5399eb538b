package cpu

import "prismtop/sim/cpu/vec"

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

// lowered is a lowered gather or scatter, bound to its operands.
type lowered struct {
	*lowering
	set              vec.Set
	out, in, w, bias []float32
	copies           []float32
	relu             bool // of gathers only

	rows                int // output channels per task
	pixels              int // outputs of a phase per task
	image, first, count int // the current image and band of rows
}

func newLowered(b *binder, l *lowering) *lowered {
	l.plan()
	for i := range l.phases {
		b.table(2*len(l.phases[i].segments), 4)
	}
	c := &lowered{lowering: l, set: b.backend.set, copies: b.floats(l.packed())}
	c.rows = min(c.set.TileRows(), l.outChannels)
	c.pixels = max(1, min(512, sumFloats/c.rows/len(l.phases)))
	return c
}

// runner returns the closure that computes out from in. bias may be nil.
func (c *lowered) runner(b *binder, out, in, w, bias []float32) func() {
	c.out, c.in, c.w, c.bias = out, in, w, bias
	inPlane := c.inChannels * c.inH * c.inW
	pack := func(lo, hi int) {
		c.pack(c.set, c.copies, c.in[c.image*inPlane:][:inPlane], c.first, c.count, lo, hi)
	}
	perTask := 1
	for i := range c.phases {
		perTask += c.rows * len(c.phases[i].segments) * min(c.pixels, c.band*c.width)
	}
	pool := b.backend.pool
	compute := c.compute
	return func() {
		for c.image = 0; c.image < c.n; c.image++ {
			for c.first = 0; c.first < c.height; c.first += c.band {
				c.count = min(c.band, c.height-c.first)
				pool.For(c.inChannels*len(c.columns), 1+grain/(c.planeRows*c.width), pack)
				pool.ForPieces(c.groups()*c.chunks(), 1+worthwhile/perTask, 1+pieceWork/perTask, compute)
			}
		}
	}
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
				c.set.Tile(sums[i*rows*n:], n, rows, n, x, p.segments[k0:k1], p.weights[k0:k1], w, c.outStride)
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
