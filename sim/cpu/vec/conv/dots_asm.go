package conv

import "prismtop/sim/cpu/vec"

// DotRows is the same for dot products.
func DotRows(s vec.Set) int { return [...]int{vec.Go: 2, vec.AVX2: 2, vec.AVX512: 4}[s] }

// Dots multiplies rows of p with runs of x; see dots.
func Dots(s vec.Set, out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	if s == vec.Go || rows <= 0 || n <= 0 || len(segments) == 0 {
		dots(out, pitch, rows, p, stride, n, x, segments)
		return
	}
	dotRuns(s, false, out, pitch, rows, p, stride, n, x, segments)
}

// dotRuns is Dots, of pairs or not.
func dotRuns(s vec.Set, ofPairs bool, out []float32, pitch, rows int, p []float32, stride, n int, x []float32,
	segments []int32) {
	k := len(segments)
	_, _ = out[(rows-1)*pitch+k-1], p[(rows-1)*stride+n-1]
	whole := k &^ 3
	if whole > 0 {
		dotGroups(s, ofPairs, out, pitch, rows, p, stride, n, x, segments[:whole])
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
		dotGroups(s, ofPairs, sums[:], 4, 1, p[r*stride:], stride, n, x, last[:])
		for i := range k - whole {
			out[r*pitch+whole+i] += sums[i]
		}
	}
}

// dotGroups is dotRuns for a number of segments divisible by four.
func dotGroups(s vec.Set, ofPairs bool, out []float32, pitch, rows int, p []float32, stride, n int, x []float32,
	segments []int32) {
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
		case s == vec.AVX512 && left >= 4:
			dots4AVX512(to, pitch, from, stride, xs, ss, groups, n)
			r += 4
		case s == vec.AVX512 && left >= 2:
			dots2AVX512(to, pitch, from, stride, xs, ss, groups, n)
			r += 2
		case s == vec.AVX512:
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

// DotsPairs is Dots for pairs in a and x.
func DotsPairs(p vec.Pairs, out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	if p != vec.BF16 || rows <= 0 || n <= 0 || len(segments) == 0 {
		dotsPairs(out, pitch, rows, a, stride, n, x, segments)
		return
	}
	dotRuns(vec.AVX512, true, out, pitch, rows, a, stride, n, x, segments)
}
