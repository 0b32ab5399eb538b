package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
)

// A scatter of 4×4 taps and stride 2 is four direct convolutions of 2×2 taps, one for each phase of the
// output: whether its row and its column are even or odd. In each direction, output 2m + phase sums pixels
// m − 1 + phase + d with taps 3 − phase − 2·d, for d = 0 and 1. The columns of two phases are then put side by side.
// Unlike products with patches (conv_patch.go), sums need not be folded, which counts where few channels are summed.

const (
	phaseSide = 2 // phases, and taps of each, in a direction
	// phasedPixels is the number of pixels from which phases pay: decoders have the fewer channels the more pixels.
	phasedPixels = 1 << 11
)

// phaseScatter is a bound scatter in phases.
type phaseScatter struct {
	direct
	offsets [phaseSide][phaseSide][]int64 // of the taps of the phases of rows and columns
	packed  []float32                     // weights [phase, large, small, tap]
}

// fitsPhases reports whether a patched scatter pays in phases, which was measured with AVX2 only.
func fitsPhases(b *convolution) bool {
	c := b.phaseShape()
	return b.backend.set == vec.AVX2 && b.hs*b.ws >= phasedPixels && b.ws%conv.TapLanes(b.backend.set) == 0 &&
		b.large%conv.TapRows == 0 && c.rowFloats(1) <= directFloats
}

// phaseShape is the shape of a phase, but for its taps: those of all phases are within 3×3.
func (g *geometry) phaseShape() bands {
	return bands{n: g.n, in: g.small, inH: g.hs, inW: g.ws, out: g.large, outH: g.hs, outW: g.ws,
		kh: 3, kw: 3, stride: 1, top: 1, left: 1, inStride: phaseTaps, outStride: g.small * phaseTaps}
}

// bindPhases binds a patched scatter in phases.
func bindPhases(b *convolution) func() {
	in, w, set := b.pieces(0), b.input(1), b.backend.set
	c := &phaseScatter{direct: direct{bands: b.phaseShape(), set: set, lanes: conv.TapLanes(set), bias: b.bias()}}
	c.relu, c.to.F = b.relu, b.output()
	c.arrange(b)
	for row := range phaseSide {
		for column := range phaseSide {
			for t := range phaseTaps {
				at := (row+t/phaseSide)*c.pitch + column + t%phaseSide
				c.offsets[row][column] = append(c.offsets[row][column], int64(at))
			}
		}
	}
	c.packed = b.floats(len(w))
	b.before = append(b.before, b.rows(c.out, c.in*patch, func(lo, hi int) { c.pack(w, lo, hi) }))
	copies, sums := c.in*c.plane, phaseSide*conv.TapRows*c.rows*c.outW
	work := c.out * c.in * patch * c.rows * c.outW / c.Parts
	return b.shared(c.Tasks(), copies+sums, work, func(scratch []float32, lo, hi int) {
		c.Each(lo, hi, func(band int) { c.bands.pack(set, scratch, in, c.at(band)) },
			func(band, first, end int) { c.compute(scratch[:copies], scratch[copies:], c.at(band), first, end) })
	})
}

// pack packs the weights of output channels [lo, hi).
func (c *phaseScatter) pack(w []float32, lo, hi int) {
	for l := lo; l < hi; l++ {
		for s := range c.in {
			k := w[(s*c.out+l)*patch:][:patch]
			for phase := range phases {
				to := c.packed[((phase*c.out+l)*c.in+s)*phaseTaps:]
				for t := range phaseTaps {
					ky, kx := 3-phase/phaseSide-2*(t/phaseSide), 3-phase%phaseSide-2*(t%phaseSide)
					to[t] = k[4*ky+kx]
				}
			}
		}
	}
}

// compute computes a band of groups [lo, hi) of output channels.
func (c *phaseScatter) compute(copies, sums []float32, at block, lo, hi int) {
	plane, one, pixels := at.rows*c.outW, conv.TapRows*at.rows*c.outW, &c.pixels[c.rows-at.rows]
	sum := conv.TapSum{Pitch: plane, X: copies, Channels: c.in, XStep: c.plane, WRow: c.outStride, WStep: c.inStride,
		ReLU: c.relu}
	for group := lo; group < hi; group++ {
		o := group * conv.TapRows
		if c.bias != nil {
			sum.Bias = c.bias[o:][:conv.TapRows]
		}
		for row := range phaseSide {
			for column := range phaseSide {
				sum.Taps, sum.Y = c.offsets[row][column], sums[column*one:]
				sum.W = c.packed[((phaseSide*row+column)*c.out+o)*c.outStride:]
				sum.Compute(c.set, pixels)
			}
			for channel := range conv.TapRows {
				even := sums[channel*plane:]
				first := ((at.image*c.out+o+channel)*c.outH+at.row)*2 + row
				elements.InterleaveRows(c.set, c.to.F[first*2*c.outW:], 4*c.outW, even, even[one:], at.rows, c.outW)
			}
		}
	}
}
