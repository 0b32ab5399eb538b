package pairconv

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/volume"
)

// Scatter computes the large grid from the small one:
//
//	large[l, y, x] = bias[l] + Σ small[s, i, j] · w[s, l, ky, kx]
//
// over s and the taps with y + 1 = 2i + ky, x + 1 = 2j + kx.
//
// Pixels of the large grid meet four of the taps, by whether their row and column are even or odd: these are four
// phases of 2×2 taps, each a direct convolution of pairs of channels. Rows of two phases are rounded
// into one of the large grid.
type Scatter struct {
	bands   // of pairs of channels of the small grid
	set     vec.Set
	product vec.Pairs
	taps    [4][]int64

	Large   volume.Values
	Small   []uint16
	Weights []uint16
	Packed  []float32 // PackedFloats floats, filled by Pack; nil if they are 0
	Bias    []float32 // nil for none
	ReLU    bool
}

// ScatterFits reports whether a Scatter computes a convolution.
func ScatterFits(s Shape) bool {
	return s.unit() > 0 && s.Small%2 == 0 && s.Large%conv.TapRows == 0 &&
		s.Small/2*(s.unit()+2)*(s.Width+2) <= copyFloats
}

// phaseTaps are the taps that meet a row, or a column, of an even and of an odd phase, phaseShifts the
// distances of their pixels in the small grid.
var (
	phaseTaps   = [2][2]int{{1, 3}, {2, 0}}
	phaseShifts = [2][2]int{{0, -1}, {0, 1}}
)

// phaseOrder has a kernel's taps phase by phase.
var phaseOrder = func() (order [taps]uint32) {
	for i := range order {
		order[i] = uint32(4*phaseTaps[i>>3][i>>1&1] + phaseTaps[i>>2&1][i&1])
	}
	return order
}()

// NewScatter arranges a convolution that fits. Its operands are to be set.
func NewScatter(s Shape, set vec.Set, product vec.Pairs, threads int) *Scatter {
	c := &Scatter{set: set, product: product,
		bands: bands{Shape: s, channels: s.Small / 2, groups: s.Large / conv.TapRows,
			stride: 1, pitch: s.Width + 2, high: 3, wide: 3}}
	c.arrange(threads)
	for phase := range c.taps {
		for t := range 4 {
			y, x := 1+phaseShifts[phase>>1][t>>1], 1+phaseShifts[phase&1][t&1]
			c.taps[phase] = append(c.taps[phase], c.offset(y, x))
		}
	}
	return c
}

// PackedFloats is the number of pairs of weights that Pack makes before the tasks run: none where each is
// used by a single task, or where they are few. The tasks then make their own, in the cache.
func (c *Scatter) PackedFloats() int {
	if n := c.channels * c.bands.Large * taps; c.N*c.divided > 1 && n > fewWeights {
		return n
	}
	return 0
}

// fewWeights is the number of pairs of weights up to which several tasks make the same ones rather than wait
// for each other.
const fewWeights = 16 << 10

// group is the number of pairs of weights of a group of channels.
func (c *Scatter) group() int { return c.channels * conv.TapRows * taps }

// Pack pairs the weights of pairs of channels [lo, hi) of the small grid, phase by phase.
func (c *Scatter) Pack(lo, hi int) {
	row := c.bands.Large * taps
	for s := lo; s < hi; s++ {
		w := c.Weights[2*s*row:][:2*row]
		half.PairTaps(c.set, c.Packed[s*row:][:row], w[:row], w[row:], &phaseOrder)
	}
}

// Scratch is the number of floats that a thread needs.
func (c *Scatter) Scratch() int {
	floats := c.channels*c.plane + c.channel() + 2*conv.TapRows*c.rows*c.Width
	if c.PackedFloats() == 0 {
		floats += c.group()
	}
	return floats
}

// Run runs tasks [lo, hi), after Pack.
func (c *Scatter) Run(scratch []float32, lo, hi int) {
	copies, scratch := scratch[:c.channels*c.plane], scratch[c.channels*c.plane:]
	one, scratch := scratch[:c.channel()], scratch[c.channel():]
	sums, packed := scratch[:2*conv.TapRows*c.rows*c.Width], scratch[2*conv.TapRows*c.rows*c.Width:]
	c.each(lo, hi,
		func(image, first int) { c.copyBand(copies, one, image, first) },
		func(image, first, group int) { c.compute(copies, sums, packed, image, first, group*conv.TapRows) })
}

// copyBand copies the rows of the small grid around a band, with zeros beyond the edges.
func (c *Scatter) copyBand(dst, one []float32, image, first int) {
	plane := c.Height * c.Width
	window := banded.Window{Height: c.Height, Width: c.Width, Top: first - 1, Left: -1, Rows: c.rows + 2,
		Columns: c.pitch}
	for s := range c.channels {
		from, to := c.Small[(image*c.channels+s)*2*plane:][:2*plane], dst[s*c.plane:]
		if c.Width == narrow {
			to = one
		}
		window.CopyPairs(c.set, to, from, from[plane:])
		if c.Width == narrow {
			c.spread(dst[s*c.plane:], one)
		}
	}
}

// weights returns the pairs of weights of the channels from l on, and the distance between two pairs of
// channels of the small grid.
func (c *Scatter) weights(packed []float32, l int) (w []float32, step int) {
	row := c.bands.Large * taps
	if c.Packed != nil {
		return c.Packed[l*taps:], row
	}
	const size = conv.TapRows * taps
	for s := range c.channels {
		from := c.Weights[2*s*row+l*taps:]
		if ahead := l + conv.TapRows; ahead < c.bands.Large { // the next group's, a page apart
			conv.Prefetch(c.set, half.PairsOf(from[size:][:size]))
			conv.Prefetch(c.set, half.PairsOf(from[row+size:][:size]))
		}
		half.PairTaps(c.set, packed[s*size:][:size], from[:size], from[row:][:size], &phaseOrder)
	}
	return packed, size
}

// compute computes the channels from l on of a band.
func (c *Scatter) compute(copies, sums, packed []float32, image, first, l int) {
	n, one, width := c.rows*c.Width, conv.TapRows*c.rows*c.Width, 2*c.Width
	sum := conv.TapSum{Pitch: n, X: copies, Channels: c.channels, XStep: c.plane,
		WRow: taps, ReLU: c.ReLU, Fold: c.fold}
	weights, step := c.weights(packed, l)
	sum.WStep = step
	if c.Bias != nil {
		sum.Bias = c.Bias[l:][:conv.TapRows]
	}
	for phase, of := range c.taps {
		sum.Y, sum.Taps, sum.W = sums[phase&1*one:], of, weights[4*phase:]
		sum.ComputePairs(c.product, c.pixels)
		if phase&1 == 0 {
			continue
		}
		for r := range conv.TapRows {
			row := ((image*c.bands.Large+l+r)*2*c.Height + 2*first + phase>>1) * width
			c.store(row, sums[r*n:][:n], sums[one+r*n:][:n])
		}
	}
}

// store stores every other row of a channel of the large grid, from element at on.
func (c *Scatter) store(at int, even, odd []float32) {
	width := 2 * c.Width
	if c.Large.F == nil {
		to := half.PairsOf(c.Large.H[at:][:(2*c.rows-1)*width])
		half.RoundPairs(c.product, to, width, even, odd, c.Width, c.rows, c.Width)
		return
	}
	for i, v := range even {
		to := c.Large.F[at+i/c.Width*2*width+i%c.Width*2:][:2]
		to[0], to[1] = v, odd[i]
	}
}
