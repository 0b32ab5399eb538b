package cpu

import (
	"unsafe"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/cpu/winograd"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions of bfloat16 on processors that multiply pairs of them (vec.Pairs). What is added up is
// paired: two channels of the small grid for a scatter, two neighbouring columns for a gather, the
// two halves of a band's pixels for a weight gradient. Pairs then take the way of float32 with half as
// many terms. Sums are float32 and rounded as they are stored.

// pairs returns how the current step's products of pairs are computed: NoPairs unless both operands
// are bfloat16.
func (b *binder) pairs() vec.Pairs {
	if b.split() || !b.bfloat() {
		return vec.NoPairs
	}
	return b.backend.pairs
}

// half returns the i-th input, a 16-bit one, as it is.
func (b *binder) half(i int) []uint16 {
	id := b.current.In[i]
	b.reads(id)
	return b.views[id].h
}

// asPairs returns neighbouring 16-bit numbers as pairs.
func asPairs(x []uint16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&x[0])), len(x)/2)
}

// convPairs binds a gather with products of pairs, or returns nil if there is no kernel for it.
func (b *binder) convPairs(g *geometry, op nn.Conv2D) func() {
	pairs := b.pairs()
	if pairs == vec.NoPairs || !b.bfloatOut() {
		return nil
	}
	if !op.Up && !op.Pool {
		if run := b.gatherPairs(g, op.ReLU); run != nil || b.err != nil {
			return run
		}
	}
	for _, bind := range []func(*geometry, nn.Conv2D) func(){b.winogradPairs, b.spreadPairs, b.directPairs} {
		if run := bind(g, op); run != nil || b.err != nil {
			return run
		}
	}
	return nil
}

// repeated returns the first input of a Conv2D with Up as if each pixel were repeated, in scratch, and the function that
// repeats them.
func (b *binder) repeated(g *geometry) (x []uint16, repeat func()) {
	x = b.halves(g.n * g.large * g.hl * g.wl)
	return x, b.doubled(x, b.half(0), g.n*g.large*g.hl/2, g.wl/2)
}

// pairGather computes the small grid of a patched geometry. Between two zeros, a row of the large grid is
// one of pairs: the first two taps of a kernel's row meet pair q for output q, the last two pair
// q + 1. Weights are pairs as they lie.
type pairGather struct {
	geometry
	set     vec.Set
	pairs   vec.Pairs
	small   volume.Values
	large   []uint16
	w, bias []float32
	relu    bool
	divided int // bands of an image
	parts   int // of the small grid's channels
	rows    int // of the small grid, in a band
	pitch   int // pairs in a copied row
	plane   int // floats of a copied channel
	taps    []int64
	fold    int
	pixels  *vec.Pixels
}

const (
	// pairTaps is the number of pairs of a patch.
	pairTaps = patch / 2
	// narrow is the width of a small grid of which four rows make a vector.
	narrow = 4
)

// gatherPairs binds a gather with products of pairs, or returns nil if it is not one of those.
func (b *binder) gatherPairs(g *geometry, relu bool) func() {
	pairs := b.pairs()
	lanes := pairs.TapLanes()
	fits := g.ws >= lanes || 2*g.ws == lanes && g.hs%2 == 0 || g.ws == narrow && g.hs%4 == 0
	if pairs == vec.NoPairs || !b.patched(g) || !fits || g.small%vec.TapRows != 0 ||
		g.large*4*(g.ws+1)*4 > directFloats {
		return nil
	}
	c := &pairGather{geometry: *g, set: b.backend.set, pairs: pairs, relu: relu,
		small: b.outValues(0), large: b.half(0), w: asPairs(b.half(1)), bias: b.bias(g.small), pitch: g.ws + 1}
	if b.err != nil {
		return nil
	}
	c.divide(b.backend.Threads())
	c.list(b)
	groups := g.small / vec.TapRows
	sums := vec.TapRows * c.rows * c.ws
	copies := g.large * c.plane
	work := groups / c.parts * sums * g.large * patch
	return b.shared(g.n*c.divided*c.parts, copies+sums+c.channel(), work, func(scratch []float32, lo, hi int) {
		packed := -1
		for task := lo; task < hi; task++ {
			band, part := task/c.parts, task%c.parts
			if band != packed {
				c.copyBand(scratch, scratch[copies+sums:], band/c.divided, band%c.divided*c.rows)
				packed = band
			}
			for group := part * groups / c.parts; group < (part+1)*groups/c.parts; group++ {
				c.compute(scratch, scratch[copies:][:sums], band/c.divided, band%c.divided*c.rows, group*vec.TapRows)
			}
		}
	})
}

