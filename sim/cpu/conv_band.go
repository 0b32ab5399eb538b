package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/norm"
	"prismtop/sim/cpu/volume"
)

// Convolutions over many pixels process the output in bands of rows, wide ones
// also in blocks of columns. The input of a band is copied once, padded with
// zeros, into planes of one pitch (one plane for each row and column modulo the
// stride). A tap is then an offset in a plane, and the values that it contributes
// to all rows of the band form one run,
//
//	out[o, ·] = Σ over input channels and taps of weight · run
//
// with the columns between two rows of the output computed and discarded. A
// scatter of stride 1 is a gather whose taps are mirrored.

const (
	// packedFloats bounds the copies of a band, so that they stay in cache.
	packedFloats = 24 << 10
	// bandRows is the minimum number of rows of a band if they fit: rows at its
	// edges are copied twice.
	bandRows = 8
	// blockColumns is the minimum number of columns of a block.
	blockColumns = 32
)

// bands is the shape of a banded convolution: in and out are the channels and
// planes of input and output, k the taps of an output pixel.
type bands struct {
	n                 int
	in, inH, inW      int
	out, outH, outW   int
	kh, kw            int
	stride, top, left int // of the first output pixel's first tap: −top, −left
	mirrored          bool
	relu              bool
	inStride          int // between the weights of two input channels
	outStride         int // and of two output channels

	rows, columns, pitch int // of a band; floats between its rows
	segments, weights    []int32
}

// gatherShape returns the shape of a gather, without its bands.
func (g *geometry) gatherShape() bands {
	return bands{n: g.n, in: g.large, inH: g.hl, inW: g.wl, out: g.small, outH: g.hs, outW: g.ws,
		kh: g.kh, kw: g.kw, stride: g.stride, top: g.pad, left: g.pad,
		inStride: g.taps(), outStride: g.large * g.taps()}
}

// scatterShape returns the shape of a scatter of stride 1, without its bands.
func (g *geometry) scatterShape() bands {
	return bands{n: g.n, in: g.small, inH: g.hs, inW: g.ws, out: g.large, outH: g.hl, outW: g.wl,
		kh: g.kh, kw: g.kw, stride: 1, top: g.kh - 1 - g.pad, left: g.kw - 1 - g.pad, mirrored: true,
		inStride: g.large * g.taps(), outStride: g.taps()}
}

// divide chooses the bands, and reports whether they fit.
func (c *bands) divide() bool {
	if c.outH*c.outW < 4*blockColumns {
		return false
	}
	planes := c.in * c.stride * c.stride
	over, beside := (c.kh-1)/c.stride, (c.kw-1)/c.stride
	c.columns = c.outW
	fit := func() int { return packedFloats/(planes*(c.columns+beside)) - over }
	if fit() < 1 && c.columns > blockColumns {
		c.columns = max(packedFloats/(planes*(over+2))-beside, blockColumns)
		c.columns = min(c.columns/blockColumns*blockColumns, c.outW)
	}
	c.rows = min(fit(), c.outH, max(bandRows, (c.outH+maxShares-1)/maxShares))
	c.pitch = c.columns + beside
	if c.rows < 1 {
		return false
	}
	c.segments, c.weights = nil, nil
	for channel := range c.in {
		for ky := range c.kh {
			for kx := range c.kw {
				c.segments = append(c.segments,
					int32(c.plane(channel, ky%c.stride, kx%c.stride)+ky/c.stride*c.pitch+kx/c.stride))
				k := ky*c.kw + kx
				if c.mirrored {
					k = c.kh*c.kw - 1 - k
				}
				c.weights = append(c.weights, int32(channel*c.inStride+k))
			}
		}
	}
	return true
}

// plane returns the offset of the copy of a channel's rows and columns of one
// residue.
func (c *bands) plane(channel, row, column int) int {
	return ((channel*c.stride+row)*c.stride + column) * (c.rows + (c.kh-1)/c.stride) * c.pitch
}

// packed is the number of floats copied for a band.
func (c *bands) packed() int { return c.plane(c.in, 0, 0) }

