//go:build !noasm

package vec

// The methods check lengths where that costs nothing; tables of indices must be
// correct; the plain Go forms check them.

var built = []Set{Go, AVX2, AVX512}

// TileRows is the maximum number of rows that one tile keeps in registers.
func (s Set) TileRows() int { return [...]int{Go: 2, AVX2: 4, AVX512: 8}[s] }

// DotRows is the same for dot products.
func (s Set) DotRows() int { return [...]int{Go: 2, AVX2: 2, AVX512: 4}[s] }

// Tile adds weighted runs of x to rows of y; see tile.
func (s Set) Tile(y []float32, pitch, rows, n int, x []float32, segments, weights []int32, w []float32, stride int) {
	if s == Go || rows <= 0 || n <= 0 || len(segments) == 0 {
		tile(y, pitch, rows, n, x, segments, weights, w, stride)
		return
	}
	k, xs, ss, ws := len(segments), &x[0], &segments[0], &weights[:len(segments)][0]
	_ = y[(rows-1)*pitch+n-1]
	for r := 0; r < rows; {
		to, from, left := &y[r*pitch], &w[r*stride], rows-r
		switch {
		case s == AVX512 && left >= 8:
			tile8AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 8
		case s == AVX512 && left >= 4:
			tile4AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 4
		case s == AVX512 && left >= 2:
			tile2AVX512(to, pitch, n, xs, ss, ws, k, from, stride)
			r += 2
		case s == AVX512:
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

// Dots multiplies rows of p with runs of x; see dots.
func (s Set) Dots(out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	if s == Go || rows <= 0 || n <= 0 || len(segments) == 0 {
		dots(out, pitch, rows, p, stride, n, x, segments)
		return
	}
	s.dotRuns(false, out, pitch, rows, p, stride, n, x, segments)
}

// dotRuns is Dots, of pairs or not.
func (s Set) dotRuns(ofPairs bool, out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	k := len(segments)
	_, _ = out[(rows-1)*pitch+k-1], p[(rows-1)*stride+n-1]
	whole := k &^ 3
	if whole > 0 {
		s.dotGroups(ofPairs, out, pitch, rows, p, stride, n, x, segments[:whole])
	}
	if whole == k {
		return
	}
	// The last group has fewer segments than the sums the kernels write.
	var last [4]int32
	for i := range last {
		last[i] = segments[min(whole+i, k-1)]
	}
	for r := range rows {
		var sums [4]float32
		s.dotGroups(ofPairs, sums[:], 4, 1, p[r*stride:], stride, n, x, last[:])
		for i := range k - whole {
			out[r*pitch+whole+i] += sums[i]
		}
	}
}

// dotGroups is dotRuns for a number of segments divisible by four.
func (s Set) dotGroups(ofPairs bool, out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	groups, xs, ss := len(segments)/4, &x[0], &segments[0]
	for r := 0; r < rows; {
		to, from, left := &out[r*pitch], &p[r*stride], rows-r
		switch {
		case ofPairs && left >= 4:
			dots4BF16(to, pitch, from, stride, xs, ss, groups, n)
			r += 4
		case ofPairs && left >= 2:
			dots2BF16(to, pitch, from, stride, xs, ss, groups, n)
			r += 2
		case ofPairs:
			dots1BF16(to, pitch, from, stride, xs, ss, groups, n)
			r++
		case s == AVX512 && left >= 4:
			dots4AVX512(to, pitch, from, stride, xs, ss, groups, n)
			r += 4
		case s == AVX512 && left >= 2:
			dots2AVX512(to, pitch, from, stride, xs, ss, groups, n)
			r += 2
		case s == AVX512:
			dots1AVX512(to, pitch, from, stride, xs, ss, groups, n)
			r++
		case left >= 2:
			dots2AVX2(to, pitch, from, stride, xs, ss, groups, n)
			r += 2
		default:
			dots1AVX2(to, pitch, from, stride, xs, ss, groups, n)
			r++
		}
	}
}