// divide chooses bands of as many rows each, and parts of the channels, for the threads.
func (c *pairGather) divide(threads int) {
	unit := 1 // rows of a vector
	if c.ws < c.pairs.TapLanes() {
		unit = c.pairs.TapLanes() / c.ws
	}
	wanted := max(min(2*threads/c.n, c.hs/max(directRows, unit)), 1)
	for c.divided = 1; c.divided < c.hs/unit; c.divided++ {
		c.rows = c.hs / c.divided
		if c.hs%c.divided == 0 && c.rows%unit == 0 && c.divided >= wanted && c.geometry.large*c.channel() <= directFloats {
			break
		}
	}
	c.rows = c.hs / c.divided
	groups := c.geometry.small / vec.TapRows
	c.parts = min(max((threads+c.n*c.divided-1)/(c.n*c.divided), 1), groups)
}

// channel is the number of floats of a channel's rows of pairs in a band.
func (c *pairGather) channel() int { return (2*c.rows + 2) * c.pitch }

// list lists a band's vectors.
func (c *pairGather) list(b *binder) {
	var from, to []int
	lanes := c.pairs.TapLanes()
	c.plane = c.channel()
	switch {
	case c.ws == narrow: // the taps' pairs of all pixels, one tap after the other
		c.plane = pairTaps * c.rows * c.ws
		for p := 0; p < c.rows*c.ws; p += lanes {
			from, to = append(from, p), append(to, p)
		}
	case c.ws < lanes:
		c.fold = 2 * c.pitch
		for row := 0; row < c.rows; row += 2 {
			from, to = append(from, 2*row*c.pitch), append(to, row*c.ws)
		}
	default:
		for row := range c.rows {
			for column := 0; column < c.ws; column += lanes {
				first := min(column, c.ws-lanes)
				from, to = append(from, 2*row*c.pitch+first), append(to, row*c.ws+first)
			}
		}
	}
	c.taps = []int64{0}
	if c.ws != narrow {
		c.taps = c.taps[:0]
		for k := range pairTaps {
			c.taps = append(c.taps, int64(k/2*c.pitch+k%2))
		}
	}
	c.pixels = vec.NewPixels(from, to)
	b.table(int(c.pixels.Bytes()), 1)
}