// across is the number of blocks in a band, count the number of all blocks.
func (c *bands) across() int { return (c.outW + c.columns - 1) / c.columns }
func (c *bands) count() int  { return c.n * ((c.outH + c.rows - 1) / c.rows) * c.across() }

// block is a band, or a part of it: its image, first pixel, rows and columns.
type block struct{ image, row, column, rows, columns int }

func (c *bands) block(i int) block {
	perImage := (c.outH + c.rows - 1) / c.rows * c.across()
	b := block{image: i / perImage, row: i % perImage / c.across() * c.rows, column: i % c.across() * c.columns}
	b.rows, b.columns = min(c.rows, c.outH-b.row), min(c.columns, c.outW-b.column)
	return b
}

// run is the number of elements of a run over the rows of a block.
func (c *bands) run(b block) int { return (b.rows-1)*c.pitch + b.columns }

// pack copies the input of a block.
func (c *bands) pack(set vec.Set, dst []float32, in volume.Values, b block) {
	n, plane := b.rows+(c.kh-1)/c.stride, c.inH*c.inW
	for i := range c.stride {
		rows := span{b.row*c.stride - c.top + i, c.stride}.within(n, c.inH)
		for j := range c.stride {
			columns := span{b.column*c.stride - c.left + j, c.stride}.within(c.pitch, c.inW)
			for channel := range c.in {
				packValues(set, dst[c.plane(channel, i, j):][:n*c.pitch], in, (b.image*c.in+channel)*plane,
					rows, columns, c.pitch, c.inW, plane)
			}
		}
	}
}

// packValues is packPlane for the plane of inPlane elements from at on.
func packValues(set vec.Set, dst []float32, in volume.Values, at int, rows, columns overlap, width, inW, inPlane int) {
	if in.F != nil {
		packPlane(set, dst, in.F[at:][:inPlane], rows, columns, width, inW)
		return
	}
	clear(dst)
	n := columns.hi - columns.lo
	if n <= 0 {
		return
	}
	for t := rows.lo; t < rows.hi; t++ {
		from := at + (rows.start+rows.step*t)*inW + columns.start + columns.step*columns.lo
		to := dst[t*width+columns.lo:][:n]
		if columns.step == 1 {
			in.Copy(set, to, from)
			continue
		}
		for u := range to {
			in.Copy(set, to[u:u+1], from+columns.step*u)
		}
	}
}

// bindSumBands binds a gather, or a scatter of stride 1, in bands.
func bindSumBands(b *convolution) func() {
	c := b.shape
	c.relu = b.relu
	b.table(2*len(c.segments), 4)
	in, w, bias, out := b.pieces(0), b.input(1), b.bias(), b.outValues(0)
	if !b.halved() {
		out = volume.Floats(b.output())
	}
	set, one := b.backend.set, c.rows*c.pitch
	group := min(conv.TileRows(set), c.out)
	packed := (c.packed() + lineFloats - 1) / lineFloats * lineFloats
	work := c.out * len(c.segments) * c.rows * c.columns
	return b.shared(c.count(), packed+group*one, work, func(scratch []float32, lo, hi int) {
		copies, sums := scratch[:packed], scratch[packed:]
		for i := lo; i < hi; i++ {
			at := c.block(i)
			n := c.run(at)
			c.pack(set, copies, in, at)
			for o := 0; o < c.out; o += group {
				rows := min(group, c.out-o)
				clear(sums[:rows*one])
				conv.Tile(set, sums, one, rows, n, copies, c.segments, c.weights, w[o*c.outStride:], c.outStride)
				for r := range rows {
					c.store(set, out, sums[r*one:], bias, at, o+r)
				}
			}
		}
	})
}

// store writes a block of output channel o, with the bias and the ReLU.
func (c *bands) store(set vec.Set, out volume.Values, sums, bias []float32, b block, o int) {
	at, plain := ((b.image*c.out+o)*c.outH+b.row)*c.outW+b.column, bias == nil && !c.relu
	if plain && out.F != nil {
		elements.CopyRows(set, out.F[at:], c.outW, sums, c.pitch, b.rows, b.columns)
		return
	}
	for r := range b.rows {
		row := sums[r*c.pitch:][:b.columns]
		to := out.Results(row, at+r*c.outW, b.columns)
		if !plain {
			storeBiased(set, to, row, valueOr0(bias, o), c.relu)
		}
		out.Write(set, to, at+r*c.outW)
	}
}

