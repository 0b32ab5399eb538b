package volume

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
)

const (
	// weightShares is the number of parts of the voxels whose gradients are summed
	// separately and then added.
	weightShares = 8
	// chunkFloats bounds the planes that are multiplied for all taps before the next
	// ones, and copies of them, so that they stay in the second-level cache.
	chunkFloats = 160 << 10
)

// A WeightGradient computes
//
//	gw[s][l][k] = Σ over n and m of small[n, m, s]·large[n, Stride·m − Pad + k, l]
//	gb[s] = Σ over n and m of small[n, m, s]
//
// in shares of the small grid's planes.
//
// With a stride of 1, rows follow each other in both grids at the same distance, and a
// tap's sum over many rows is one product. Beyond the end of a row the large grid's values
// are those of the next one; the small grid's are then copied with zeros there.
type WeightGradient struct {
	Geometry
	set        vec.Set
	gw, gb     []float32
	small      Values
	parts      []Part // of the large grid
	sums       []float32
	biases     []float64
	shares     int
	chunk      int // planes multiplied for all taps at a time
	joined     bool
	width, all int // of a row of sums; number of rows
	tiles      *tiling
	product    *weightTiles
}

// WeightGradient returns the gradient of the weights of all parts of the large grid. gb
// may be nil.
func (g *Geometry) WeightGradient(set vec.Set, gw, gb []float32, small Values, parts []Part) *WeightGradient {
	c := &WeightGradient{Geometry: *g, set: set, gw: gw, gb: gb, small: small, parts: parts}
	c.shares = min(weightShares, g.N*g.Small.Sides[0])
	if g.Small.Sides[0] == 1 {
		c.shares = min(weightShares, g.N*g.Small.Sides[1])
	}
	c.width, c.all = roundedUp(g.Small.Channels), g.Large.Channels*g.Kernel.Product()
	c.joined = g.Stride == Axes{1, 1, 1} && g.Small.Sides == g.Large.Sides && c.width == g.Small.Channels
	plane := g.Small.floats()/g.Small.Sides[0] + g.Large.floats()/g.Large.Sides[0]*g.Stride[0]
	if c.joined {
		plane += (g.Kernel[2] - 1) * g.Small.floats() / g.Small.Sides[0]
	}
	c.chunk = max(chunkFloats/plane, 1)
	return c
}

// SumFloats is the number of float32 sums that SetSums needs.
func (c *WeightGradient) SumFloats() int { return c.shares * c.all * c.width }

// BiasFloats is the number of float64 sums that SetSums needs.
func (c *WeightGradient) BiasFloats() int { return c.shares * c.Small.Channels }

// SetSums gives the gradient the memory for its sums.
func (c *WeightGradient) SetSums(sums []float32, biases []float64) { c.sums, c.biases = sums, biases }

// Tasks is the number of shares.
func (c *WeightGradient) Tasks() int { return c.shares }

// Work is the number of multiplications of a share.
func (c *WeightGradient) Work() int {
	return 1 + c.N*c.Small.Sides.Product()*c.all*c.width/c.shares
}

// Scratch is the number of floats that a share needs.
func (c *WeightGradient) Scratch() int {
	if c.product != nil {
		return c.productScratch()
	}
	if c.tiles != nil {
		return c.tileScratch()
	}
	if c.joined {
		return (c.Kernel[2] - 1) * min(c.chunk, c.Small.Sides[0]) * c.Small.floats() / c.Small.Sides[0]
	}
	if c.width == c.Small.Channels {
		return 0
	}
	return c.Small.Sides[2] * c.width
}

// Compute sums a share. ended is asked between pieces of it, and ends it early.
func (c *WeightGradient) Compute(scratch []float32, share int, ended func() bool) {
	if c.product != nil {
		c.computeProducts(scratch, share, ended)
		return
	}
	if c.tiles != nil {
		c.computeTiles(scratch, share, ended)
		return
	}
	clear(c.sums[share*c.all*c.width:][:c.all*c.width])
	if c.gb != nil {
		clear(c.biases[share*c.Small.Channels:][:c.Small.Channels])
	}
	// A share is some planes, or some rows of planes that are volumes of their own.
	lines, units := c.Small.Sides[1], c.N*c.Small.Sides[0]
	if c.Small.Sides[0] == 1 {
		lines, units = 1, c.N*c.Small.Sides[1]
	}
	perImage := units / c.N
	for unit, end := share*units/c.shares, (share+1)*units/c.shares; unit < end && !ended(); {
		image := unit / perImage
		n := min(end-unit, (image+1)*perImage-unit, c.chunk*c.Small.Sides[1]/lines)
		first := unit % perImage * lines
		c.add(scratch, share, image, first, first+n*lines)
		unit += n
	}
}

// add adds the products of rows lo to hi of an image, numbered through all planes.
func (c *WeightGradient) add(scratch []float32, share, image, lo, hi int) {
	sums := c.sums[share*c.all*c.width:][:c.all*c.width]
	row := c.Small.Sides[2] * c.Small.Channels
	small := c.small.F[image*c.Small.floats()+lo*row:][:(hi-lo)*row]
	for kx, at := 0, 0; c.joined && kx < c.Kernel[2]; kx++ {
		if kx != c.Pad[2] {
			c.copyEdged(scratch[at:], small, kx-c.Pad[2])
			at += len(small)
		}
	}
	for _, part := range c.parts {
		for tap := range c.Kernel.Product() {
			k := Axes{tap / (c.Kernel[1] * c.Kernel[2]), tap / c.Kernel[2] % c.Kernel[1], tap % c.Kernel[2]}
			to := sums[(tap*c.Large.Channels+part.First)*c.width:]
			switch {
			case !c.joined:
				c.addTap(to, scratch, part, image, lo, hi, k)
			case k[2] == c.Pad[2]:
				c.addJoined(to, small, part, image, lo, hi, k)
			default:
				copied := k[2]
				if copied > c.Pad[2] {
					copied--
				}
				c.addJoined(to, scratch[copied*len(small):], part, image, lo, hi, k)
			}
		}
	}
	if c.gb == nil {
		return
	}
	total := c.biases[share*c.Small.Channels:][:c.Small.Channels]
	for i, v := range small {
		total[i%len(total)] += float64(v)
	}
}

