package cuda

import (
	"fmt"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

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
		Depth: int32(t.depth), Parts: int32(t.parts), Total: int32(total), Type: c.x.kind(), OutType: c.y.kind(), ReLU: flag(c.relu), Products: int32(c.products)}
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

// partial returns memory for n numbers until the end of the step, or of the segment.
func (b *convolutions) partial(n int64, deferred bool) driver.Pointer {
	if deferred {
		return b.keep(4 * n)
	}
	return b.scratch(4 * n)
}

// convFinishP is ConvFinishP of conv.cu.
type convFinishP struct {
	Partial, Bias, Y                                       driver.Pointer
	Total, Parts, Plane, Channels, OutType, BiasType, ReLU int32
}

// partSum is ConvSum of conv.cu: the parts of a sum of weights that are added at the end of the segment.
type partSum struct {
	Partial, Sum driver.Pointer
	Total, Parts int32
}

// finish adds the launch that sums the parts of a convolution, or defers it.
func (b *convolutions) finish(c *convolution, partial driver.Pointer, parts int64, deferred bool) error {
	if deferred {
		b.sums = append(b.sums, partSum{partial, c.y.at, int32(c.y.n()), int32(parts)})
		return nil
	}
	p := convFinishP{Partial: partial, Y: c.y.at, Total: int32(c.y.n()), Parts: int32(parts), Plane: 1, Channels: 1,
		OutType: c.y.kind(), ReLU: flag(c.relu)}
	if c.bias != nil {
		s := c.y.shape
		p.Bias, p.BiasType, p.Plane, p.Channels = c.bias.at, c.bias.kind(), int32(s[2]*s[3]), int32(s[1])
	}
	left := unfinished{p: p, y: c.y, step: b.index}
	if c.bias == nil && !c.relu && !b.aside && parts <= mostLeft {
		b.unfinished = &left // the next step may add the parts
		return nil
	}
	return b.finishNow(&left)
}

// mostLeft is the number of parts up to which their sum is left to the next step, which gives each element one thread.
const mostLeft = 24

// unfinished is a convolution on the first lane whose parts are not added yet.
type unfinished struct {
	p    convFinishP
	y    operand
	step int
}

// flushFinish launches the sums that a convolution left to the next step.
func (b *builder) flushFinish() error {
	left := b.unfinished
	if left == nil {
		return nil
	}
	b.unfinished = nil
	index, aside := b.index, b.aside
	b.index, b.aside = left.step, false
	defer func() { b.index, b.aside = index, aside }()
	return b.finishNow(left)
}

func (b *builder) finishNow(left *unfinished) error {
	return b.launch("conv_finish", driver.X(int(quotientUp(left.y.n(), 32))), driver.X(128), 0, parameter(&left.p))
}

// takeParts returns the parts of an operand of the current step that a convolution left to it, if it did.
func (b *builder) takeParts(x operand) (partsP, bool) {
	left := b.unfinished
	if left == nil || left.y.at != x.at || left.y.n() != x.n() || left.y.dtype != x.dtype {
		return partsP{}, false
	}
	b.unfinished = nil
	return partsP{Sums: left.p.Partial, Count: left.p.Parts, Total: left.p.Total, Keep: 1}, true
}

// convSumsP is ConvSumsP of conv.cu.
type convSumsP struct{ Each driver.Pointer }

// flushSums launches the sums that were deferred to the end of the segment.
func (b *builder) flushSums() error {
	if len(b.sums) == 0 {
		return nil
	}
	all, most := b.sums, int32(0)
	b.sums = nil
	for _, s := range all {
		most = max(most, s.Total)
	}
	p := convSumsP{b.table(structs(all))}
	defer func(aside bool) { b.aside = aside }(b.aside)
	b.aside = true
	return b.launch("conv_sums", driver.XY(int(quotientUp(int64(most), 32)), len(all)), driver.X(128), 0, parameter(&p))
}
