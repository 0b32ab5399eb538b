package cpu

import (
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
)

// The decoder's transposed convolutions, 4×4 taps of stride 2 and padding 1, are
// matrix products with patches (conv.PatchFloats): one pixel of the small grid
// meets one patch of the large one through the weights w[s][l][16], in their own
// layout.
//
//	scatter: patch[p, l, ·] = Σ over s of small[s, p]·w[s, l, ·], then patches are folded
//	gather:  small[s, p] = Σ over l of w[s, l, ·]·patch[p, l, ·]
//	weight:  gw[s, l, ·] = Σ over p of small[s, p]·patch[p, l, ·]

const (
	patch = conv.PatchFloats

	// panelFloats bounds the unfolded products of one task: half of the
	// first-level cache for the two large channels computed together.
	panelFloats = 8 << 10
	// patchBandFloats bounds the patches of a whole image that a weight gradient holds at a time, partFloats
	// those of a part: what a thread has in its second-level cache.
	patchBandFloats = 128 << 10
	partFloats      = 64 << 10
	// planeFloats bounds the padded rows of a channel from which patches are
	// taken.
	planeFloats = 10 << 10
	// patchedPixels bounds the small grid of a gather by patches: with more
	// pixels and fewer channels a patch is reused too little.
	patchedPixels = 128
	// reusedPixels is the number of pixels from which the weights of two channels
	// are copied before use: at their stride in w they map to few cache sets.
	reusedPixels = 32
	// streamFloats is the number of floats of w used at a time if w is large and
	// there are few products, so that w is read from memory sequentially. AVX2
	// has half as many sums in registers and adds a part's sums more slowly: parts
	// are longer, and w is large beyond two of them.
	streamFloats     = 32 << 10
	streamFloatsAVX2 = 64 << 10
)

// patchScatter computes large from small and w, two channels of large at a time.
type patchScatter struct {
	geometry
	set                   vec.Set
	pool                  *pool.Pool
	large, small, w, bias []float32
	pixels, row           int // of the small grid; floats of w's rows
	pairs                 int // of large channels
	terms                 int // small channels added at a time
	band                  int // rows of the small grid folded together
	pitch                 int // of the folded rows
	relu                  bool
}

// bindScatterPatches binds the scatter of a patched geometry.
func bindScatterPatches(b *convolution) func() {
	g := &b.geometry
	c := &patchScatter{geometry: *g, relu: b.relu, set: b.backend.set, pool: b.backend.pool, small: b.input(0),
		w: b.input(1), bias: b.bias(), large: b.output(), pixels: g.hs * g.ws, row: g.large * patch,
		pairs: (g.large + 1) / 2, terms: g.small, pitch: 2*g.ws + 4}
	c.band = min(max(panelFloats/(2*patch*g.ws), 1), g.hs)
	stream := streamFloats
	if c.set == vec.AVX2 {
		stream = streamFloatsAVX2
		if len(c.w) <= 2*stream {
			stream = len(c.w)
		}
	}
	if terms := stream / c.row; terms < g.small && c.band == g.hs {
		c.terms = max(terms, 1)
		shares := min(c.pairs, maxShares)
		size := c.working() + (c.pairs+shares-1)/shares*c.panels()
		return b.spread(c.pairs, size, 2*g.n*g.small*patch*c.pixels, func(scratch []float32, lo, hi int) {
			for image := range c.n {
				c.stream(scratch, image, lo, hi)
			}
		})
	}
	return b.shared(g.n*c.pairs, c.working()+c.panels(), 2*g.small*patch*c.pixels, func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.compute(scratch, task/c.pairs, task%c.pairs*2)
		}
	})
}

// panels is the size of the products: for two channels, a band of rows plus one
// row before and one after.
func (c *patchScatter) panels() int { return 2 * (c.band + 2) * c.ws * patch }

// working is the number of floats besides the products: weights and folded rows.
func (c *patchScatter) working() int { return c.terms*2*patch + 2*(c.band+1)*c.pitch }

// weights returns the weights of channels l and l+1 for the small channels from
// first on, and their row pitch. Weights used often are copied.
func (c *patchScatter) weights(strip []float32, l, first, terms int) ([]float32, int) {
	w := c.w[first*c.row+l*patch:]
	if c.pixels < reusedPixels {
		return w, c.row
	}
	elements.CopyRows(c.set, strip, 2*patch, w, c.row, terms, min(2, c.geometry.large-l)*patch)
	return strip, 2 * patch
}

