package pairconv

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
)

// Gather computes the small grid from the large one:
//
//	small[s, i, j] = bias[s] + Σ over l, ky and kx of large[l, 2i−1+ky, 2j−1+kx] · w[s, l, ky, kx]
//
// Between two zeros, a row of the large grid is one of pairs: the first two taps of a kernel's row meet
// pair j for output j, the last two pair j + 1. Weights are pairs as they lie.
type Gather struct {
	bands
	product vec.Pairs
	taps    []int64

	Small   volume.Values
	Large   []uint16
	Weights []uint16
	Bias    []float32 // nil for none
	ReLU    bool
}

// GatherFits reports whether a Gather computes a convolution.
func GatherFits(s Shape) bool {
	return s.unit() > 0 && s.Small%conv.TapRows == 0 && s.Large*(2*s.unit()+2)*(s.Width+1) <= copyFloats
}

// NewGather arranges a convolution that fits. Its operands are to be set.
func NewGather(s Shape, product vec.Pairs, threads int) *Gather {
	g := &Gather{product: product, bands: bands{Shape: s, channels: s.Large, groups: s.Small / conv.TapRows,
		stride: 2, pitch: s.Width + 1, high: 4, wide: 2}}
	g.arrange(threads)
	for k := range taps / 2 {
		g.taps = append(g.taps, g.offset(k/2, k%2))
	}
	return g
}

// Scratch is the number of floats that a thread needs.
func (g *Gather) Scratch() int {
	return g.channels*g.plane + g.channel()
}

// Run runs tasks [lo, hi).
func (g *Gather) Run(scratch []float32, lo, hi int) {
	copies, one := scratch[:g.channels*g.plane], scratch[g.channels*g.plane:]
	g.each(lo, hi,
		func(image, first int) { g.copyBand(copies, one, image, first) },
		func(image, first, group int) { g.compute(copies, image, first, group*conv.TapRows) })
}

// copyBand copies the rows of the large grid under a band that begins at row first of the small one.
func (g *Gather) copyBand(dst, one []float32, image, first int) {
	plane := 4 * g.Height * g.Width
	for l := range g.bands.Large {
		from, to := g.Large[(image*g.bands.Large+l)*plane:][:plane], dst[l*g.plane:]
		if g.Width == narrow {
			to = one
		}
		g.padRows(to, from, first, g.rows)
		if g.Width == narrow {
			g.spread(dst[l*g.plane:], one)
		}
	}
}

// compute computes the channels from s on of a band.
func (g *Gather) compute(copies []float32, image, first, s int) {
	row, plane := g.bands.Large*taps/2, g.Height*g.Width
	at := (image*g.bands.Small+s)*plane + first*g.Width
	sum := conv.TapSum{Pitch: plane, X: copies, Channels: g.bands.Large, XStep: g.plane, Taps: g.taps,
		W: half.PairsOf(g.Weights[2*s*row:]), WRow: row, WStep: taps / 2, ReLU: g.ReLU, Fold: g.fold}
	if g.Bias != nil {
		sum.Bias = g.Bias[s:][:conv.TapRows]
	}
	if g.Small.F != nil {
		sum.Y = g.Small.F[at:]
	} else {
		sum.Half = g.Small.H[at:]
	}
	sum.ComputePairs(g.product, g.pixels)
}