// copyBand copies the rows of the large grid under a band that begins at row first.
func (c *pairGather) copyBand(dst, one []float32, image, first int) {
	for l := range c.geometry.large {
		plane := c.large[(image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
		if c.ws != narrow {
			c.copyRows(dst[l*c.plane:], plane, first)
			continue
		}
		c.copyRows(one, plane, first)
		for k := range pairTaps {
			to := dst[l*c.plane+k*c.rows*narrow:]
			for row := range c.rows {
				*(*[narrow]float32)(to[row*narrow:]) = *(*[narrow]float32)(one[(2*row+k/2)*c.pitch+k%2:])
			}
		}
	}
}

// copyRows copies a channel's rows, each between two zeros.
func (c *pairGather) copyRows(dst []float32, plane []uint16, first int) {
	for r := range 2*c.rows + 2 {
		row, from := dst[r*c.pitch:][:c.pitch], 2*first-1+r
		if from < 0 || from >= c.hl {
			clear(row)
			continue
		}
		halves := asHalves(row)
		halves[0], halves[c.wl+1] = 0, 0
		copy(halves[1:], plane[from*c.wl:][:c.wl])
	}
}

// compute computes the channels from o on of a band.
func (c *pairGather) compute(copies, sums []float32, image, first, o int) {
	n := c.rows * c.ws
	at := (image*c.geometry.small+o)*c.hs*c.ws + first*c.ws
	sum := vec.TapSum{Y: sums, Pitch: n, X: copies, Channels: c.geometry.large, XStep: c.plane, Taps: c.taps,
		W: c.w[o*c.geometry.large*pairTaps:], WRow: c.geometry.large * pairTaps, WStep: pairTaps, ReLU: c.relu, Fold: c.fold}
	if c.ws == narrow {
		sum.Channels, sum.XStep, sum.WStep = c.geometry.large*pairTaps, n, 1
	}
	if c.bias != nil {
		sum.Bias = c.bias[o:][:vec.TapRows]
	}
	c.pairs.TapSum(&sum, c.pixels)
	for r := range vec.TapRows {
		c.small.Store(c.set, sums[r*n:][:n], at+r*c.hs*c.ws)
	}
}

// pairPatches makes patches of pairs for a band of the small grid's rows: each pairs those of a pixel in
// the band's upper half with those of its counterpart in the lower half.
type pairPatches struct {
	patchSource
	large []uint16
	zeros []uint16
}

// halfRows is the number of rows of the band's halves.
func (c *pairPatches) halfRows() int { return c.rows / 2 }

// fill makes the patches of channels [lo, hi).
func (c *pairPatches) fill(scratch []float32, lo, hi int) {
	pitch, step, half := c.wl+2, c.rowsAtOnce(), c.halfRows()
	for done := 0; done < half; done += step {
		rows := min(step, half-done)
		x := scratch[:c.padded(rows)]
		for l := lo; l < hi; l++ {
			plane := c.large[(c.image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
			for r := range 2*rows + 2 {
				above := c.row(plane, 2*(c.first+done)-1+r)
				below := c.row(plane, 2*(c.first+half+done)-1+r)
				to := x[r*pitch:][:pitch]
				to[0], to[pitch-1] = 0, 0
				c.set.PairRows(to[1:], 0, above, below, 0, 1, c.wl)
			}
			c.set.Patches(c.dst[(l*half+done)*c.ws*patch:], x, pitch, c.ws, rows)
		}
	}
}

// row returns a row of the large grid, zeros outside of it.
func (c *pairPatches) row(plane []uint16, row int) []uint16 {
	if row < 0 || row >= c.hl {
		return c.zeros
	}
	return plane[row*c.wl:][:c.wl]
}

// pairWeight computes the weight gradient of a patched geometry from pairs of pixels.
type pairWeight struct {
	geometry
	set       vec.Set
	pairs     vec.Pairs
	smallGrid []uint16
	source    *pairPatches
	small     []float32 // pairs of the band, [small, pixels/2]
	fill      func()
	pair      func()
	row, band int
}

// pairedWeight reports whether a weight gradient is computed from pairs.
func (b *binder) pairedWeight(g *geometry) bool {
	return b.pairs() != vec.NoPairs && b.patched(g) && g.hs%2 == 0
}

// newPairWeight binds the parts of a weight gradient whose operands are inputs small and large of the step.
func (b *binder) newPairWeight(g *geometry, small, large int) *pairWeight {
	c := &pairWeight{geometry: *g, set: b.backend.set, pairs: b.pairs(), smallGrid: b.half(small), row: g.large * patch}
	c.band = min(max(2*patchBand(g)&^1, 2), g.hs)
	half := c.band / 2 * g.ws
	c.source = &pairPatches{
		patchSource: patchSource{geometry: *g, set: c.set, dst: b.floats(c.row * half)},
		large:       b.half(large), zeros: make([]uint16, g.wl),
	}
	b.table(g.wl, 2)
	c.small = b.floats(g.small * half)
	c.fill = b.shared(g.large, c.source.padded(c.source.rowsAtOnce()), 4*patch*half, c.source.fill)
	c.pair = b.rows(g.small, half, func(lo, hi int) {
		n := c.source.halfRows() * c.ws
		x := c.smallGrid[(c.source.image*c.geometry.small+lo)*c.hs*c.ws+c.source.first*c.ws:]
		c.set.PairRows(c.small[lo*n:], n, x, x[n:], c.hs*c.ws, hi-lo, n)
	})
	return c
}

func (c *pairWeight) bandRows() int { return c.band }

func (c *pairWeight) at(image, first, rows int) {
	c.source.image, c.source.first, c.source.rows = image, first, rows
	c.fill()
	c.pair()
}

// products adds the band's products to rows of the gradient from row s on, for
// channels l and l+1; the first band overwrites them. gw starts at the first element.
func (c *pairWeight) products(gw []float32, s, rows, l int) {
	band := c.source
	n := band.halfRows() * c.ws
	c.pairs.Outer(gw, c.row, patch, rows, min(2, c.geometry.large-l), c.small[s*n:], n, 1,
		band.dst[l*n*patch:], patch, n*patch, n, band.image > 0 || band.first > 0)
}

// directPairs is a direct convolution of pairs of neighbouring input channels; if their number is odd, the last one
// is paired with zeros.
type directPairs struct {
	direct   // in is the number of pairs
	pairs    vec.Pairs
	channels int // of the input
	input    []uint16
	zeros    []uint16 // a plane, if the number of channels is odd
	output   volume.Values
}

// directPairs binds a direct convolution with products of pairs, or returns nil if it is not one of those. A repeated or an
// unpooled image is scratch.
func (b *binder) directPairs(g *geometry, op nn.Conv2D) func() {
	c := &directPairs{direct: direct{bands: g.gatherShape(), set: b.backend.set}, pairs: b.pairs(), channels: g.large}
	c.lanes = c.pairs.TapLanes()
	rows, fits := (g.large+1)/2, c.outW >= c.lanes || 2*c.outW == c.lanes && c.outH%2 == 0
	if !fits || c.stride != 1 || c.out%vec.TapRows != 0 || rows*c.kh*(c.outW+c.kw-1) > directFloats ||
		op.Pool && b.outValues(0).H == nil {
		return nil
	}
	c.in, c.relu, c.output, c.bias = rows, op.ReLU, b.outValues(0), b.bias(c.out)
	c.inStride, c.outStride = g.taps(), rows*g.taps()
	if c.channels%2 != 0 {
		c.zeros = make([]uint16, c.inH*c.inW)
		b.table(len(c.zeros), 2)
	}
	before, after := func() {}, func() {}
	if op.Up {
		c.input, before = b.repeated(g)
	} else {
		c.input = b.half(0)
	}
	if op.Pool {
		y := c.output.H
		c.output.H = b.halves(g.n * g.small * g.hs * g.ws)
		after = b.pooled(y, c.output.H, g.n*g.small*g.hs/2, g.ws/2)
	}
	w, pack := b.weightPairs(c.out, c.channels, g.taps())
	if b.err != nil {
		return nil
	}
	c.w = w
	c.arrange(b)
	work := c.out / c.parts * c.in * c.kh * c.kw * c.rows * c.outW
	run := b.shared(c.n*c.divided*c.parts, c.in*c.plane, work, func(scratch []float32, lo, hi int) {
		packed, groups := -1, c.out/vec.TapRows
		for task := lo; task < hi; task++ {
			band, part := task/c.parts, task%c.parts
			at := c.at(band)
			if band != packed {
				c.copyBand(scratch, at)
				packed = band
			}
			c.compute(scratch, at, part*groups/c.parts, (part+1)*groups/c.parts)
		}
	})
	return func() {
		before()
		pack()
		run()
		after()
	}
}

// copyBand copies the pairs of a band's input.
func (c *directPairs) copyBand(dst []float32, at block) {
	rows, plane := at.rows+c.kh-1, c.inH*c.inW
	within, columns := span{at.row - c.top, 1}.within(rows, c.inH), span{-c.left, 1}.within(c.pitch, c.inW)
	from := (within.start+within.lo)*c.inW + columns.start + columns.lo
	for pair := range c.in {
		x := c.input[(at.image*c.channels+2*pair)*plane:]
		other := c.zeros
		if 2*pair+1 < c.channels {
			other = x[plane:]
		}
		to := dst[pair*c.plane:][:rows*c.pitch]
		border(to, within, columns, c.pitch)
		c.set.PairRows(to[within.lo*c.pitch+columns.lo:], c.pitch, x[from:], other[from:], c.inW, within.hi-within.lo, columns.hi-columns.lo)
	}
}

// border clears what lies outside the rows and columns of a plane.
func border(plane []float32, rows, columns overlap, pitch int) {
	clear(plane[:rows.lo*pitch])
	clear(plane[rows.hi*pitch:])
	for at := rows.lo * pitch; at < rows.hi*pitch; at += pitch {
		row := plane[at : at+pitch]
		for i := range columns.lo {
			row[i] = 0
		}
		for i := columns.hi; i < pitch; i++ {
			row[i] = 0
		}
	}
}

// compute computes a band of groups [lo, hi) of output channels.
func (c *directPairs) compute(copies []float32, at block, lo, hi int) {
	sum := c.sum(copies)
	plane := c.outH * c.outW
	for group := lo; group < hi; group++ {
		o := group * vec.TapRows
		first := (at.image*c.out+o)*plane + at.row*c.outW
		if c.output.H != nil {
			sum.Half = c.output.H[first:]
		} else {
			sum.Y = c.output.F[first:]
		}
		sum.W = c.w[o*c.outStride:]
		if c.bias != nil {
			sum.Bias = c.bias[o:][:vec.TapRows]
		}
		c.pairs.TapSum(&sum, &c.pixels[c.rows-at.rows])
	}
}

// winogradPairs binds a convolution of 3×3 with products of pairs by Winograd's algorithm, or returns nil if it is not one
// of those: its weights must be a variable that the plan does not change, which are transformed when it changes. A repeated
// image is scratch.
func (b *binder) winogradPairs(g *geometry, op nn.Conv2D) func() {
	square := g.kh == 3 && g.kw == 3 && g.stride == 1 && g.pad == 1
	if !square || !winograd.PairsFit(g.large, g.small, g.hs, g.ws, op.Pool) || b.outValues(0).H == nil {
		return nil
	}
	variable := b.constant(1)
	if variable < 0 {
		return nil
	}
	c := winograd.NewPairs(g.n, g.large, g.small, g.hs, g.ws, op.ReLU, op.Pool, b.pairs(), b.backend.Threads())
	b.table(c.Bytes(), 1)
	w, _ := b.unrounded(1)
	y, bias := b.outValues(0).H, b.bias(g.small)
	u := b.transformedWeights(form{variable, winogradPairForm}, c.WeightFloats())
	transform := b.tasks(g.small, g.large*16*winogradCost, func(lo, hi int) { c.Transform(u.values, w, lo, hi) })
	var x []uint16
	before := func() {}
	if op.Up {
		x, before = b.repeated(g)
	} else {
		x = b.half(0)
	}
	run := b.following(variable, u, transform, b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		c.Run(scratch, y, x, u.values, bias, lo, hi)
	}))
	return func() {
		before()
		run()
	}
}

// spreadPairs is a spreadTaps of pairs of neighbouring input channels, whose number is even.
type spreadPairs struct {
	spreadTaps // of in/2 pairs
	pairs      vec.Pairs
	input      []uint16
	packed     []float32 // [padded, in/2] pairs
}

// spreadPairs binds a convolution with one output channel with products of pairs, or returns nil if it is not one of
// those.
func (b *binder) spreadPairs(g *geometry, op nn.Conv2D) func() {
	shape := g.gatherShape()
	if op.Up {
		shape.inH, shape.inW, shape.outH, shape.outW = shape.inH/2, shape.inW/2, shape.outH/2, shape.outW/2
		if shape.kh != 3 || shape.kw != 3 || shape.top != 1 {
			return nil
		}
	}
	c := &spreadPairs{spreadTaps: spreadTaps{bands: shape, set: b.backend.set, up: op.Up}, pairs: b.pairs()}
	c.lanes = c.pairs.TapLanes()
	if !c.spreads(c.lanes) || c.in%2 != 0 || op.Pool {
		return nil
	}
	w, ok := b.unrounded(1)
	switch {
	case !ok && op.Up:
		return nil // sums of rounded weights would be rounded again
	case !ok:
		w = b.in(1)
	}
	c.relu, c.input, c.to, c.bias = op.ReLU, b.half(0), b.outValues(0), b.bias(1)
	if b.err != nil {
		return nil
	}
	c.arrange(b)
	c.packed = b.floats(len(c.w) / 2)
	perImage, size := len(c.pixels), c.products()
	copies := c.in / 2 * (spreadRows + c.kh - 1) * c.inW
	run := b.shared(c.n*perImage, size+c.rowFloats()+copies, size*c.in/2, func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.multiply(scratch, scratch[size+c.rowFloats():], task/perImage, task%perImage)
			c.gather(scratch[:size], scratch[size:], task/perImage, task%perImage)
		}
	})
	return func() {
		c.turn(w)
		for i := range c.packed {
			c.packed[i] = vec.RoundPair(c.w[2*i], c.w[2*i+1])
		}
		run()
	}
}