// compute computes channels l and l+1 of an image of the large grid.
func (c *patchScatter) compute(scratch []float32, image, l int) {
	channels, row := min(2, c.geometry.large-l), c.ws*patch
	products, scratch := scratch[:c.panels()], scratch[c.panels():]
	w, rowsOf := c.weights(scratch, l, 0, c.terms)
	folded, one := scratch[c.terms*2*patch:], (c.band+2)*row
	for v := range channels {
		clear(products[v*one:][:row])
	}
	small := c.small[image*c.geometry.small*c.pixels:]
	for first := 0; first < c.hs && !c.pool.Ended(); first += c.band {
		rows := min(c.band, c.hs-first)
		conv.Outer(c.set, products[row:], patch, one, rows*c.ws, channels, small[first*c.ws:], 1, c.pixels,
			w, rowsOf, patch, c.terms, false)
		for v := range channels {
			p := products[v*one:][:one]
			c.fold(p, folded, image, l+v, first, rows)
			copy(p[:row], p[rows*row:][:row])
		}
	}
}

// stream computes the pairs [lo, hi) of channels. It adds one part of the small
// channels to all pairs before the next part, which is prefetched meanwhile.
func (c *patchScatter) stream(scratch []float32, image, lo, hi int) {
	row, one, panels := c.ws*patch, (c.band+2)*c.ws*patch, c.panels()
	products, scratch := scratch[:(hi-lo)*panels], scratch[(hi-lo)*panels:]
	small := c.small[image*c.geometry.small*c.pixels:]
	for pair := range hi - lo {
		clear(products[pair*panels:][:row])
		clear(products[pair*panels+one:][:row])
	}
	for first := 0; first < c.geometry.small && !c.pool.Ended(); first += c.terms {
		terms := min(c.terms, c.geometry.small-first)
		for pair := lo; pair < hi; pair++ {
			c.fetch(lo, hi, first+terms, pair)
			w, rowsOf := c.weights(scratch, 2*pair, first, terms)
			conv.Outer(c.set, products[(pair-lo)*panels+row:], patch, one, c.pixels, min(2, c.geometry.large-2*pair),
				small[first*c.pixels:], 1, c.pixels, w, rowsOf, patch, terms, first > 0)
		}
	}
	folded := scratch[c.terms*2*patch:]
	for l := 2 * lo; l < min(2*hi, c.geometry.large); l++ {
		c.fold(products[(l/2-lo)*panels+l%2*one:][:one], folded, image, l, 0, c.hs)
	}
}

// fetch prefetches one pair's share of the weights of the next terms, for pairs
// [lo, hi).
func (c *patchScatter) fetch(lo, hi, first, pair int) {
	const two = 2 * patch
	width := min(hi*two, c.row) - lo*two
	for at, end := (pair-lo)*c.terms*two, (pair+1-lo)*c.terms*two; at < end; {
		n := min(end-at, width-at%width)
		if s := first + at/width; s < c.geometry.small {
			conv.Prefetch(c.set, c.w[s*c.row+lo*two+at%width:][:n])
		}
		at += n
	}
}

// fold adds the overlapping products of channel l, for rows of the small grid
// from first on, and stores the completed rows.
func (c *patchScatter) fold(products, folded []float32, image, l, first, rows int) {
	if first+rows == c.hs {
		clear(products[(rows+1)*c.ws*patch:][:c.ws*patch])
		rows++
	}
	conv.Fold(c.set, folded, c.pitch, products, c.ws, rows)
	c.store(image, l, folded, 2*first-1, 2*rows)
}

