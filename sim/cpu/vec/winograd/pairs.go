package winograd

import (
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/internal/plain"
	"prismtop/sim/tensor"
)

// Winograd's F(2×2, 3×3) on pairs of bfloat16: a tile of 2×2 outputs of a 3×3 convolution with padding 1 takes sixteen
// products of transformed inputs and weights instead of 36. The transforms use the matrices of stages.go. Lanes are
// tiles, so that neighbouring columns of an image in bfloat16 are the halves of a lane.

// PairTiles is a list of vectors of sixteen tiles of an image: runs of neighbours in a row
// of tiles, two of eight tiles or four of four.
type PairTiles struct {
	// entries has for each vector the positions of its runs in an input plane and in an output plane, in bytes, and
	// for each row of the tiles' inputs the columns that lie in the image: a bit for each column of every run from −1
	// on, and of every run from 1 on.
	entries         []int64
	runs            int // of a vector
	width           int // of an input plane
	lastIn, lastOut int // elements of the planes
}

const (
	// PairTilesAtOnce is the largest number of vectors that are computed at once.
	PairTilesAtOnce = 3
	// PairTilesRows is the number of output channels computed at once.
	PairTilesRows = 8
	// PairTilesPositions is the number of products of a tile.
	PairTilesPositions = 16
)

// tilesRuns returns the number of runs of a vector, and their columns, for images of a width.
func tilesRuns(w int) (runs, columns int) {
	if w%16 == 0 {
		return 2, 16
	}
	return 4, 8
}

// PairTilesFit reports whether vectors of tiles cover images of h×w pixels. Those of fewer columns than sixteen are not
// pooled.
func PairTilesFit(h, w int, pooled bool) bool {
	runs, columns := tilesRuns(w)
	return h > 0 && w > 0 && h%2 == 0 && w%columns == 0 && h/2*(w/columns)%runs == 0 && !(pooled && runs > 2)
}

// PairTilesCount is the number of vectors of an image.
func PairTilesCount(h, w int) int { return h * w / (4 * Lanes) }

// NewPairTiles lists n vectors of images of h×w pixels from the given one on; in and out are the distances between
// images, in elements. With pooled, an output plane has a pixel for each tile.
func NewPairTiles(h, w, first, n, in, out int, pooled bool) *PairTiles {
	runs, columns := tilesRuns(w)
	p, across, outTile := &PairTiles{width: w, runs: runs}, w/columns, w+columns-1
	if pooled {
		outTile = columns/2 - 1
	}
	for v := first; v < first+n; v++ {
		e := make([]int64, p.words())
		for run := range runs {
			image, at := v/PairTilesCount(h, w), runs*(v%PairTilesCount(h, w))+run
			row, column := at/across*2, at%across*columns
			from, to := image*in+row*w+column, image*out+row*w+column
			if pooled {
				to = image*out + row/2*w/2 + column/2
			}
			p.lastIn, p.lastOut = max(p.lastIn, from+w+columns-1), max(p.lastOut, to+outTile)
			e[run], e[runs+run] = 2*int64(from), 2*int64(to)
			for r := range 4 {
				for side := range 2 {
					mask := int64(0)
					for i := range columns {
						if x, y := column+2*side-1+i, row-1+r; x >= 0 && x < w && y >= 0 && y < h {
							mask |= 1 << i
						}
					}
					e[2*runs+r] |= mask << (32*side + columns*run)
				}
			}
		}
		p.entries = append(p.entries, e...)
	}
	return p
}

// words is the number of words of an entry.
func (p *PairTiles) words() int { return 2*p.runs + 4 }

// Vectors is the number of vectors.
func (p *PairTiles) Vectors() int { return len(p.entries) / p.words() }

// Bytes is the size of the list.
func (p *PairTiles) Bytes() int64 { return 8 * int64(len(p.entries)) }

// pairTilesIn computes Bᵀ·d·B for the tiles of a list and pairs of planes, and rounds it:
//
//	v[(k·pairs + pair)·16·vectors + 16·vector + lane] = (tile k of first, tile k of second)
//
// Planes of both are a number of elements apart.
func pairTilesIn(v []float32, first, second []uint16, planes int, p *PairTiles, pairs int) {
	vectors := p.Vectors()
	for pair := range pairs {
		for at := range vectors * Lanes {
			var tile [2][PairTilesPositions]float32
			for i, plane := range [2][]uint16{first[pair*planes:], second[pair*planes:]} {
				tile[i] = p.tile(plane, at/Lanes, at%Lanes)
			}
			for k := range PairTilesPositions {
				v[(k*pairs+pair)*vectors*Lanes+at] = half.RoundPair(tile[0][k], tile[1][k])
			}
		}
	}
}

