package conv

import "prismtop/sim/cpu/vec"

// TileRows is the maximum number of rows that one tile keeps in registers.
func TileRows(s vec.Set) int { return [...]int{vec.Go: 2, vec.AVX2: 4, vec.AVX512: 8}[s] }

// Tile adds weighted runs of x to rows of y; see tile.
func Tile(s vec.Set, y []float32, pitch, rows, n int, x []float32, segments, weights []int32, w []float32, stride int) {
	if s == vec.Go || rows <= 0 || n <= 0 || len(segments) == 0 {
		tile(y, pitch, rows, n, x, segments, weights, w, stride)
		return
	}
	k, xs, ss, ws := len(segments), &x[0], &segments[0], &weights[:len(segments)][0]
	_ = y[(rows-1)*pitch+n-1]
	for r := 0; r < rows; {
		to, from, left := &y[r*pitch], &w[r*stride], rows-r
		switch {
		case s == vec.AVX512 && left >= 8:
			tile8AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 8
		case s == vec.AVX512 && left >= 4:
			tile4AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 4
		case s == vec.AVX512 && left >= 2:
			tile2AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 2
		case s == vec.AVX512:
			tile1AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r++
		case left >= 4:
			tile4AVX2(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 4
		case left >= 2:
			tile2AVX2(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 2
		default:
			tile1AVX2(to, pitch, n, xs, ss, ws, k, from, stride)
			r++
		}
	}
}
