package cpu

// sumFloats is the room for the sums of a task: two output channels, all phases and
// a range of pixels, small enough for the first-level cache.
const sumFloats = 4096

// channelBlock is how many input channels are added to all phases before the next.
// A transposed convolution's weights of one output channel lie far apart, at
// distances that share few sets of the cache; the phases use parts of the same
// lines, so they take turns while the lines are there.
const channelBlock = 8

// worthwhile is the number of multiplications that is worth another thread.
const worthwhile = 16 << 10

// lowered is a lowered gather or scatter, bound to its operands.
type lowered struct {
	*lowering
	out, in, w, bias []float32
	copies           []float32

	pixels              int // outputs of a phase that a task computes
	image, first, count int // the image and the band of rows in progress
}

func newLowered(b *binder, l *lowering) *lowered {
	l.plan()
	for i := range l.phases {
		b.table(2*len(l.phases[i].segments), 4)
	}
	return &lowered{lowering: l, copies: b.floats(l.packed()), pixels: max(1, min(512, sumFloats/2/len(l.phases)))}
}

// runner returns the closure that computes out from in. bias may be nil.
func (c *lowered) runner(b *binder, out, in, w, bias []float32) func() {
	c.out, c.in, c.w, c.bias = out, in, w, bias
	inPlane := c.inChannels * c.inH * c.inW
	pack := func(lo, hi int) {
		c.pack(c.copies, c.in[c.image*inPlane:][:inPlane], c.first, c.count, lo, hi)
	}
	perTask := 1
	for i := range c.phases {
		perTask += 2 * len(c.phases[i].segments) * min(c.pixels, c.band*c.width)
	}
	pool := b.backend.pool
	compute := c.compute
	return func() {
		for c.image = 0; c.image < c.n; c.image++ {
			for c.first = 0; c.first < c.height; c.first += c.band {
				c.count = min(c.band, c.height-c.first)
				pool.For(c.inChannels*len(c.columns), 1+grain/(c.planeRows*c.width), pack)
				pool.For((c.outChannels+1)/2*c.chunks(), 1+worthwhile/perTask, compute)
			}
		}
	}
}

// chunks is the number of pixel ranges in the band in progress.
func (c *lowered) chunks() int { return (c.count*c.width + c.pixels - 1) / c.pixels }

// compute runs tasks: a pair of output channels and a range of pixels, all phases.
func (c *lowered) compute(lo, hi int) {
	var sums [sumFloats]float32
	chunks := c.chunks()
	for task := lo; task < hi; task++ {
		o, from := task/chunks*2, task%chunks*c.pixels
		n := min(c.pixels, c.count*c.width-from)
		pair := o+1 < c.outChannels
		clear(sums[:2*n*len(c.phases)])
		for channel := 0; channel < c.inChannels; channel += channelBlock {
			for i := range c.phases {
				p := &c.phases[i]
				k0 := channel * len(p.taps)
				k1 := min(channel+channelBlock, c.inChannels) * len(p.taps)
				segments, weights := p.segments[k0:k1], p.weights[k0:k1]
				y0, y1 := sums[2*i*n:][:n], sums[(2*i+1)*n:][:n]
				if pair {
					c.addRuns2(y0, y1, segments, weights, o, from)
				} else {
					c.addRuns1(y0, segments, weights, o, from)
				}
			}
		}
		for i := range c.phases {
			c.store(&c.phases[i], sums[2*i*n:][:n], o, from)
			if pair {
				c.store(&c.phases[i], sums[(2*i+1)*n:][:n], o+1, from)
			}
		}
	}
}

// addRuns2 adds every weighted run to the sums of two output channels:
//
//	y0[i] += w[o, k]·x[segment k + from + i];  y1 with o+1
func (c *lowered) addRuns2(y0, y1 []float32, segments, weights []int32, o, from int) {
	w0, w1 := c.w[o*c.outStride:], c.w[(o+1)*c.outStride:]
	x, n := c.copies[from:], len(y0)
	var w [8]float32
	for len(segments) >= 4 && len(weights) >= 4 {
		k0, k1, k2, k3 := weights[0], weights[1], weights[2], weights[3]
		w[0], w[1], w[2], w[3] = w0[k0], w0[k1], w0[k2], w0[k3]
		w[4], w[5], w[6], w[7] = w1[k0], w1[k1], w1[k2], w1[k3]
		axpy2x4(y0, y1, x[segments[0]:][:n], x[segments[1]:][:n], x[segments[2]:][:n], x[segments[3]:][:n], &w)
		segments, weights = segments[4:], weights[4:]
	}
	for i, s := range segments {
		run := x[s:][:n]
		axpy(y0, run, w0[weights[i]])
		axpy(y1, run, w1[weights[i]])
	}
}

// addRuns1 is addRuns2 for one output channel.
func (c *lowered) addRuns1(y []float32, segments, weights []int32, o, from int) {
	w := c.w[o*c.outStride:]
	x, n := c.copies[from:], len(y)
	for len(segments) >= 4 && len(weights) >= 4 {
		axpy1x4(y, x[segments[0]:][:n], x[segments[1]:][:n], x[segments[2]:][:n], x[segments[3]:][:n],
			w[weights[0]], w[weights[1]], w[weights[2]], w[weights[3]])
		segments, weights = segments[4:], weights[4:]
	}
	for i, s := range segments {
		axpy(y, x[s:][:n], w[weights[i]])
	}
}

// store writes sums to their pixels of output channel o, with the bias:
//
//	out[o, top + stride·row, left + stride·column] = y[i] + bias[o]
func (c *lowered) store(p *phase, y []float32, o, from int) {
	b := float32(0)
	if c.bias != nil {
		b = c.bias[o]
	}
	plane := c.out[(c.image*c.outChannels+o)*c.outH*c.outW:][:c.outH*c.outW]
	row, column := from/c.width, from%c.width
	for len(y) > 0 && c.first+row < p.h {
		n := min(len(y), c.width-column)
		out := plane[(p.top+(c.first+row)*p.stride)*c.outW:][:c.outW]
		storeRow(out, y[:min(n, max(p.w-column, 0))], p.left+column*p.stride, p.stride, b)
		y, row, column = y[n:], row+1, 0
	}
}

// storeRow is out[at + stride·i] = y[i] + b.
func storeRow(out, y []float32, at, stride int, b float32) {
	if stride == 1 {
		if len(y) == 0 {
			return
		}
		out = out[at:][:len(y)]
		for i, v := range y {
			out[i] = v + b
		}
		return
	}
	for _, v := range y {
		out[at] = v + b
		at += stride
	}
}
