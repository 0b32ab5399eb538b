package volume

import (
	"prismtop/sim/cpu/vec/dft"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/tensor"
)

// weightTiles computes a WeightGradient of bfloat16 with a stride of 1 by products of tiles:
//
//	a = large, channels by voxels;  b = small, voxels by channels
//
// for every tap. Rows of a are copies of a channel of the large grid, with zeros around each plane, whose rows follow
// each other: a tap is a place in them. b has zeros at the voxels between two rows.
type weightTiles struct {
	tiles    matrix.Tiles
	planes   int // of a chunk
	wide     int // voxels of a copied row
	plane    int // of a copied plane of the large grid
	pitch    int // from channel to channel of a
	voxels   int // of a plane of b, whole segments
	segments []int32
}

// Tiles makes the gradient one of products of tiles, if it is one of bfloat16 with a stride of 1, whole panels of
// channels, rows of an even number of voxels and no bias.
func (c *WeightGradient) Tiles(tiles matrix.Tiles) {
	if tiles == matrix.NoTiles || !c.joined || c.gb != nil || !whole(c.parts) || c.Small.Sides[2]%2 != 0 ||
		!bfloat16(c.small) {
		return
	}
	for _, p := range c.parts {
		if !bfloat16(p.X) {
			return
		}
	}
	sides := c.Small.Sides
	t := &weightTiles{tiles: tiles, wide: sides[2] + c.Kernel[2] - 1}
	t.plane = (sides[1] + c.Kernel[1] - 1) * t.wide
	t.voxels = wholeSegments(sides[1] * t.wide)
	for t.planes = min(sides[0], mostPlanes); ; t.planes = (t.planes + 1) / 2 {
		t.pitch = wholeSegments((t.planes+c.Kernel[0]-1)*t.plane+c.Kernel[2]+matrix.TileBlock) | matrix.TileBlock
		if t.planes == 1 || c.Large.Channels*t.pitch+c.Small.Channels*t.voxels*t.planes <= 2*tileFloats {
			break
		}
	}
	if c.Large.Channels*t.pitch > 4*tileFloats {
		return
	}
	for p := range t.planes {
		for k := 0; k < t.voxels; k += matrix.TileBlock {
			t.segments = append(t.segments, int32(p*t.plane+k), int32((p*t.voxels+k)*c.Small.Channels))
		}
	}
	c.product = t
	c.shares = min(weightShares, c.N*sides[0])
}

// bfloat16 reports whether values are.
func bfloat16(v Values) bool { return v.F == nil && v.Type == tensor.BFloat16 }

// wholeSegments rounds up to whole segments of a product.
func wholeSegments(n int) int {
	return (n + matrix.TileBlock - 1) / matrix.TileBlock * matrix.TileBlock
}

// panelFloats is the size of a plane of the large grid with zeros around it, and of a panel of its channels.
func (t *weightTiles) panelFloats(channels int) int { return roundedUp(t.plane) * (channels + panel) }

func (c *WeightGradient) productScratch() int {
	t, most := c.product, 0
	for _, p := range c.parts {
		most = max(most, t.panelFloats(p.Channels))
	}
	return c.Large.Channels*t.pitch/2 + c.Small.Channels*t.voxels*t.planes/2 + most
}

// computeProducts is Compute.
func (c *WeightGradient) computeProducts(scratch []float32, share int, ended func() bool) {
	t, depth := c.product, c.Small.Sides[0]
	sums := c.sums[share*c.all*c.width:][:c.all*c.width]
	clear(sums)
	n := c.Large.Channels * t.pitch / 2
	a, scratch := half.HalvesOf(scratch[:n]), scratch[n:]
	n = c.Small.Channels * t.voxels * t.planes / 2
	b, scratch := scratch[:n], scratch[n:]
	units := c.N * depth
	for unit, end := share*units/c.shares, (share+1)*units/c.shares; unit < end && !ended(); {
		image, z := unit/depth, unit%depth
		planes := min(end-unit, depth-z, t.planes)
		for _, part := range c.parts {
			for p := range planes + c.Kernel[0] - 1 {
				c.copyChannels(a[part.First*t.pitch+p*t.plane:], part, image, z+p-c.Pad[0], scratch)
			}
		}
		for l := range c.Large.Channels {
			clear(a[l*t.pitch+(planes+c.Kernel[0]-1)*t.plane : (l+1)*t.pitch])
		}
		for p := range planes {
			c.copyPairs(b[p*t.voxels*c.Small.Channels/2:], (image*depth+z+p)*c.Small.floats()/depth)
		}
		c.multiply(sums, a, half.HalvesOf(b), t.segments[:2*planes*t.voxels/matrix.TileBlock])
		unit += planes
	}
}