// store copies folded rows, starting at row top of channel l, without their first
// column and without anything beyond the image, with the bias and the ReLU.
func (c *patchScatter) store(image, l int, folded []float32, top, rows int) {
	plane := c.large[(image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
	from := max(0, -top)
	rows = min(top+rows, c.hl) - (top + from)
	to := plane[(top+from)*c.wl:][:rows*c.wl]
	if c.bias == nil && !c.relu {
		elements.CopyRows(c.set, to, c.wl, folded[from*c.pitch+1:], c.pitch, rows, c.wl)
		return
	}
	for r := range rows {
		storeBiased(c.set, to[r*c.wl:][:c.wl], folded[(from+r)*c.pitch+1:][:c.wl], valueOr0(c.bias, l), c.relu)
	}
}

// rowBand are rows of an image of the small grid.
type rowBand struct{ image, first, rows int }

// patchSource makes patches of the large grid for a band of the small grid's rows: [l][p][16].
type patchSource struct {
	geometry
	set   vec.Set
	large []float32
}

// padded is the number of floats in a channel's padded rows of a band.
func (c *patchSource) padded(rows int) int { return (2*rows + 2) * (c.wl + 2) }

// rowsAtOnce is the number of rows of the small grid served by one padded piece of
// a channel.
func (c *patchSource) rowsAtOnce() int {
	return min(max((planeFloats/(c.wl+2)-2)/2, 1), c.hs)
}

// laid is the number of floats of the patches of rows rows, and of the scratch to make them.
func (c *patchSource) laid(rows int) int {
	return c.geometry.large*patch*rows*c.ws + c.padded(c.rowsAtOnce())
}

// lay makes the patches of a band.
func (c *patchSource) lay(to []float32, at rowBand) {
	c.fill(to, to[c.geometry.large*patch*at.rows*c.ws:], at, 0, c.geometry.large)
}

// fill makes the patches of channels [lo, hi) of a band.
func (c *patchSource) fill(to, scratch []float32, at rowBand, lo, hi int) {
	for l := lo; l < hi; l++ {
		c.channel(to[l*at.rows*c.ws*patch:], scratch, at, l)
	}
}

// channel makes the patches of one channel of a band.
func (c *patchSource) channel(to, scratch []float32, at rowBand, l int) {
	pitch, step := c.wl+2, c.rowsAtOnce()
	columns := span{-1, 1}.within(pitch, c.wl)
	plane := c.large[(at.image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
	for done := 0; done < at.rows; done += step {
		rows := min(step, at.rows-done)
		x, window := scratch[:c.padded(rows)], span{2*(at.first+done) - 1, 1}.within(2*rows+2, c.hl)
		packPlane(c.set, x, plane, window, columns, pitch, c.wl)
		conv.Patches(c.set, to[done*c.ws*patch:], x, pitch, c.ws, rows)
	}
}

// bindGatherPatches binds the gather of a patched geometry.
func bindGatherPatches(b *convolution) func() {
	large, w, bias, small := b.input(0), b.input(1), b.bias(), b.output()
	g, pixels, set := b.geometry, b.hs*b.ws, b.backend.set
	source, image := &patchSource{geometry: g, set: set, large: large}, 0
	multiply := b.prepared((g.small+rowsPerTask-1)/rowsPerTask, source.laid(g.hs), 0, rowsPerTask*g.large*patch*pixels,
		func(laid []float32) { source.lay(laid, rowBand{image, 0, g.hs}) },
		func(patches, _ []float32, lo, hi int) {
			lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, g.small)
			y := small[(image*g.small+lo)*pixels:][:(hi-lo)*pixels]
			conv.Inner(set, y, pixels, hi-lo, pixels, w[lo*g.large*patch:], g.large*patch, patches,
				pixels*patch, g.large)
			for i := range y {
				if bias == nil {
					break
				}
				y[i] += bias[lo+i/pixels]
			}
		})
	return b.rectified(small, func() {
		for image = range g.n {
			multiply()
		}
	})
}

// A weight gradient in panels lays out one channel's patches at a time, a panel that fits the first-level cache beside
// what is multiplied with it, and computes the channel's gradient of all rows. No patches are made twice or written
// to memory, but small is read for each channel.
const (
	// panelPixels is the number of pixels of a panel: its patches are half of the first-level cache.
	panelPixels = 256
	// leastPanel is the number of pixels from which a panel pays: with fewer, lines of the gradient are written in
	// distant places more often than their products take.
	leastPanel = 64
	// panelled bounds small, which stays in half of the second-level cache.
	panelled = 64 << 10
)

// inPanels reports whether a weight gradient is summed in panels, which was measured with AVX2 only. Those that the
// fused optimizer sums in one band are not summed in several panels: other bits would train.
func inPanels(b *convolution) bool {
	pixels := b.hs * b.ws
	return b.backend.set == vec.AVX2 && pixels >= leastPanel && b.ws <= panelPixels && b.n*b.small*pixels <= panelled &&
		(pixels <= panelPixels || !onePatchBand(b))
}

// bindPanelWeight binds the weight gradient of a patched geometry in panels.
func bindPanelWeight(b *convolution) func() {
	small, gw := b.input(b.s), b.output()
	c := &patchSource{geometry: b.geometry, set: b.backend.set, large: b.input(b.l)}
	channels, pixels, row := c.geometry.small, c.hs*c.ws, c.geometry.large*patch
	band := min(panelPixels/c.ws, c.hs)
	panel := patch * band * c.ws
	return b.shared(c.geometry.large, panel+c.padded(c.rowsAtOnce()), channels*patch*c.n*pixels,
		func(scratch []float32, lo, hi int) {
			for l := lo; l < hi; l++ {
				for image := range c.n {
					for first := 0; first < c.hs; first += band {
						at := rowBand{image, first, min(band, c.hs-first)}
						c.channel(scratch, scratch[panel:], at, l)
						x := small[image*channels*pixels+first*c.ws:]
						conv.Outer(c.set, gw[l*patch:], row, patch, channels, 1, x, pixels, 1, scratch, patch, 0,
							at.rows*c.ws, image+first > 0)
					}
				}
			}
		})
}

// patchRows and patchChannels are the rows and channels of a weight gradient computed together. With AVX2, whose tiles
// have up to six rows, more rows read a channel's patches from the first-level cache more often.
const (
	patchRows     = 8
	patchRowsAVX2 = 16
	patchChannels = 2
)

// patchBand is the number of rows of the small grid whose patches a weight gradient holds at
// a time: all, or a part if its gradients are few enough to be summed in parts.
func (g *geometry) patchBand() int {
	row := g.large * patch * g.ws
	if g.n*g.hs*row > patchBandFloats && g.small*g.large*patch <= weightFloats {
		return min(max(partFloats/row, 1), g.hs)
	}
	return min(max(patchBandFloats/row, 1), g.hs)
}

// patchProducts are the parts of a patched geometry's weight gradient.
type patchProducts interface {
	// bandRows is the number of rows of a whole band.
	bandRows() int
	// block is the number of rows of the gradient and of channels that products computes.
	block() (rows, channels int)
	// laid is the number of floats of a band's operands.
	laid() int
	// lay lays out a band's operands.
	lay(to []float32, at rowBand)
	// products computes the band's products, or adds them, to rows of the gradient from row s on,
	// for a block's channels from l on. gw starts at the first element.
	products(laid []float32, at rowBand, gw []float32, s, rows, l int, add bool)
}

// patchWeight computes the weight gradient of a patched geometry.
type patchWeight struct {
	patchSource
	small []float32
	band  int // rows of the small grid whose patches are made together
}

func newPatchWeight(b *convolution) *patchWeight {
	return &patchWeight{small: b.input(b.s), band: b.patchBand(), patchSource: patchSource{geometry: b.geometry,
		set: b.backend.set, large: b.input(b.l)}}
}

// bindPatchWeight and bindPatchPairsWeight bind the weight gradient of a patched geometry, of float32 and of pairs.
func bindPatchWeight(b *convolution) func()      { return weightPatches(b, newPatchWeight(b)) }
func bindPatchPairsWeight(b *convolution) func() { return weightPatches(b, newPairWeight(b)) }

func (c *patchWeight) bandRows() int { return c.band }
func (c *patchWeight) laid() int     { return c.patchSource.laid(c.band) }

func (c *patchWeight) block() (rows, channels int) {
	if c.set == vec.AVX2 {
		return patchRowsAVX2, patchChannels
	}
	return patchRows, patchChannels
}

func (c *patchWeight) products(laid []float32, at rowBand, gw []float32, s, rows, l int, add bool) {
	pixels, one := c.hs*c.ws, at.rows*c.ws
	x := c.small[at.image*c.geometry.small*pixels+at.first*c.ws:]
	conv.Outer(c.set, gw, c.geometry.large*patch, patch, rows, min(patchChannels, c.geometry.large-l),
		x[s*pixels:], pixels, 1, laid[l*one*patch:], patch, one*patch, one, add)
}

// weightPatches binds the weight gradient of a patched geometry. A small one is summed in parts, each
// of some bands, which are then added; for a large one every thread lays out each band.
func weightPatches(b *convolution, c patchProducts) func() {
	g, gw := b.geometry, b.output()
	row, perImage := g.large*patch, (g.hs+c.bandRows()-1)/c.bandRows()
	rows, channels := c.block()
	down, across := (g.small+rows-1)/rows, (g.large+channels-1)/channels
	band := func(i int) rowBand {
		first := i % perImage * c.bandRows()
		return rowBand{i / perImage, first, min(c.bandRows(), g.hs-first)}
	}
	add := func(gw, laid []float32, i, lo, hi int, first bool) {
		for task := lo; task < hi; task++ {
			s, l := task/across*rows, task%across*channels
			c.products(laid, band(i), gw[s*row+l*patch:], s, min(rows, g.small-s), l, !first)
		}
	}
	count := g.n * perImage
	if len(gw) <= weightFloats && count > 1 {
		return b.shareSums(gw, count, c.laid(), func(part, laid []float32, i int, first bool) {
			c.lay(laid, band(i))
			add(part, laid, i, 0, down*across, first)
		})
	}
	i := 0
	multiply := b.prepared(down*across, c.laid(), 0, rows*channels*patch*c.bandRows()*g.ws,
		func(laid []float32) { c.lay(laid, band(i)) },
		func(laid, _ []float32, lo, hi int) { add(gw, laid, i, lo, hi, i == 0) })
	return func() {
		for i = range count {
			multiply()
		}
	}
}
