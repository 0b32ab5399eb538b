// Package square computes 3×3 convolutions of stride 1 and padding 1 as they are written: each
// output is the sum of all its products (conv.SquareSum). A max-pooling after the convolution, or
// a doubling of the image before it, is part of the computation.
//
// The input of a band of rows is copied once, padded with zeros, so that the copies stay in the
// second-level cache while all groups of output channels are computed from them. Weights are
// packed in the order in which they are read.
package square

import (
	"prismtop/sim/cpu/banded"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
)

const (
	side = 3 // of the kernel
	taps = side * side

	// copiedFloats bounds the copies of a band.
	copiedFloats = 96 << 10
	// leastRows is the number of rows that each thread gets at least if a band is divided for
	// more threads: rows at its edges are copied twice.
	leastRows = 4
	// aheadFloats is how far ahead the input is fetched into cache while it is copied.
	aheadFloats = 2 << 10
	// halfLanes is the number of columns of images of which two, or the halves of one, make a
	// vector.
	halfLanes = conv.SquareLanes / 2
)

// Options are what a convolution computes beside its sums.
type Options struct {
	ReLU bool // y = max(0, y)
	Up   bool // x has half as many rows and columns, each of which is repeated
	Pool bool // y has half as many rows and columns, the largest of 2×2 pixels
}

// Convolution is a convolution of n images of in to out channels.
type Convolution struct {
	Options
	n, in, out int
	h, w       int // of the sums: with Up, of a quarter of them
	set        vec.Set

	banded.Division
	images  int // computed at a time
	divided int // bands of an image
	rows    int // of a band; others have one unit less
	pitch   int // of the copies' rows
	plane   int // floats of a copied channel
	tiles   map[area]*conv.SquareTiles
}

// area is a kind of band: its rows, and whether it is at the upper or the lower edge.
type area struct {
	rows        int
	top, bottom bool
}

// Fits reports whether there are kernels for a convolution to out channels of h×w pixels, before
// the pooling.
func Fits(set vec.Set, in, out, h, w int, o Options) bool {
	if o.Up || o.Pool {
		if h%2 != 0 || w%2 != 0 || o.Up && o.Pool {
			return false
		}
	}
	if o.Up {
		h, w = h/2, w/2
	}
	columns := w >= conv.SquareLanes || w == halfLanes && h%2 == 0 && h >= 4 && h <= 4*halfLanes
	return set == vec.AVX512 && columns && h >= 2 && out%conv.SquareRows == 0 && 6*in*(w+side-1) <= copiedFloats
}

// New returns a convolution that Fits, divided for a number of threads. Results do not depend on
// it.
func New(n, in, out, h, w int, o Options, set vec.Set, threads int) *Convolution {
	if o.Up {
		h, w = h/2, w/2
	}
	c := &Convolution{Options: o, n: n, in: in, out: out, h: h, w: w, images: 1, set: set, pitch: w + side - 1}
	if c.folded() && n%2 == 0 {
		c.images = 2
	}
	units, all := h/c.unit(), n/c.images
	most := (copiedFloats/(in*c.pitch) - side + 1) / c.unit()
	c.divided = max((units+most-1)/most, min(2*threads/all, h/leastRows), 1)
	if c.folded() {
		c.divided = 1
	}
	c.rows = (units + c.divided - 1) / c.divided * c.unit()
	c.Division = banded.Divide(all*c.divided, out/conv.SquareRows, threads)
	c.plane = (c.rows + side - 1) * c.pitch
	c.tiles = map[area]*conv.SquareTiles{}
	for i := range c.divided {
		if a := c.band(i).area(c); c.tiles[a] == nil {
			c.tiles[a] = c.list(a)
		}
	}
	return c
}

// unit is the number of rows in multiples of which bands are cut.
func (c *Convolution) unit() int {
	if c.Pool || c.h%2 == 0 {
		return 2
	}
	return 1
}

// folded reports whether a tile's row is one of each of two images, or of each half of an image.
func (c *Convolution) folded() bool { return c.w == halfLanes }

// list lists the tiles of an area.
func (c *Convolution) list(a area) *conv.SquareTiles {
	v := conv.SquareArea{Rows: a.rows, XRow: c.pitch, YRow: c.w, Top: a.top && !c.Up, Bottom: a.bottom && !c.Up}
	switch {
	case !c.folded():
		for column := 0; column < c.w; column += conv.SquareLanes {
			v.From = append(v.From, min(column, c.w-conv.SquareLanes))
		}
	case c.images == 2:
		v.From = []int{0}
	default:
		v.From, v.Rows, v.Top, v.Bottom = []int{0}, a.rows/2, false, false
	}
	v.To = v.From
	return conv.NewSquareTiles(v)
}

