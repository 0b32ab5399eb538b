package winograd

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/winograd"
)

// Pairs is a convolution in bfloat16 of n images of in channels to out channels, h×w pixels each, by F(2×2, 3×3): 16
// products of a tile instead of 36. Transforms are computed in float32, transformed inputs and weights are rounded to
// bfloat16 and multiplied as pairs of neighbouring channels.
//
// Some tiles of all input channels are transformed at a time and stay in the second-level cache; their products with
// eight output channels stay in the first.
type Pairs struct {
	n, in, out, h, w int
	relu, pool       bool
	set              vec.Pairs

	banded.Division
	pairs  int // of input channels
	images int // computed at a time: two if they are small
	lists  []*winograd.PairTiles
	single *winograd.PairTiles // of the last image, if it is alone
	none   []float32           // a bias of zeros
}

const (
	// leastChannels is the number of channels from which products take longer than the transforms.
	leastChannels = 16

	products = winograd.PairTilesPositions
	group    = winograd.PairTilesRows
)

// PairsFit reports whether Pairs computes a convolution.
func PairsFit(in, out, h, w int, pool bool) bool {
	return winograd.PairTilesFit(h, w, pool) && in%2 == 0 && in >= leastChannels && out >= leastChannels &&
		out%group == 0
}

// NewPairs returns a convolution that PairsFit, divided for a number of threads. Results do not depend on it. With
// pool, y has half as many rows and columns, the largest of 2×2 pixels.
func NewPairs(n, in, out, h, w int, relu, pool bool, set vec.Pairs, threads int) *Pairs {
	c := &Pairs{n: n, in: in, out: out, h: h, w: w, relu: relu, pool: pool, set: set, pairs: in / 2,
		none: make([]float32, out)}
	c.images = 1
	if winograd.PairTilesCount(h, w) == 1 {
		c.images = min(n, 2)
	}
	c.list()
	c.Division = banded.Divide((n+c.images-1)/c.images*len(c.lists), out/group, threads)
	return c
}

// list lists the vectors of tiles.
func (c *Pairs) list() {
	in, out := c.in*c.h*c.w, c.out*c.planeOut()
	all := c.images * winograd.PairTilesCount(c.h, c.w)
	for first := 0; first < all; {
		vectors := min(winograd.PairTilesAtOnce, all-first)
		if all-first == winograd.PairTilesAtOnce+1 {
			vectors = 2 // and two more: one is slow
		}
		c.lists = append(c.lists, winograd.NewPairTiles(c.h, c.w, first, vectors, in, out, c.pool))
		first += vectors
	}
	if c.n%c.images != 0 {
		c.single = winograd.NewPairTiles(c.h, c.w, 0, 1, in, out, c.pool)
	}
}

// planeOut is the size of an output plane.
func (c *Pairs) planeOut() int {
	if c.pool {
		return c.h * c.w / 4
	}
	return c.h * c.w
}

// Work is the number of products of pairs of a task.
func (c *Pairs) Work() int {
	return products * winograd.PairTilesAtOnce * winograd.Lanes * c.pairs * c.out / c.Parts
}

// Bytes is the size of the tables.
func (c *Pairs) Bytes() int {
	size := 4 * len(c.none)
	for _, l := range c.lists {
		size += int(l.Bytes())
	}
	return size
}

// WeightFloats is the size of the transformed weights.
func (c *Pairs) WeightFloats() int { return products * c.pairs * c.out }

// inputFloats is the size of a block's transformed inputs.
func (c *Pairs) inputFloats() int {
	return products * c.pairs * winograd.PairTilesAtOnce * winograd.Lanes
}

// Scratch is the number of floats that a task needs.
func (c *Pairs) Scratch() int {
	return c.inputFloats() + products*group*winograd.PairTilesAtOnce*winograd.Lanes
}

// Transform transforms the weights [out, in, 3, 3] of output channels [lo, hi) to u, [out/8, 16, pairs, 8].
func (c *Pairs) Transform(u, w []float32, lo, hi int) {
	for o := lo; o < hi; o++ {
		at := o/group*products*c.pairs*group + o%group
		for i := range c.pairs {
			g := w[(o*c.in+2*i)*9:][:18]
			first, second := winograd.PairTilesWeights(g[:9]), winograd.PairTilesWeights(g[9:])
			for k := range products {
				u[at+(k*c.pairs+i)*group] = half.RoundPair(first[k], second[k])
			}
		}
	}
}

// Run computes tasks [lo, hi) of y [n, out, h, w] from x [n, in, h, w] and transformed weights. bias may be nil.
func (c *Pairs) Run(scratch []float32, y, x []uint16, u, bias []float32, lo, hi int) {
	if bias == nil {
		bias = c.none
	}
	plane, to, image, tiles := c.h*c.w, c.planeOut(), 0, c.single
	c.Each(lo, hi, func(block int) {
		image, tiles = block/len(c.lists)*c.images, c.lists[block%len(c.lists)]
		if image+c.images > c.n {
			tiles = c.single
		}
		channels := x[image*c.in*plane:]
		winograd.PairTilesIn(c.set, scratch, channels, channels[plane:], 2*plane, tiles, c.pairs)
	}, func(_, first, end int) {
		m := scratch[c.inputFloats():]
		for g := first; g < end; g++ {
			winograd.PairTilesMultiply(c.set, m, scratch, u[g*products*c.pairs*group:], c.pairs, tiles.Vectors())
			winograd.PairTilesOut(c.set, y[(image*c.out+g*group)*to:], to, m, tiles, bias[g*group:], c.relu, c.pool)
		}
	})
}
