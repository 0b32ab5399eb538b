//go:build !amd64 || noasm

package vec

var built = []Set{Go}

// TileRows is the maximum number of rows that one tile keeps in registers.
func (Set) TileRows() int { return 2 }

// DotRows is the same for dot products.
func (Set) DotRows() int { return 2 }

// Tile adds weighted runs of x to rows of y; see tile.
func (Set) Tile(y []float32, pitch, rows, n int, x []float32, segments, weights []int32, w []float32, stride int) {
	tile(y, pitch, rows, n, x, segments, weights, w, stride)
}

// Dots multiplies rows of p with runs of x; see dots.
func (Set) Dots(out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	dots(out, pitch, rows, p, stride, n, x, segments)
}
