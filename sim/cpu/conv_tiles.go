package cpu

import (
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/tensor"
)

// The products of conv_patch.go on tiles of bfloat16 (matrix.TileProduct), if the
// operands are split into such parts; those of bfloat16 itself are in package pairconv.
// Operands are laid out for the tiles in scratch:
//
//	scatter: a = small, pixels by channels;       b = w, channels by (l, ·)
//	gather:  a = w, channels by (l, ·);           b = patches, (l, ·) by pixels
//	weight:  a = small, channels by pixels;       b = patches, pixels by (l, ·)

// tileWork is the number of multiplications from which a product uses tiles:
// smaller ones would spend their time laying out operands.
const tileWork = 1 << 21

// tiled reports whether a convolution's products use tiles.
func tiled(b *convolution) bool {
	pixels := b.hs * b.ws
	return b.backend.tiles != matrix.NoTiles && patched(b) && b.small%matrix.TileBlock == 0 && b.large%2 == 0 &&
		pixels%matrix.TileBlock == 0 && b.small*b.large*patch*pixels >= b.backend.tileWork
}

// tileParts are the bfloat16 parts of an operand, as float32: its low and high parts.
func tileParts(b *convolution, x []float32) [][]float32 {
	both := b.partBefore(x, len(x), false)
	return [][]float32{both[:len(x)], both[len(x):]}
}

// tileSegments are the segments of sums over k terms: for every 32 of them, the
// products of the operands' parts except low·low, smallest first. Parts lie aPart
// and bPart apart, pairs of rows of b bStride.
func tileSegments(b *convolution, k, aPart, bPart, bStride int) []int32 {
	var segments []int32
	for first := 0; first < k; first += matrix.TileBlock {
		for _, p := range [][2]int{{0, 1}, {1, 0}, {1, 1}} {
			segments = append(segments, int32(p[0]*aPart+first), int32(p[1]*bPart+first/2*bStride))
		}
	}
	b.table(len(segments), 4)
	return segments
}

// tileRows is the largest number of rows of the small grid, at most most, whose
// pixels fill whole blocks of tiles; at least one block.
func tileRows(g *geometry, most int) int {
	unit := 1
	for unit*g.ws%matrix.TileBlock != 0 {
		unit *= 2
	}
	return min(max(most/unit, 1)*unit, g.hs)
}

// narrowParts returns the parts as bfloat16, one after the other, and the function
// that fills them.
func narrowParts(b *convolution, parts [][]float32) (y []uint16, fill func()) {
	n, set := len(parts[0]), b.backend.set
	y = b.halves(len(parts) * n)
	return y, b.each(n, grain, func(lo, hi int) {
		for i, x := range parts {
			half.Narrow(set, tensor.BFloat16, y[i*n+lo:i*n+hi], x[lo:hi])
		}
	})
}

// tileScatter is a patchScatter that multiplies with tiles.
type tileScatter struct {
	patchScatter
	tiles    matrix.Tiles
	a        []uint16
	weights  [][]float32
	segments []int32
}

// bindScatterTiles binds the scatter of a tiled geometry.
func bindScatterTiles(b *convolution) func() {
	small, w, bias, large := b.input(0), b.input(1), b.bias(), b.output()
	g := new(b.geometry)
	pixels, set := g.hs*g.ws, b.backend.set
	c := &tileScatter{tiles: b.backend.tiles, weights: tileParts(b, w),
		patchScatter: patchScatter{geometry: *g, set: set, pool: b.backend.pool, large: large, bias: bias,
			pixels: pixels, row: g.large * patch, pairs: g.large / 2, pitch: 2*g.ws + 4}}
	c.band = tileRows(g, panelFloats/(2*patch*g.ws))
	parts := tileParts(b, small)
	rows := g.n * pixels
	c.a = b.halves(len(parts) * rows * g.small)
	c.segments = tileSegments(b, g.small, rows*g.small, c.packed(), 2*matrix.TileBlock)
	transpose := b.each(len(parts)*rows, 1+grain/g.small, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := parts[i/rows][i%rows/pixels*g.small*pixels+i%pixels:]
			half.TilePairColumns(set, c.a[i*g.small:][:g.small], x, x[pixels:], 2*pixels, g.small/2)
		}
	})
	size := c.panels() + len(parts)*c.packed()/2 + 2*(c.band+1)*c.pitch
	multiply := b.shared(g.n*c.pairs, size, 2*g.small*patch*pixels, func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.compute(scratch, task/c.pairs, task%c.pairs*2)
		}
	})
	return b.rectified(large, inOrder(transpose, multiply))
}

