package matrix

import "prismtop/sim/tensor"

// TileBlock is the number of rows and of columns of c that a TileProduct computes
// at a time, and of elements of a row of a that it multiplies at a time. TileSide is
// that of a tile's rows, and of its columns of c.
const (
	TileBlock = 32
	TileSide  = 16
)

// TileProduct is a product of matrices of bfloat16, given by their bits, summed in
// float32. For every group it replaces a block of c,
//
//	c[m·CStride + n] = Σ over segments and k of a[m·AStride + k] · b[(k/2)·BStride + 2·n + k%2]
//
// with m, n and k from 0 to 31, or adds to it. Pairs of rows of b are interleaved
// element by element (see half.TilePairs). Distances are in elements; those to the second
// half of the rows of a and c and of the columns of b and c are arbitrary, so that a block
// of 16 columns is one whose halves lie at the same place.
type TileProduct struct {
	A []uint16
	B []uint16
	C []float32

	// Segments are pairs of offsets: the start of a segment in a and in b.
	Segments []int32
	// Groups is the number of blocks of c. AStep, BStep and CStep are the distances
	// to the next block.
	Groups              int
	AStep, BStep, CStep int

	AStride, AHalf              int // of rows; to row 16
	BStride, BHalf              int // of pairs of rows; to column 16
	CStride, CRowHalf, CColHalf int // of rows; to row 16; to column 16

	// Wide blocks have 16 rows and 64 columns: BHalf and CColHalf are the distances between
	// four quarters of the columns, and there is no row 16.
	Wide bool
	// Short segments have 16 elements.
	Short bool
	// Accumulate adds to c instead of replacing it.
	Accumulate bool
}

// sides returns the rows and columns of a block and the elements of a segment.
func (p *TileProduct) sides() (rows, columns, depth int) {
	rows, columns, depth = TileBlock, TileBlock, TileBlock
	if p.Wide {
		rows, columns = TileSide, 2*TileBlock
	}
	if p.Short {
		depth = TileSide
	}
	return rows, columns, depth
}

// Tiles selects the implementation of TileProducts.
type Tiles uint8

// The implementations of tile products.
const (
	// NoTiles means no tile instructions.
	NoTiles Tiles = iota
	// PlainTiles computes in plain Go what AMX does. It is slow: a reference.
	PlainTiles
	// AMX requires a processor for which DetectTiles returns it.
	AMX
)

// multiply computes a TileProduct in plain Go, rounding as Intel's manual specifies
// for TDPBF16PS: the first and second elements of pairs are summed separately, by
// tiles of 16 pairs, and subnormal numbers count as zero.
func (p *TileProduct) multiply() {
	height, width, depth := p.sides()
	var rows, columns [2 * TileBlock][TileBlock]float32
	var sums [2 * TileBlock * TileBlock]float32
	at := func(m, n int) int {
		return m%TileSide*p.CStride + m/TileSide*p.CRowHalf + n%TileSide + n/TileSide*p.CColHalf
	}
	for group := range p.Groups {
		a, b, c := p.A[group*p.AStep:], p.B[group*p.BStep:], p.C[group*p.CStep:]
		for i := range sums[:height*width] {
			if sums[i] = 0; p.Accumulate {
				sums[i] = c[at(i/width, i%width)]
			}
		}
		for s := 0; s+1 < len(p.Segments); s += 2 {
			for i := range height {
				row := a[int(p.Segments[s])+i%TileSide*p.AStride+i/TileSide*p.AHalf:][:depth]
				for k, v := range row {
					rows[i][k] = widenNormal(v)
				}
			}
			for i := range width {
				column := b[int(p.Segments[s+1])+2*(i%TileSide)+i/TileSide*p.BHalf:]
				for k := range depth {
					columns[i][k] = widenNormal(column[k/2*p.BStride+k%2])
				}
			}
			for i := range sums[:height*width] {
				sum := pairSum(rows[i/width][:depth], columns[i%width][:depth])
				sums[i] = normal(sum + sums[i])
			}
		}
		for i := range sums[:height*width] {
			c[at(i/width, i%width)] = sums[i]
		}
	}
}

// pairSum computes one element of a product of two tiles.
func pairSum(row, column []float32) float32 {
	var first, second float32
	for k := 0; k < len(row); k += 2 {
		first = normal(first + float32(row[k]*column[k]))
		second = normal(second + float32(row[k+1]*column[k+1]))
	}
	return normal(first + second)
}

// widenNormal returns the value of a bfloat16, zero if subnormal.
func widenNormal(h uint16) float32 { return normal(tensor.BF16ToF32(h)) }

// normal returns x, or zero if x is subnormal.
func normal(x float32) float32 {
	const smallest = 0x1p-126
	if x < smallest && x > -smallest {
		return 0
	}
	return x
}