// tile returns the transformed tile of a lane.
func (p *PairTiles) tile(plane []uint16, vector, lane int) (t [PairTilesPositions]float32) {
	tiles := Lanes / p.runs // of a run
	e, run := p.entries[vector*p.words():], lane/tiles
	var d [4][4]float32
	for r := range 4 {
		for c := range 4 {
			i := lane%tiles*2 + c%2
			if e[2*p.runs+r]>>(32*(c/2)+2*tiles*run+i)&1 != 0 {
				d[r][c] = tensor.BF16ToF32(plane[int(e[run]/2)+(r-1)*p.width+c/2*2-1+i])
			}
		}
	}
	line := func(a, b, c, d float32) [4]float32 { return [4]float32{a - c, b + c, c - b, b - d} }
	var half [4][4]float32
	for c := range 4 {
		for i, x := range line(d[0][c], d[1][c], d[2][c], d[3][c]) {
			half[i][c] = x
		}
	}
	for i, h := range half {
		for j, x := range line(h[0], h[1], h[2], h[3]) {
			t[4*i+j] = x
		}
	}
	return t
}

// pairTilesMultiply computes, for positions k, outputs o and lanes i of a number of vectors,
//
//	m[(k·8 + o)·16·vectors + i] = Σ over pairs of v[(k·pairs + pair)·16·vectors + i] · u[(k·pairs + pair)·8 + o]
func pairTilesMultiply(m, v, u []float32, pairs, vectors int) {
	n := vectors * Lanes
	for k := range PairTilesPositions {
		for o := range PairTilesRows {
			y := m[(k*PairTilesRows+o)*n:][:n]
			clear(y)
			for pair := k * pairs; pair < (k+1)*pairs; pair++ {
				plain.AxpyPairs(y, v[pair*n:][:n], u[pair*PairTilesRows+o])
			}
		}
	}
}

// pairTilesOut computes Aᵀ·m·A and the bias of eight channels, with relu the larger of that and 0, rounds it and stores
// it in planes; with pooled, the largest of each tile.
func pairTilesOut(y []uint16, plane int, m []float32, p *PairTiles, bias []float32, relu, pooled bool) {
	n, tiles := p.Vectors()*Lanes, Lanes/p.runs
	for o := range PairTilesRows {
		for at := range n {
			t := backTile(m[o*n+at:], PairTilesRows*n, bias[o])
			for i, v := range t {
				if relu {
					t[i] = max(v, 0)
				}
			}
			e, lane := p.entries[at/Lanes*p.words():], at%Lanes
			to := o*plane + int(e[p.runs+lane/tiles]/2)
			if pooled {
				y[to+lane%tiles] = tensor.F32ToBF16(max(t[0], t[1], t[2], t[3]))
				continue
			}
			for i, v := range t {
				y[to+i/2*p.width+lane%tiles*2+i%2] = tensor.F32ToBF16(v)
			}
		}
	}
}

// backTile returns the 2×2 outputs of a tile from products that are a step apart.
func backTile(m []float32, step int, bias float32) (t [4]float32) {
	line := func(a, b, c, d float32) [2]float32 { return [2]float32{a + (b + c), b - c - d} }
	var half [2][4]float32
	for j := range 4 {
		b := m[(4+j)*step]
		if j == 1 {
			b += bias
		}
		for i, x := range line(m[j*step], b, m[(8+j)*step], m[(12+j)*step]) {
			half[i][j] = x
		}
	}
	for i, h := range half {
		both := line(h[0], h[1], h[2], h[3])
		t[2*i], t[2*i+1] = both[0], both[1]
	}
	return t
}

// PairTilesWeights computes (G·g·Gᵀ)[k] of a 3×3 kernel.
func PairTilesWeights(g []float32) (u [PairTilesPositions]float32) {
	line := func(a, b, c float64) [4]float64 { return [4]float64{a, (a + b + c) / 2, (a - b + c) / 2, c} }
	var half [4][3]float64
	for c := range 3 {
		for i, v := range line(float64(g[c]), float64(g[3+c]), float64(g[6+c])) {
			half[i][c] = v
		}
	}
	for i, h := range half {
		for j, v := range line(h[0], h[1], h[2]) {
			u[4*i+j] = float32(v)
		}
	}
	return u
}

// checkPairTiles panics if a tile of planes lies outside its slice.
func checkPairTiles(x []uint16, planes, count, last int) {
	_ = x[(count-1)*planes+last]
}
