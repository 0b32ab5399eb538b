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
	// patchBandFloats bounds the patches that a weight gradient holds at a time.
	patchBandFloats = 64 << 10
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
	// there are few products, so that w is read from memory sequentially.
	streamFloats = 32 << 10
)

// patched reports whether the geometry is one of those convolutions, with a
// number of pixels that the kernels accept.
func (b *convolutions) patched(g *geometry) bool {
	return b.backend.set != vec.Go && g.kh == 4 && g.kw == 4 && g.stride == 2 && g.pad == 1 &&
		g.hl == 2*g.hs && g.wl == 2*g.ws && g.hs*g.ws%4 == 0 && 4*(g.wl+2) <= planeFloats
}

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

// scatterPatches binds the scatter of a patched geometry. bias may be nil.
func (b *convolutions) scatterPatches(g *geometry, large, small, w, bias []float32, relu bool) func() {
	c := &patchScatter{geometry: *g, relu: relu, set: b.backend.set, pool: b.backend.pool, large: large, small: small, w: w, bias: bias,
		pixels: g.hs * g.ws, row: g.large * patch, pairs: (g.large + 1) / 2, terms: g.small, pitch: 2*g.ws + 4}
	c.band = min(max(panelFloats/(2*patch*g.ws), 1), g.hs)
	if terms := streamFloats / c.row; terms < g.small && c.band == g.hs {
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

// patchSource makes patches of the large grid for a band of the small grid's rows:
// dst[l][p][16].
type patchSource struct {
	geometry
	set         vec.Set
	large, dst  []float32
	first, rows int // the current band
	image       int
}

// padded is the number of floats in a channel's padded rows of a band.
func (c *patchSource) padded(rows int) int { return (2*rows + 2) * (c.wl + 2) }

// rowsAtOnce is the number of rows of the small grid served by one padded piece of
// a channel.
func (c *patchSource) rowsAtOnce() int {
	return min(max((planeFloats/(c.wl+2)-2)/2, 1), c.hs)
}

// fill makes the patches of channels [lo, hi).
func (c *patchSource) fill(scratch []float32, lo, hi int) {
	pitch, step := c.wl+2, c.rowsAtOnce()
	columns := span{-1, 1}.within(pitch, c.wl)
	for done := 0; done < c.rows; done += step {
		rows := min(step, c.rows-done)
		x, window := scratch[:c.padded(rows)], span{2*(c.first+done) - 1, 1}.within(2*rows+2, c.hl)
		for l := lo; l < hi; l++ {
			plane := c.large[(c.image*c.geometry.large+l)*c.hl*c.wl:][:c.hl*c.wl]
			packPlane(c.set, x, plane, window, columns, pitch, c.wl)
			conv.Patches(c.set, c.dst[(l*c.rows+done)*c.ws*patch:], x, pitch, c.ws, rows)
		}
	}
}

// gatherPatches binds the gather of a patched geometry. bias may be nil.
func (b *convolutions) gatherPatches(g *geometry, small, large, w, bias []float32) func() {
	pixels, set := g.hs*g.ws, b.backend.set
	source := &patchSource{geometry: *g, set: set, large: large, rows: g.hs, dst: b.floats(g.large * pixels * patch)}
	fill := b.shared(g.large, source.padded(source.rowsAtOnce()), 4*patch*pixels, source.fill)
	multiply := b.tasks((g.small+rowsPerTask-1)/rowsPerTask, rowsPerTask*g.large*patch*pixels, func(lo, hi int) {
		lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, g.small)
		y := small[(source.image*g.small+lo)*pixels:][:(hi-lo)*pixels]
		conv.Inner(set, y, pixels, hi-lo, pixels, w[lo*g.large*patch:], g.large*patch, source.dst, pixels*patch, g.large)
		for i := range y {
			if bias == nil {
				break
			}
			y[i] += bias[lo+i/pixels]
		}
	})
	return func() {
		for source.image = 0; source.image < g.n; source.image++ {
			fill()
			multiply()
		}
	}
}

// patchRows is the number of rows of a weight gradient computed together.
const patchRows = 8

// patchBand is the number of rows of the small grid whose patches a weight gradient holds at
// a time.
func patchBand(g *geometry) int { return max(patchBandFloats/(g.large*patch*g.ws), 1) }

// patchWeight computes the weight gradient of a patched geometry.
type patchWeight struct {
	geometry
	set         vec.Set
	smallGrid   []float32
	source      *patchSource
	fill        func()
	pixels, row int // of the small grid; floats of w's rows
	band        int // rows of the small grid whose patches are made together
}

func (b *convolutions) newPatchWeight(g *geometry, small, large []float32) *patchWeight {
	c := &patchWeight{geometry: *g, set: b.backend.set, smallGrid: small, pixels: g.hs * g.ws, row: g.large * patch,
		band: min(patchBand(g), g.hs)}
	c.source = &patchSource{geometry: *g, set: c.set, large: large, dst: b.floats(c.row * c.band * g.ws)}
	c.fill = b.shared(g.large, c.source.padded(c.source.rowsAtOnce()), 4*patch*c.band*g.ws, c.source.fill)
	return c
}

// products adds the band's products to rows of the gradient from row s on, for
// channels l and l+1; the first band overwrites them. gw starts at the first element.
func (c *patchWeight) products(gw []float32, s, rows, l int) {
	band := c.source
	one := band.rows * c.ws
	x := c.smallGrid[band.image*c.small*c.pixels+band.first*c.ws:]
	conv.Outer(c.set, gw, c.row, patch, rows, min(2, c.large-l),
		x[s*c.pixels:], c.pixels, 1, band.dst[l*one*patch:], patch, one*patch, one, band.image > 0 || band.first > 0)
}

// patchProducts are the parts of a patched geometry's weight gradient.
type patchProducts interface {
	// at moves to a band of rows of the small grid and prepares its operands.
	at(image, first, rows int)
	// products adds the products of a band; see patchWeight.
	products(gw []float32, s, rows, l int)
	// bandRows is the number of rows of a whole band.
	bandRows() int
}

// weightPatches binds the weight gradient of a patched geometry.
func (b *convolutions) weightPatches(g *geometry, gw []float32, c patchProducts) func() {
	band, row := c.bandRows(), g.large*patch
	pairs := (g.large + 1) / 2
	multiply := b.tasks((g.small+patchRows-1)/patchRows*pairs, patchRows*2*patch*band*g.ws, func(lo, hi int) {
		for task := lo; task < hi; task++ {
			s, l := task/pairs*patchRows, task%pairs*2
			c.products(gw[s*row+l*patch:], s, min(patchRows, g.small-s), l)
		}
	})
	return func() {
		for image := range g.n {
			for first := 0; first < g.hs; first += band {
				c.at(image, first, min(band, g.hs-first))
				multiply()
			}
		}
	}
}

func (c *patchWeight) bandRows() int { return c.band }

func (c *patchWeight) at(image, first, rows int) {
	c.source.image, c.source.first, c.source.rows = image, first, rows
	c.fill()
}
