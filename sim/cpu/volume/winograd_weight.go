package volume

import (
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/winograd"
)

// leastTiles is the number of tiles of a unit, in all its planes, from which the gradient of
// transformed kernels is worth adding to.
const leastTiles = 32

// Winograd makes the gradient one of transformed kernels where that pays, for kernels of 3×3
// in the planes with a stride of 1, whole panels of channels and no bias, by tiles of 2×2 or
// 4×4 voxels of the small grid:
//
//	gw[kz] = Gᵀ·(Σ over n, z and tiles of D[z + kz] ⊙ (A·small[z]·Aᵀ))·G
func (c *WeightGradient) Winograd(side int) {
	if !c.square() || c.gb != nil || c.width != c.Small.Channels || !whole(c.parts) {
		return
	}
	t := newTiling(c.set, side, c.Small.Sides, c.Kernel[0], c.Large.Channels+c.Small.Channels, tilesFirst)
	one := t.points() * t.between(t.depth(), c.Large.Channels+c.Small.Channels)
	t.group = max(min(unitFloats/one, t.parts*t.down, c.N*t.units()/weightShares), 1)
	if t.planes*t.tiles*t.group >= leastTiles {
		c.tiles = &t
		c.shares = min(weightShares, c.runs())
	}
}

// runs is the number of runs of units in the same planes, of all images.
func (c *WeightGradient) runs() int { return c.N * c.tiles.chunks * c.tiles.runs() }

// runs is the number of runs in the same planes.
func (t *tiling) runs() int { return (t.parts*t.down + t.group - 1) / t.group }

// run returns the first unit of a run, the number of its units and of their tiles in a plane.
func (t *tiling) run(i int) (first, units, tiles int) {
	all, begin := t.parts*t.down, i%t.runs()*t.group
	first, units = i/t.runs()*all+begin, min(t.group, all-begin)
	for k := range units {
		tiles += t.unit(first + k).tiles
	}
	return first, units, tiles
}

// Tiled reports whether Tiles or Winograd had an effect. Other gradients read their operands
// where they are, which must be float32.
func (c *WeightGradient) Tiled() bool { return c.tiles != nil || c.product != nil }

// kernelStep is the distance between two points' gradients.
func (c *WeightGradient) kernelStep() int {
	return c.Kernel[0]*c.Large.Channels*c.Small.Channels + panel
}

func (c *WeightGradient) tileScratch() int {
	t, in, out := c.tiles, c.Large.Channels, c.Small.Channels
	return t.points()*(c.kernelStep()+t.between(t.depth(), in)+t.between(t.planes, out)) +
		max(t.copyFloats(in, t.reach), t.copyFloats(out, t.side)) + winograd.Scratch
}

// computeTiles is Compute.
func (c *WeightGradient) computeTiles(scratch []float32, share int, ended func() bool) {
	t, in, out, step := c.tiles, c.Large.Channels, c.Small.Channels, c.kernelStep()
	fromPoint, toPoint := t.between(t.depth(), in), t.between(t.planes, out)
	kernels, scratch := scratch[:t.points()*step], scratch[t.points()*step:]
	v, scratch := scratch[:t.points()*fromPoint], scratch[t.points()*fromPoint:]
	up, scratch := scratch[:t.points()*toPoint], scratch[t.points()*toPoint:]
	copied := max(t.copyFloats(in, t.reach), t.copyFloats(out, t.side))
	copies, scratch := scratch[:copied], scratch[copied:]
	small := Part{X: c.small, Channels: out}
	clear(kernels)
	runs := c.runs()
	for i := share * runs / c.shares; i < (share+1)*runs/c.shares && !ended(); i++ {
		first, units, tiles := t.run(i)
		planes := t.unit(first).planes
		for k, at := 0, 0; k < units; k++ {
			u := t.unit(first + k)
			u.run = tiles
			t.inputs(v[at*in:], copies, c.parts, in, u, scratch)
			plane, tile := t.strides(u, t.planes, out)
			for z := range u.planes {
				t.transform(winograd.Upstream, up[z*plane+at*out:], toPoint, tile, copies, small, u, u.z+z, 0, scratch)
			}
			at += u.tiles
		}
		for k := range t.points() {
			for kz := range t.taps {
				conv.Outer(c.set, kernels[k*step+kz*in*out:], out, panel, in, out/panel,
					v[k*fromPoint+kz*tiles*in:], 1, in,
					up[k*toPoint:], out, panel, planes*tiles, true)
			}
		}
	}
	sums := c.sums[share*c.all*c.width:][:c.all*c.width]
	for kz := range t.taps {
		winograd.Transform(c.set, winograd.Gradient, t.side, sums[kz*9*in*out:], 3*in*out, in*out, panel,
			kernels[kz*in*out:], t.reach*step, step, panel, in*out/panel, scratch)
	}
}