// copyChannels copies a plane of a part with zeros around it, channel by channel, pitch apart.
func (c *WeightGradient) copyChannels(dst []uint16, part Part, image, plane int, scratch []float32) {
	t, n, sides := c.product, part.Channels, c.Large.Sides
	if plane < 0 || plane >= sides[0] {
		for l := range n {
			clear(dst[l*t.pitch:][:t.plane])
		}
		return
	}
	squares := roundedUp(t.plane) / panel
	padded, turned := scratch[:squares*panel*n], scratch[squares*panel*n:][:squares*panel*panel]
	row, left := t.wide*n, c.Pad[2]*n
	clear(padded[:c.Pad[1]*row])
	for y := range sides[1] {
		to := padded[(c.Pad[1]+y)*row:][:row]
		clear(to[:left])
		part.X.Copy(c.set, to[left:][:sides[2]*n], ((image*sides[0]+plane)*sides[1]+y)*sides[2]*n)
		clear(to[left+sides[2]*n:])
	}
	clear(padded[(c.Pad[1]+sides[1])*row:])
	for l := 0; l < n; l += panel {
		dft.TransposeSquares(c.set, squares, turned, 0, squares*panel, panel, padded, l, n, panel*n)
		for i := range panel {
			half.Narrow(c.set, tensor.BFloat16, dst[(l+i)*t.pitch:][:t.plane], turned[i*squares*panel:][:t.plane])
		}
	}
}

// copyPairs copies a plane of the small grid, which begins at an element, as pairs of voxels.
func (c *WeightGradient) copyPairs(dst []float32, at int) {
	t, n, sides := c.product, c.Small.Channels, c.Small.Sides
	row := t.wide / 2 * n
	for y := range sides[1] {
		to, x := dst[y*row:][:row], c.small.H[at+y*sides[2]*n:]
		half.PairRows(c.set, to, n, x, x[n:], 2*n, sides[2]/2, n)
		clear(to[sides[2]/2*n:])
	}
	clear(dst[sides[1]*row : t.voxels/2*n])
}

// multiply adds the products of some planes for all taps. Where the large grid has one tile of channels, the second
// tile of a is that of the next tap.
func (c *WeightGradient) multiply(sums []float32, a, b []uint16, segments []int32) {
	t, in, out, taps := c.product, c.Large.Channels, c.Small.Channels, c.Kernel.Product()
	place := func(tap int) int {
		return tap/(c.Kernel[1]*c.Kernel[2])*t.plane + tap/c.Kernel[2]%c.Kernel[1]*t.wide + tap%c.Kernel[2]
	}
	for s := 0; s < out; s += matrix.TileBlock {
		columns := matrix.TileSide
		if out-s < matrix.TileBlock {
			columns = 0 // one tile of columns, twice
		}
		product := func(tap, l, rows, sumRows int) {
			t.tiles.Product(&matrix.TileProduct{A: a[l*t.pitch+place(tap):], B: b[2*s:], C: sums[(tap*in+l)*out+s:],
				Segments: segments, Groups: 1, AStride: t.pitch, AHalf: rows, BStride: 2 * out, BHalf: 2 * columns,
				CStride: out, CRowHalf: sumRows * out, CColHalf: columns, Accumulate: true})
		}
		for tap := range taps {
			l := 0
			for ; l+matrix.TileBlock <= in; l += matrix.TileBlock {
				product(tap, l, matrix.TileSide*t.pitch, matrix.TileSide)
			}
			switch {
			case l == in:
			case tap%2 == 0 && tap+1 < taps:
				product(tap, l, place(tap+1)-place(tap), in)
			case tap%2 == 0:
				product(tap, l, 0, 0)
			}
		}
	}
}
