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

// Adam is one step of the optimiser; see adam.
func (s Set) Adam(p, m, v, g []float32, c *AdamScalars) {
	n := len(p)
	if s == Go || n == 0 {
		adam(p, m, v, g, c)
		return
	}
	m, v, g = m[:n], v[:n], g[:n]
	if s == AVX512 {
		adamAVX512(&p[0], &m[0], &v[0], &g[0], n, &c.Beta1)
	} else {
		adamAVX2(&p[0], &m[0], &v[0], &g[0], n, &c.Beta1)
	}
}

// AMSGrad is Adam with the largest v so far in the denominator.
func (s Set) AMSGrad(p, m, v, largest, g []float32, c *AdamScalars) {
	n := len(p)
	if s == Go || n == 0 {
		amsgrad(p, m, v, largest, g, c)
		return
	}
	m, v, largest, g = m[:n], v[:n], largest[:n], g[:n]
	if s == AVX512 {
		amsgradAVX512(&p[0], &m[0], &v[0], &largest[0], &g[0], n, &c.Beta1)
	} else {
		amsgradAVX2(&p[0], &m[0], &v[0], &largest[0], &g[0], n, &c.Beta1)
	}
}

// CopyRows copies elements of rows; see copyRows.
func (s Set) CopyRows(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	if s == Go || rows <= 0 || n <= 0 {
		copyRows(y, yPitch, x, xPitch, rows, n)
		return
	}
	_, _ = y[(rows-1)*yPitch+n-1], x[(rows-1)*xPitch+n-1]
	if s == AVX512 {
		copyRowsAVX512(&y[0], yPitch, &x[0], xPitch, rows, n)
	} else {
		copyRowsAVX2(&y[0], yPitch, &x[0], xPitch, rows, n)
	}
}

// EveryOther copies every other element of rows; see everyOther.
func (s Set) EveryOther(y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	if s == Go || rows <= 0 || n <= 0 {
		everyOther(y, yPitch, x, xPitch, rows, n)
		return
	}
	_, _ = y[(rows-1)*yPitch+n-1], x[(rows-1)*xPitch+2*(n-1)]
	if s == AVX512 {
		everyOtherAVX512(&y[0], yPitch, &x[0], xPitch, rows, n)
	} else {
		everyOtherAVX2(&y[0], yPitch, &x[0], xPitch, rows, n)
	}
}

// DoubleRows repeats each element of rows in a block of 2×2; see doubleRows.
func (s Set) DoubleRows(y, x []float32, rows, n int) {
	if s == Go || rows <= 0 || n <= 0 || n%s.TapLanes() != 0 {
		doubleRows(y, x, rows, n)
		return
	}
	_, _ = y[4*rows*n-1], x[rows*n-1]
	if s == AVX512 {
		doubleRowsAVX512(&y[0], &x[0], rows, n/16)
	} else {
		doubleRowsAVX2(&y[0], &x[0], rows, n/8)
	}
}

// MaxPool keeps the largest of each 2×2 elements; see maxPool.
func (s Set) MaxPool(y, x []float32, rows, n int) {
	if s != AVX512 || rows <= 0 || n <= 0 || n%8 != 0 {
		maxPool(y, x, rows, n)
		return
	}
	_, _ = y[rows*n-1], x[4*rows*n-1]
	maxPoolAVX512(&y[0], &x[0], rows, n/8)
}

// InterleaveRows puts the elements of two rows beside each other; see interleaveRows.
func (s Set) InterleaveRows(y []float32, yPitch int, even, odd []float32, rows, n int) {
	if s != AVX512 || rows <= 0 || n <= 0 || n%8 != 0 {
		interleaveRows(y, yPitch, even, odd, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+2*n-1], even[rows*n-1], odd[rows*n-1]
	interleaveRowsAVX512(&y[0], yPitch, &even[0], &odd[0], rows, n/8)
}

// PadRows copies rows between zeros; see padRows. It fetches the elements that are ahead of x by a
// number of elements, for a later call.
func (s Set) PadRows(y, x []float32, rows, n, ahead int) {
	if s != AVX512 || rows <= 0 || n <= 0 || n%8 != 0 {
		padRows(y, x, rows, n)
		return
	}
	_, _ = y[rows*(n+2)-1], x[rows*n-1]
	padRowsAVX512(&y[0], &x[0], rows, n/8, ahead)
}
