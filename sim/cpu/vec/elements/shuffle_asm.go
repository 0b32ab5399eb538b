package elements

import "prismtop/sim/cpu/vec"

// CopyRows copies elements of rows; see copyRows.
func CopyRows(s vec.Set, y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	if s == vec.Go || rows <= 0 || n <= 0 {
		copyRows(y, yPitch, x, xPitch, rows, n)
		return
	}
	_, _ = y[(rows-1)*yPitch+n-1], x[(rows-1)*xPitch+n-1]
	if s == vec.AVX512 {
		copyRowsAVX512(&y[0], yPitch, &x[0], xPitch, rows, n)
	} else {
		copyRowsAVX2(&y[0], yPitch, &x[0], xPitch, rows, n)
	}
}

// EveryOther copies every other element of rows; see everyOther.
func EveryOther(s vec.Set, y []float32, yPitch int, x []float32, xPitch, rows, n int) {
	if s == vec.Go || rows <= 0 || n <= 0 {
		everyOther(y, yPitch, x, xPitch, rows, n)
		return
	}
	_, _ = y[(rows-1)*yPitch+n-1], x[(rows-1)*xPitch+2*(n-1)]
	if s == vec.AVX512 {
		everyOtherAVX512(&y[0], yPitch, &x[0], xPitch, rows, n)
	} else {
		everyOtherAVX2(&y[0], yPitch, &x[0], xPitch, rows, n)
	}
}

// DoubleRows repeats each element of rows in a block of 2×2; see doubleRows.
func DoubleRows(s vec.Set, y, x []float32, rows, n int) {
	if s == vec.Go || rows <= 0 || n <= 0 || n%s.Lanes() != 0 {
		doubleRows(y, x, rows, n)
		return
	}
	_, _ = y[4*rows*n-1], x[rows*n-1]
	if s == vec.AVX512 {
		doubleRowsAVX512(&y[0], &x[0], rows, n/16)
	} else {
		doubleRowsAVX2(&y[0], &x[0], rows, n/8)
	}
}

// MaxPool keeps the largest of each 2×2 elements; see maxPool.
func MaxPool(s vec.Set, y, x []float32, rows, n int) {
	if s != vec.AVX512 || rows <= 0 || n <= 0 || n%8 != 0 {
		maxPool(y, x, rows, n)
		return
	}
	_, _ = y[rows*n-1], x[4*rows*n-1]
	maxPoolAVX512(&y[0], &x[0], rows, n/8)
}

// InterleaveRows puts the elements of two rows beside each other; see interleaveRows.
func InterleaveRows(s vec.Set, y []float32, yPitch int, even, odd []float32, rows, n int) {
	if s == vec.Go || rows <= 0 || n <= 0 || n%8 != 0 {
		interleaveRows(y, yPitch, even, odd, rows, n)
		return
	}
	_, _, _ = y[(rows-1)*yPitch+2*n-1], even[rows*n-1], odd[rows*n-1]
	if s == vec.AVX512 {
		interleaveRowsAVX512(&y[0], yPitch, &even[0], &odd[0], rows, n/8)
	} else {
		interleaveRowsAVX2(&y[0], yPitch, &even[0], &odd[0], rows, n/8)
	}
}

// PadRows copies rows between zeros; see padRows. It fetches the elements that are ahead of x by a
// number of elements, for a later call.
func PadRows(s vec.Set, y, x []float32, rows, n, ahead int) {
	if s != vec.AVX512 || rows <= 0 || n <= 0 || n%8 != 0 {
		padRows(y, x, rows, n)
		return
	}
	_, _ = y[rows*(n+2)-1], x[rows*n-1]
	padRowsAVX512(&y[0], &x[0], rows, n/8, ahead)
}

// NonZero reports whether an element is neither 0 nor −0.
func NonZero(s vec.Set, x []float32) bool {
	switch {
	case s == vec.Go || len(x) == 0:
		return nonZero(x)
	case s == vec.AVX512:
		return nonZeroAVX512(&x[0], len(x)) != 0
	default:
		return nonZeroAVX2(&x[0], len(x)) != 0
	}
}
