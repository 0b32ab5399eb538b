package matrix

import "prismtop/sim/tensor"

// TileBlock is the number of rows and of columns of c that a TileProduct computes
// at a time, and of elements of a row of a that it multiplies at a time.
const TileBlock = 32

// TileProduct is a product of matrices of bfloat16, given by their bits, summed in
// float32. For every group it replaces a block of c,
//
//	c[m·CStride + n] = Σ over segments and k of a[m·AStride + k] · b[(k/2)·BStride + 2·n + k%2]
//
// with m, n and k from 0 to 31, or adds to it. Pairs of rows of b are interleaved
// element by element (see half.TilePairs). Distances are in elements; those to the second
// half of the rows of a and c and of the columns of b and c are arbitrary.
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

	// Accumulate adds to c instead of replacing it.
	Accumulate bool
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
	var rows, columns [TileBlock][TileBlock]float32
	for group := range p.Groups {
		a, b, c := p.A[group*p.AStep:], p.B[group*p.BStep:], p.C[group*p.CStep:]
		for s := 0; s+1 < len(p.Segments); s += 2 {
			for i := range TileBlock {
				row := a[int(p.Segments[s])+i%16*p.AStride+i/16*p.AHalf:][:TileBlock]
				column := b[int(p.Segments[s+1])+2*(i%16)+i/16*p.BHalf:]
				for k := range TileBlock {
					rows[i][k], columns[i][k] = widenNormal(row[k]), widenNormal(column[k/2*p.BStride+k%2])
				}
			}
			for m := range TileBlock {
				for n := range TileBlock {
					y := &c[m%16*p.CStride+m/16*p.CRowHalf+n%16+n/16*p.CColHalf]
					sum := pairSum(&rows[m], &columns[n])
					if s > 0 || p.Accumulate {
						sum += *y
					}
					*y = normal(sum)
				}
			}
		}
	}
}

// pairSum computes one element of a product of two tiles.
func pairSum(row, column *[TileBlock]float32) float32 {
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