// packed is the number of weights per part for two large channels.
func (c *tileScatter) packed() int { return c.geometry.small * matrix.TileBlock }

// compute computes channels l and l+1 of an image of the large grid.
func (c *tileScatter) compute(scratch []float32, image, l int) {
	row, one, small := c.ws*patch, (c.band+2)*c.ws*patch, c.geometry.small
	products, scratch := scratch[:c.panels()], scratch[c.panels():]
	packed := len(c.weights) * c.packed()
	b, folded := asHalves(scratch[:packed/2]), scratch[packed/2:]
	for i, w := range c.weights {
		half.TilePairs(c.set, b[i*c.packed():], 2*matrix.TileBlock, w[l*patch:], w[c.row+l*patch:], 2*c.row,
			small/2, 2*patch)
	}
	clear(products[:row])
	clear(products[one:][:row])
	for first := 0; first < c.hs && !c.pool.Ended(); first += c.band {
		rows := min(c.band, c.hs-first)
		c.tiles.Product(&matrix.TileProduct{
			A: c.a[(image*c.pixels+first*c.ws)*small:], AStride: small, AHalf: 16 * small,
			AStep: matrix.TileBlock * small, B: b, BStride: 2 * matrix.TileBlock, BHalf: matrix.TileBlock,
			C: products[row:], CStride: patch, CRowHalf: 16 * patch, CColHalf: one, CStep: matrix.TileBlock * patch,
			Groups: rows * c.ws / matrix.TileBlock, Segments: c.segments,
		})
		for v := range 2 {
			p := products[v*one:][:one]
			c.fold(p, folded, image, l+v, first, rows)
			copy(p[:row], p[rows*row:][:row])
		}
	}
}

// tilePatches holds the patches of a band of the large grid, for all its parts,
// laid out for tiles.
type tilePatches struct {
	patches    [][]float32 // of each part
	fills      []func()
	y          []uint16
	geometry   *geometry
	band, part int     // rows of a band; elements of a part
	at         rowBand // the current band
}

// tilePatches allocates scratch for the patches of large.
func newTilePatches(b *convolution, g *geometry, large []float32) *tilePatches {
	row := g.large * patch
	c := &tilePatches{geometry: g, band: tileRows(g, patchBandFloats/(row*g.ws))}
	c.part = row * c.band * g.ws
	for _, x := range tileParts(b, large) {
		s, to := &patchSource{geometry: *g, set: b.backend.set, large: x}, b.floats(c.part)
		c.patches = append(c.patches, to)
		c.fills = append(c.fills, b.shared(g.large, s.padded(s.rowsAtOnce()), 4*patch*c.band*g.ws,
			func(scratch []float32, lo, hi int) {
				s.fill(to, scratch, c.at, lo, hi)
			}))
	}
	c.y = b.halves(len(c.patches) * c.part)
	return c
}

// each fills the patches of every band, calls lay for every channel of every part
// with their source and destination, then calls multiply.
func (c *tilePatches) each(b *convolution, lay func(y []uint16, x []float32, l, pixels int), multiply func()) func() {
	g, p := c.geometry, b.backend.pool
	body := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			l, pixels := i%g.large, c.at.rows*g.ws
			lay(c.y[i/g.large*c.part:][:c.part], c.patches[i/g.large][l*pixels*patch:][:pixels*patch], l, pixels)
		}
	}
	return func() {
		for image := range g.n {
			for first := 0; first < g.hs; first += c.band {
				c.at = rowBand{image, first, min(c.band, g.hs-first)}
				for _, fill := range c.fills {
					fill()
				}
				p.For(len(c.patches)*g.large, 1+grain/(c.at.rows*g.ws*patch), body)
				multiply()
			}
		}
	}
}

