package cpu

import "prismtop/sim/cpu/vec"

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
	*lowering
	set              vec.Set
	rows             int // channels of the small grid per task
	gw, small, large []float32
	copies           []float32
	segments         []int32 // start of the run of each (l, k)

	image, first, count int
}

func (b *binder) lowerWeight(g *geometry, gw, small, large []float32) func() {
	l := gatherLowering(g)
	l.plan()
	d := &weightGradient{lowering: l, set: b.backend.set, rows: b.backend.set.DotRows(), gw: gw, small: small, large: large,
		copies: b.floats(l.packed()), segments: l.phases[0].segments}
	b.table(2*len(d.segments), 4)
	inPlane := l.inChannels * l.inH * l.inW
	pack := func(lo, hi int) {
		d.pack(d.set, d.copies, d.large[d.image*inPlane:][:inPlane], d.first, d.count, lo, hi)
	}
	compute := d.compute
	pool := b.backend.pool
	perTask := 1 + d.rows*min(weightBlock, len(d.segments))*l.band*l.width
	return func() {
		clear(d.gw)
		for d.image = 0; d.image < d.n; d.image++ {
			for d.first = 0; d.first < d.height; d.first += d.band {
				d.count = min(d.band, d.height-d.first)
				pool.For(d.inChannels*len(d.columns), 1+grain/(d.planeRows*d.width), pack)
				pool.ForPieces(d.groups()*d.blocks(), 1+worthwhile/perTask, 1+pieceWork/perTask, compute)
			}
		}
	}
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
			d.set.Dots(w, d.outStride, min(d.rows, d.outChannels-s), p[from:], plane, min(dotPixels, n-from), d.copies[from:], segments)
		}
	}
}