// copyEdged copies rows of the small grid, with zeros where their inputs at an offset lie
// beyond the end of their row.
func (c *WeightGradient) copyEdged(dst, rows []float32, offset int) {
	pitch := c.Small.Sides[2] * c.Small.Channels
	from, to := min(max(-offset, 0)*c.Small.Channels, pitch), max(pitch-max(offset, 0)*c.Small.Channels, 0)
	for at := 0; at < len(rows); at += pitch {
		row := dst[at:][:pitch]
		clear(row[:from])
		clear(row[to:])
		if from < to {
			copy(row[from:to], rows[at+from:])
		}
	}
}

// addJoined adds the products of one tap, those of a plane's rows at a time. small are rows
// lo to hi, with zeros at their ends if the tap is not in the middle.
func (c *WeightGradient) addJoined(sums, small []float32, part Part, image, lo, hi int, k Axes) {
	sides, offset := c.Small.Sides, k[2]-c.Pad[2]
	if max(offset, -offset) >= sides[2] {
		return
	}
	left, right := max(-offset, 0), max(offset, 0)
	for first := lo; first < hi; {
		plane := first / sides[1]
		end := min(hi, (plane+1)*sides[1])
		z, down := plane-c.Pad[0]+k[0], k[1]-c.Pad[1]
		from, to := max(first, plane*sides[1]-down), min(end, (plane+1)*sides[1]-down)
		first = end
		if z < 0 || z >= sides[0] || from >= to {
			continue
		}
		x := ((image*sides[0]+z)*sides[1]+from-plane*sides[1]+down)*sides[2] + offset + left
		conv.Outer(c.set, sums, c.width, panel, part.Channels, c.width/panel, part.X.F[x*part.Channels:], 1,
			part.Channels,
			small[((from-lo)*sides[2]+left)*c.width:], c.width, panel, (to-from)*sides[2]-left-right, true)
	}
}

// addTap adds the products of one tap, those of a row at a time.
func (c *WeightGradient) addTap(sums, scratch []float32, part Part, image, lo, hi int, k Axes) {
	left, count := c.within(k[2])
	if count <= 0 {
		return
	}
	sides, large, channels := c.Small.Sides, c.Large.Sides, c.Small.Channels
	for i := lo; i < hi; i++ {
		z, y := c.Stride[0]*(i/sides[1])-c.Pad[0]+k[0], c.Stride[1]*(i%sides[1])-c.Pad[1]+k[1]
		if z < 0 || z >= large[0] || y < 0 || y >= large[1] {
			continue
		}
		x := c.Stride[2]*left - c.Pad[2] + k[2]
		from := part.X.F[(((image*large[0]+z)*large[1]+y)*large[2]+x)*part.Channels:]
		row := c.small.F[((image*sides[0]*sides[1]+i)*sides[2]+left)*channels:]
		if c.width != channels {
			clear(scratch[:count*c.width])
			for m := range count {
				if channels == 1 {
					scratch[m*c.width] = row[m]
				} else {
					copy(scratch[m*c.width:], row[m*channels:][:channels])
				}
			}
			row = scratch
		}
		conv.Outer(c.set, sums, c.width, panel, part.Channels, c.width/panel,
			from, 1, c.Stride[2]*part.Channels, row, c.width, panel, count, true)
	}
}

// within returns the first output along the width whose input under a tap is within the
// large grid, and the number of such outputs.
func (c *WeightGradient) within(tap int) (first, count int) {
	offset, stride := tap-c.Pad[2], c.Stride[2]
	if offset < 0 {
		first = (-offset + stride - 1) / stride
	}
	end := min((c.Large.Sides[2]-1-offset+stride)/stride, c.Small.Sides[2])
	return first, end - first
}

// Rows is the number of rows of the sums, for Collect.
func (c *WeightGradient) Rows() int { return c.all }

// Collect adds the shares of rows lo to hi of the sums, in order, and stores them as
// weights.
func (c *WeightGradient) Collect(lo, hi int) {
	taps, one := c.Kernel.Product(), c.all*c.width
	for i := lo; i < hi; i++ {
		tap, l := i/c.Large.Channels, i%c.Large.Channels
		row := c.sums[i*c.width:][:c.width]
		for share := 1; share < c.shares; share++ {
			elements.Add(c.set, row, row, c.sums[share*one+i*c.width:])
		}
		for s := range c.Small.Channels {
			c.gw[(s*c.Large.Channels+l)*taps+tap] = row[s]
		}
	}
}

// CollectBias adds the shares of the bias's gradient.
func (c *WeightGradient) CollectBias() {
	for s := range c.gb {
		total := 0.0
		for share := range c.shares {
			total += c.biases[share*c.Small.Channels+s]
		}
		c.gb[s] = float32(total)
	}
}