// bindGatherTiles binds the gather of a tiled geometry.
func bindGatherTiles(b *convolution) func() {
	large, w, bias, small := b.input(0), b.input(1), b.bias(), b.output()
	g := new(b.geometry)
	const tileHalf = matrix.TileBlock / 2
	pixels, row, set, tiles := g.hs*g.ws, g.large*patch, b.backend.set, b.backend.tiles
	a, narrow := narrowParts(b, tileParts(b, w))
	patches := newTilePatches(b, g, large)
	stride := 2 * patches.band * g.ws
	segments := tileSegments(b, row, len(w), patches.part, stride)
	work, pool := matrix.TileBlock*matrix.TileBlock*row, b.backend.pool
	body := func(lo, hi int) {
		blocks := patches.at.rows * g.ws / matrix.TileBlock
		for task := lo; task < hi; task++ {
			s, p := task/blocks*matrix.TileBlock, task%blocks*matrix.TileBlock
			tiles.Product(&matrix.TileProduct{
				A: a[s*row:], AStride: row, AHalf: tileHalf * row,
				B: patches.y[2*p:], BStride: stride, BHalf: 2 * tileHalf,
				C:       small[(patches.at.image*g.small+s)*pixels+patches.at.first*g.ws+p:],
				CStride: pixels, CRowHalf: tileHalf * pixels, CColHalf: tileHalf,
				Groups: 1, Segments: segments,
			})
		}
	}
	run := patches.each(b, func(y []uint16, x []float32, l, pixels int) {
		for i := 0; i < patch; i += 2 {
			half.TilePairColumns(set, y[(l*patch+i)/2*stride:], x[i:], x[i+1:], patch, pixels)
		}
	}, func() {
		pool.ForPieces(g.small/matrix.TileBlock*patches.at.rows*g.ws/matrix.TileBlock, 1+worthwhile/work,
			1+pieceWork/work, body)
	})
	return b.rectified(small, func() {
		narrow()
		run()
		for i := range small {
			if bias == nil {
				break
			}
			small[i] += bias[i/pixels%g.small]
		}
	})
}

// bindWeightTiles binds the weight gradient of a tiled geometry.
func bindWeightTiles(b *convolution) func() {
	small, large, gw := b.input(b.s), b.input(b.l), b.output()
	g := new(b.geometry)
	const tileHalf = matrix.TileBlock / 2
	pixels, row, set, tiles := g.hs*g.ws, g.large*patch, b.backend.set, b.backend.tiles
	a, narrow := narrowParts(b, tileParts(b, small))
	patches := newTilePatches(b, g, large)
	segments := tileSegments(b, patches.band*g.ws, len(small), patches.part, 2*row)
	perPixels := len(segments) * matrix.TileBlock / (patches.band * g.ws)
	pairs := g.large / 2
	multiply := b.tasks(g.small/matrix.TileBlock*pairs, matrix.TileBlock*matrix.TileBlock*patches.band*g.ws,
		func(lo, hi int) {
			for task := lo; task < hi; task++ {
				s, l := task/pairs*matrix.TileBlock, task%pairs*2
				tiles.Product(&matrix.TileProduct{
					A:       a[(patches.at.image*g.small+s)*pixels+patches.at.first*g.ws:],
					AStride: pixels, AHalf: tileHalf * pixels,
					B: patches.y[2*l*patch:], BStride: 2 * row, BHalf: 2 * tileHalf,
					C: gw[s*row+l*patch:], CStride: row, CRowHalf: tileHalf * row, CColHalf: tileHalf,
					Groups: 1, Segments: segments[:perPixels*(patches.at.rows*g.ws/matrix.TileBlock)],
					Accumulate: patches.at.image > 0 || patches.at.first > 0,
				})
			}
		})
	run := patches.each(b, func(y []uint16, x []float32, l, pixels int) {
		half.TilePairs(set, y[2*l*patch:], 2*row, x, x[patch:], 2*patch, pixels/2, patch)
	}, multiply)
	return inOrder(narrow, run)
}
