package cpu

const (
	// dotPixels is how many products a sum takes before it is added to the
	// weight's gradient: short sums lose fewer bits.
	dotPixels = 256
	// weightBlock is how many weights of a pair of channels a task computes.
	weightBlock = 60
)

// weightGradient computes gw[s][l][k] = Σ small[s, p]·large[l, stride·p − pad + k]
// over all pixels p and images, from the copies that a gather of large makes.
type weightGradient struct {
	*lowering
	gw, small, large []float32
	copies           []float32
	segments         []int32 // where the run of each (l, k) begins

	image, first, count int
}

func (b *binder) lowerWeight(g *geometry, gw, small, large []float32) func() {
	l := gatherLowering(g)
	l.plan()
	d := &weightGradient{lowering: l, gw: gw, small: small, large: large,
		copies: b.floats(l.packed()), segments: l.phases[0].segments}
	b.table(2*len(d.segments), 4)
	inPlane := l.inChannels * l.inH * l.inW
	pack := func(lo, hi int) {
		d.pack(d.copies, d.large[d.image*inPlane:][:inPlane], d.first, d.count, lo, hi)
	}
	compute := d.compute
	pool := b.backend.pool
	perTask := 1 + 2*min(weightBlock, len(d.segments))*l.band*l.width
	return func() {
		clear(d.gw)
		for d.image = 0; d.image < d.n; d.image++ {
			for d.first = 0; d.first < d.height; d.first += d.band {
				d.count = min(d.band, d.height-d.first)
				pool.For(d.inChannels*len(d.columns), 1+grain/(d.planeRows*d.width), pack)
				pool.For((d.outChannels+1)/2*d.blocks(), 1+worthwhile/perTask, compute)
			}
		}
	}
}

// blocks is the number of weight ranges of a pair of channels.
func (d *weightGradient) blocks() int { return (len(d.segments) + weightBlock - 1) / weightBlock }

// compute runs tasks: a pair of the small grid's channels and a range of weights.
func (d *weightGradient) compute(lo, hi int) {
	blocks, n := d.blocks(), d.count*d.width
	plane := d.outH * d.outW
	for task := lo; task < hi; task++ {
		s, k0 := task/blocks*2, task%blocks*weightBlock
		k1 := min(k0+weightBlock, len(d.segments))
		p := d.small[(d.image*d.outChannels+s)*plane+d.first*d.width:]
		w := d.gw[s*d.outStride:]
		for from := 0; from < n; from += dotPixels {
			m := min(dotPixels, n-from)
			if s+1 < d.outChannels {
				d.dots2(w[k0:], w[d.outStride+k0:], p[from:][:m], p[plane+from:][:m], d.segments[k0:k1], from)
			} else {
				d.dots1(w[k0:], p[from:][:m], d.segments[k0:k1], from)
			}
		}
	}
}

// dots2 adds the products of two rows with every run:
//
//	w0[k] += Σ p0[i]·x[segment k + from + i];  w1 with p1
func (d *weightGradient) dots2(w0, w1, p0, p1 []float32, segments []int32, from int) {
	x, n := d.copies[from:], len(p0)
	k := 0
	var r [6]float32
	for ; k+2 < len(segments); k += 3 {
		s := segments[k : k+3 : k+3]
		dot2x3(p0, p1, x[s[0]:][:n], x[s[1]:][:n], x[s[2]:][:n], &r)
		a, b := w0[k:k+3:k+3], w1[k:k+3:k+3]
		a[0] += r[0]
		a[1] += r[1]
		a[2] += r[2]
		b[0] += r[3]
		b[1] += r[4]
		b[2] += r[5]
	}
	for ; k < len(segments); k++ {
		run := x[segments[k]:][:n]
		w0[k] += dot(p0, run)
		w1[k] += dot(p1, run)
	}
}

// dots1 is dots2 for one row.
func (d *weightGradient) dots1(w, p []float32, segments []int32, from int) {
	x, n := d.copies[from:], len(p)
	k := 0
	for ; k+3 < len(segments); k += 4 {
		var r [4]float32
		s := segments[k : k+4 : k+4]
		dot1x4(p, x[s[0]:][:n], x[s[1]:][:n], x[s[2]:][:n], x[s[3]:][:n], &r)
		for i := range 4 {
			w[k+i] += r[i]
		}
	}
	for ; k < len(segments); k++ {
		w[k] += dot(p, x[segments[k]:][:n])
	}
}
