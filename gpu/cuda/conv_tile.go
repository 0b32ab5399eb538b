package cuda

import (
	"fmt"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions by tiles: the product of matrices that each sum is, the choice of its tile, and its launches.

// convSum is one of the three sums of a convolution.
type convSum int

const (
	gathers convSum = iota
	scatters
	weighs
)

// String is the sum's name in the names of kernels.
func (s convSum) String() string { return [...]string{"gather", "scatter", "weights"}[s] }

// matrices is a convolution as a product of an m×k and a k×n matrix, one for each parity of the result's pixels.
type matrices struct{ m, n, k, parities int64 }

// tiled reports whether the kernels that work by tiles have this geometry.
func (g *convGeometry) tiled() bool {
	return g.KH == g.KW && (g.KH == 3 && g.Stride == 1 || g.KH == 4 && g.Stride == 2)
}

// matrices returns the product that computes the sum, for a tiled geometry.
func (g *convGeometry) matrices(s convSum) matrices {
	taps, small, large := int64(g.taps()), int64(g.Small), int64(g.Large)
	switch s {
	case gathers:
		return matrices{g.pixels(), small, large * taps, 1}
	case weighs:
		return matrices{small, large * taps, g.pixels(), 1}
	}
	stride := int64(g.Stride)
	half := func(n int32) int64 { return (int64(n) + stride - 1) / stride }
	return matrices{int64(g.Images) * half(g.HL) * half(g.WL), large, small * taps / (stride * stride), stride * stride}
}

// tile is how a product of matrices is divided among blocks.
type tile struct {
	bm, bn, bk int64 // rows and columns of a block's part of the product; how much of k it loads at once
	depth      int64 // how much of k it adds, a multiple of bk
	parts      int64 // the division of k among blocks
}

// name is the end of the kernel's name.
func (t tile) name() string { return fmt.Sprintf("%dx%d", t.bm, t.bn) }

// tiles are the candidates.
var tiles = []tile{{bm: 16, bn: 16, bk: 128}, {bm: 32, bn: 32, bk: 64}, {bm: 64, bn: 64, bk: 32}}

// mostParts limits the division of k.
const mostParts = 64

// Estimates for chooseTile, in clocks.
const (
	tileLatency   = 900  // from a block's first load to its first product
	tileStep      = 150  // of a further step of bk
	finishLatency = 2500 // of a second kernel that adds the parts
	loadRate      = 8    // numbers that a multiprocessor loads
	productRate   = 64   // multiplications and additions of float32 of a multiprocessor
	blockSpread   = 2    // blocks that a multiprocessor runs at once
)

// chooseTile returns the tile and the division of k with the smallest estimated time on a device of multi
// multiprocessors.
func chooseTile(m matrices, candidates []tile, multi int) tile {
	var best tile
	least := int64(-1)
	for _, t := range candidates {
		blocks := quotientUp(m.m, t.bm) * quotientUp(m.n, t.bn) * m.parities
		steps := max(1, quotientUp(m.k, t.bk))
		for parts := int64(1); parts <= min(steps, mostParts); parts++ {
			per := quotientUp(steps, parts)
			if quotientUp(steps, per) != parts {
				continue // the same division as fewer parts
			}
			// A multiprocessor's blocks share its rates.
			each := quotientUp(blocks*parts, int64(multi))
			work := each * per * t.bk * max((t.bm+t.bn)/loadRate, t.bm*t.bn/productRate)
			cost := work + quotientUp(each, blockSpread)*(tileLatency+(per-1)*tileStep)
			if parts > 1 {
				cost += finishLatency + m.m*m.n*m.parities*parts/(loadRate*int64(multi))
			}
			if least < 0 || cost < least {
				t.depth, t.parts = per*t.bk, parts
				best, least = t, cost
			}
		}
	}
	return best
}

// quotientUp returns a/b rounded up.
func quotientUp(a, b int64) int64 { return (a + b - 1) / b }

// convTileP is ConvTileP of conv_tile.h.
type convTileP struct {
	X, W, Bias, Y, Partial                  driver.Pointer
	Geometry                                convGeometry
	M, N, K, Depth, Parts, Total            int32
	Type, OutType, BiasType, ReLU, Products int32
}

// byTiles adds the launches of a convolution by tiles, if there are kernels for it. The parts of a sum of weights that
// is deferred are added at the end of the segment.
func (b *convolutions) byTiles(s convSum, c *convolution, deferred bool) (done bool, err error) {
	g := &c.geometry
	kernels, candidates := b.tileKernels(c)
	if kernels == "" || !g.tiled() {
		return false, nil
	}
	m := g.matrices(s)
	t := chooseTile(m, candidates, b.backend.multi)
	if quotientUp(m.n, t.bn) > 65535 || m.parities*t.parts > 65535 {
		return false, nil
	}
	total := c.y.n()
	p := convTileP{X: c.x.at, W: c.w.at, Y: c.y.at, Geometry: *g, M: int32(m.m), N: int32(m.n), K: int32(m.k),
		Depth: int32(t.depth), Parts: int32(t.parts), Total: int32(total), Type: c.x.kind(), OutType: c.y.kind(),
		ReLU: flag(c.relu), Products: int32(c.products)}
	if c.bias != nil {
		p.Bias, p.BiasType = c.bias.at, c.bias.kind()
	}
	if t.parts > 1 {
		p.Partial = b.partial(t.parts*total, deferred)
	}
	name := fmt.Sprintf("%s_%v%d_%s", kernels, s, g.KH, t.name())
	grid := driver.XYZ(int(quotientUp(m.m, t.bm)), int(quotientUp(m.n, t.bn)), int(m.parities*t.parts))
	if err := b.launch(name, grid, driver.X(256), 0, parameter(&p)); err != nil || t.parts == 1 {
		return true, err
	}
	return true, b.finish(c, p.Partial, t.parts, deferred)
}

// tileKernels returns the beginning of the names of the kernels that multiply the convolution's operands by tiles, and
// their tiles; an empty name if there are none.
func (b *convolutions) tileKernels(c *convolution) (string, []tile) {
	if c.x.dtype != c.w.dtype {
		return "", nil
	}
	matrices := b.backend.set.Capability >= 80 // instructions for bf16 and TF32
	switch half := c.x.dtype != tensor.Float32; {
	case half && (matrices || c.x.dtype == tensor.Float16):
		return "conv_half", tiles
	case half:
		return "conv_wide16", tiles[1:2]
	case matrices && (c.products == nn.TF32 || c.products == nn.BF16x3):
		return "conv_rounded", tiles
	case c.products == nn.BF16x3:
		return "", nil
	}
	return "conv_f32", tiles
}