// TableBytes is the size of the lists of tiles.
func (c *Convolution) TableBytes() (all int) {
	for _, t := range c.tiles {
		all += int(t.Bytes())
	}
	return all
}

// Work is the number of multiplications of a task.
func (c *Convolution) Work() int { return c.images * c.rows * c.w * c.WeightFloats() / c.Parts }

// Scratch is the number of floats that a task needs.
func (c *Convolution) Scratch() int { return c.images * (c.in*c.plane + c.between()) }

// between is the number of an image's sums that are pooled or put side by side before they are
// stored.
func (c *Convolution) between() int {
	switch {
	case c.Pool:
		return conv.SquareRows * c.rows * c.w
	case c.Up:
		return 2 * conv.SquareRows * c.rows * c.w
	}
	return 0
}

// Run computes tasks [lo, hi) of y from x and packed weights. bias may be nil.
func (c *Convolution) Run(scratch, y, x, packed, bias []float32, lo, hi int) {
	scratch = scratch[:c.Scratch()]
	copies, between := scratch[:c.images*c.in*c.plane], scratch[c.images*c.in*c.plane:]
	c.Each(lo, hi, func(i int) {
		b := c.band(i)
		for image := range c.images {
			c.copy(copies[image*c.in*c.plane:], x, b, b.image+image)
		}
	}, func(i, first, end int) {
		b := c.band(i)
		for group := first; group < end; group++ {
			switch {
			case c.Up:
				c.doubled(y, copies, between, packed, bias, b, group)
			case c.Pool:
				c.pooled(y, copies, between, packed, bias, b, group)
			default:
				plane := c.h * c.w
				q := c.sum(copies, packed, bias, group)
				q.Y, q.Pitch = y[(b.image*c.out+group*conv.SquareRows)*plane+b.row*c.w:], plane
				c.fold(&q, c.out*plane)
				q.Compute(c.set, c.tiles[b.area(c)])
			}
		}
	})
}

// band is a range of rows of an image, or of the same rows of two images.
type band struct{ image, row, rows int }

// band returns a band; bands differ by at most a unit.
func (c *Convolution) band(i int) band {
	image, i := i/c.divided*c.images, i%c.divided
	units := c.h / c.unit()
	first, end := i*units/c.divided*c.unit(), (i+1)*units/c.divided*c.unit()
	return band{image: image, row: first, rows: end - first}
}

// area returns the kind of a band.
func (b band) area(c *Convolution) area {
	return area{rows: b.rows, top: b.row == 0, bottom: b.row+b.rows == c.h}
}

// copy copies the input of an image's band.
func (c *Convolution) copy(copies, x []float32, b band, image int) {
	first, end := max(b.row-1, 0), min(b.row+b.rows+1, c.h)
	above, rows := first-(b.row-1), b.rows+side-1
	plane, n := c.h*c.w, (end-first)*c.w
	ahead := (aheadFloats + n - 1) / n * plane
	for channel := range c.in {
		to := copies[channel*c.plane:][:rows*c.pitch]
		clear(to[:above*c.pitch])
		clear(to[(above+end-first)*c.pitch:])
		elements.PadRows(c.set, to[above*c.pitch:], x[(image*c.in+channel)*plane+first*c.w:], end-first, c.w, ahead)
	}
}

// sum returns the sums of a group of output channels without their place in the output. Rows of
// y have w columns.
func (c *Convolution) sum(copies, packed, bias []float32, group int) conv.SquareSum {
	q := conv.SquareSum{Side: side, YRow: c.w, X: copies, Channels: c.in, XStep: c.plane, XRow: c.pitch,
		W: packed[group*conv.SquareRows*c.in*taps:], ReLU: c.ReLU}
	if bias != nil {
		q.Bias = bias[group*conv.SquareRows:][:conv.SquareRows]
	}
	return q
}

// fold sets the distances between the parts of a folded tile, of which images are next apart in y.
func (c *Convolution) fold(q *conv.SquareSum, next int) {
	switch {
	case c.images == 2:
		q.Fold, q.YFold = c.in*c.plane, next
	case c.folded():
		q.Fold, q.YFold = c.h/2*c.pitch, c.h/2*c.w
	}
}

// pooled computes a band of a group and pools it.
func (c *Convolution) pooled(y, copies, sums, packed, bias []float32, b band, group int) {
	q := c.sum(copies, packed, bias, group)
	q.Y, q.Pitch = sums, b.rows*c.w
	c.fold(&q, c.between())
	q.Compute(c.set, c.tiles[b.area(c)])
	for image := range c.images {
		for o := range conv.SquareRows {
			at := (((b.image+image)*c.out+group*conv.SquareRows+o)*c.h/2 + b.row/2) * c.w / 2
			elements.MaxPool(c.set, y[at:], sums[image*c.between()+o*q.Pitch:], b.rows/2, c.w/2)
		}
	}
}