// multiply computes the products z of the input rows of a band, from copies of their pairs.
func (c *spreadPairs) multiply(z, copies []float32, image, band int) {
	lo, hi := c.inputRows(band)
	n, plane, pairs := (hi-lo)*c.inW, c.inH*c.inW, c.in/2
	x := c.input[image*c.in*plane+lo*c.inW:]
	c.set.PairRows(copies, n, x, x[plane:], 2*plane, pairs, n)
	sum := vec.TapSum{Pitch: n, X: copies, Channels: pairs, XStep: n, Taps: c.offsets, WRow: pairs, WStep: 1}
	for r := 0; r < c.padded; r += vec.TapRows {
		sum.Y, sum.W = z[r*n:], c.packed[r*pairs:]
		c.pairs.TapSum(&sum, c.pixels[band])
	}
}

// weightPairs returns the current step's weights [out, in, taps] as pairs of input channels, [out, ⌈in/2⌉, taps], and a
// function that packs them if they may have changed. Those of a variable that the plan does not change are packed from the
// variable, when it has changed.
func (b *binder) weightPairs(out, in, taps int) (pairs []float32, pack func()) {
	whole, rows, products, set := in/2, (in+1)/2, b.pairs(), b.backend.set
	size := rows * taps
	if variable := b.constant(1); variable >= 0 {
		w, _ := b.unrounded(1)
		u, zeros := b.transformedWeights(form{variable, pairForm}, out*size), make([]float32, taps)
		return u.values, b.following(variable, u, b.rows(out, in*taps, func(lo, hi int) {
			for o := lo; o < hi; o++ {
				x, y := w[o*in*taps:][:in*taps], u.values[o*size:][:size]
				if whole > 0 {
					products.Round(y, taps, x, x[taps:], 2*taps, whole, taps)
				}
				if whole < rows {
					products.Round(y[whole*taps:], taps, x[2*whole*taps:], zeros, taps, 1, taps)
				}
			}
		}), func() {})
	}
	pairs, w, zeros := b.floats(out*size), b.half(1), make([]uint16, taps)
	return pairs, b.rows(out, in*taps, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			x, y := w[o*in*taps:][:in*taps], pairs[o*size:][:size]
			if whole > 0 {
				set.PairRows(y, taps, x, x[taps:], 2*taps, whole, taps)
			}
			if whole < rows {
				set.PairRows(y[whole*taps:], taps, x[2*whole*taps:], zeros, taps, 1, taps)
			}
		}
	})
}

// bfloatOut reports whether the step's first result is float32 or bfloat16.
func (b *binder) bfloatOut() bool {
	d := b.buffer(b.current.Out[0]).DType
	return d == tensor.Float32 || d == tensor.BFloat16
}