// storeBiased computes out = y + bias, or max(0, y + bias) with a ReLU.
func storeBiased(set vec.Set, out, y []float32, bias float32, relu bool) {
	if relu {
		norm.NormaliseReLU(set, out, y, 0, 1, bias)
	} else {
		norm.Normalise(set, out, y, 0, 1, bias)
	}
}

// valueOr0 returns bias[o], or 0 without a bias.
func valueOr0(bias []float32, o int) float32 {
	if bias == nil {
		return 0
	}
	return bias[o]
}

// weightShares bounds the number of parts of the image whose weight gradients are
// summed separately and then added; weightFloats bounds the size of a gradient
// treated this way.
const (
	weightShares = 8
	weightFloats = 1 << 14
)

// bandWeight computes gw[s][l][k] = Σ small[s, p]·large[l, stride·p − pad + k] from
// a band of large, copied as for a gather, and the band of small with zeros
// in the columns between its rows.
type bandWeight struct {
	bands
	small, large volume.Values
	set          vec.Set
}

// shareSums returns a closure that sums a gradient: shares of blocks are added separately, each with scratch of size
// floats, in an order that does not depend on the number of threads. add adds a block's products, or stores those of
// the first one.
func (b *convolution) shareSums(gw []float32, blocks, size int, add func(gw, scratch []float32, block int,
	first bool)) func() {
	shares, n := min(weightShares, blocks), len(gw)
	others, set, pool := b.floats((shares-1)*n), b.backend.set, b.backend.pool
	compute := b.prepared(shares, 0, size, worthwhile, func([]float32) {}, func(_, scratch []float32, lo, hi int) {
		for share := lo; share < hi; share++ {
			part, first := gw, share*blocks/shares
			if share > 0 {
				part = others[(share-1)*n:][:n]
			}
			for i := first; i < (share+1)*blocks/shares && !pool.Ended(); i++ {
				add(part, scratch, i, i == first)
			}
		}
	})
	return inOrder(compute, b.each(n, grain, func(lo, hi int) {
		for share := range shares - 1 {
			elements.Add(set, gw[lo:hi], gw[lo:hi], others[share*n+lo:][:hi-lo])
		}
	}))
}

// bindBandsWeight binds a weight gradient in bands.
func bindBandsWeight(b *convolution) func() {
	d := &bandWeight{bands: b.shape, small: b.pieces(b.s), large: b.pieces(b.l), set: b.backend.set}
	b.table(2*len(d.segments), 4)
	size := (d.packed()+d.out*d.rows*d.pitch+lineFloats-1)/lineFloats*lineFloats + lineFloats
	return b.shareSums(b.output(), d.count(), size, d.add)
}

// add adds a block's products to a gradient, which is zeros before the first.
func (d *bandWeight) add(part, scratch []float32, i int, first bool) {
	if first {
		clear(part)
	}
	at, set, one := d.block(i), d.set, d.rows*d.pitch
	copies, p := scratch[:d.packed()], scratch[d.packed():]
	d.pack(set, copies, d.large, at)
	n := d.run(at)
	rows, columns := span{at.row, 1}.within(at.rows, d.outH), span{at.column, 1}.within(d.pitch, d.outW)
	columns.hi = at.columns
	for s := range d.out {
		plane := d.outH * d.outW
		packValues(set, p[s*one:][:at.rows*d.pitch], d.small, (at.image*d.out+s)*plane, rows, columns, d.pitch,
			d.outW, plane)
	}
	group := conv.DotRows(set)
	for s := 0; s < d.out; s += group {
		conv.Dots(set, part[s*d.outStride:], d.outStride, min(group, d.out-s), p[s*one:], one, n, copies, d.segments)
	}
}
