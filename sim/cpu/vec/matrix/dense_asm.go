package matrix

import "prismtop/sim/cpu/vec"

// Combine adds weighted rows of a matrix to y; see combine.
func Combine(s vec.Set, y, w []float32, pitch int, x []float32) {
	n, rows := len(y), len(x)
	if s == vec.Go || n == 0 || rows == 0 {
		combine(y, w, pitch, x)
		return
	}
	_ = w[(rows-1)*pitch+n-1]
	eight, one := combine8AVX2, combine1AVX2
	if s == vec.AVX512 {
		eight, one = combine8AVX512, combine1AVX512
	}
	r := 0
	for ; r+7 < rows; r += 8 {
		eight(&y[0], n, &w[r*pitch], pitch, &x[r])
	}
	for ; r < rows; r++ {
		one(&y[0], n, &w[r*pitch], pitch, &x[r])
	}
}

// Products multiplies rows of a matrix with x; see products.
func Products(s vec.Set, out, w []float32, pitch int, x []float32) {
	n, rows := len(x), len(out)
	if s == vec.Go || n == 0 || rows == 0 {
		products(out, w, pitch, x)
		return
	}
	_ = w[(rows-1)*pitch+n-1]
	r := 0
	for ; r+3 < rows; r += 4 {
		products4(s, (*[4]float32)(out[r:]), w[r*pitch:], pitch, x)
	}
	for ; r < rows; r++ { // the kernel's four rows are the same row
		var sums [4]float32
		products4(s, &sums, w[r*pitch:], 0, x)
		out[r] = sums[0]
	}
}

// CombineHalves is Combine with a matrix of bfloat16.
func CombineHalves(s vec.Set, y []float32, w []uint16, pitch int, x []float32) {
	n, rows := len(y), len(x)
	if s != vec.AVX512 || n == 0 || rows == 0 {
		combineHalves(y, w, pitch, x)
		return
	}
	_ = w[(rows-1)*pitch+n-1]
	r := 0
	for ; r+7 < rows; r += 8 {
		combineHalves8AVX512(&y[0], n, &w[r*pitch], pitch, &x[r])
	}
	for ; r < rows; r++ {
		combineHalves1AVX512(&y[0], n, &w[r*pitch], pitch, &x[r])
	}
}

// ProductsHalves is Products with a matrix of bfloat16.
func ProductsHalves(s vec.Set, out []float32, w []uint16, pitch int, x []float32) {
	n, rows := len(x), len(out)
	if s != vec.AVX512 || n == 0 || rows == 0 {
		productsHalves(out, w, pitch, x)
		return
	}
	_ = w[(rows-1)*pitch+n-1]
	r := 0
	for ; r+3 < rows; r += 4 {
		productsHalvesAVX512(&out[r], &w[r*pitch], pitch, &x[0], n)
	}
	for ; r < rows; r++ { // the kernel's four rows are the same row
		var sums [4]float32
		productsHalvesAVX512(&sums[0], &w[r*pitch], 0, &x[0], n)
		out[r] = sums[0]
	}
}

// CombineRounded is Combine with a matrix rounded to bfloat16; see combineRounded.
func CombineRounded(p vec.Pairs, y, w []float32, pitch int, x []float32) {
	n, rows := len(y), len(x)
	if p != vec.BF16 || n == 0 || rows == 0 {
		combineRounded(y, w, pitch, x)
		return
	}
	_ = w[(rows-1)*pitch+n-1]
	r := 0
	for ; r+7 < rows; r += 8 {
		combine8BF16(&y[0], n, &w[r*pitch], pitch, &x[r])
	}
	for ; r < rows; r++ {
		combine1BF16(&y[0], n, &w[r*pitch], pitch, &x[r])
	}
}

// ProductsRounded is Products with a matrix rounded to bfloat16; see productsRounded.
func ProductsRounded(p vec.Pairs, out, w []float32, pitch int, x []float32) {
	n, rows := len(x), len(out)
	if p != vec.BF16 || n == 0 || rows == 0 {
		productsRounded(out, w, pitch, x)
		return
	}
	_ = w[(rows-1)*pitch+n-1]
	r := 0
	for ; r+3 < rows; r += 4 {
		productsBF16(&out[r], &w[r*pitch], pitch, &x[0], n)
	}
	for ; r < rows; r++ { // the kernel's four rows are the same row
		var sums [4]float32
		productsBF16(&sums[0], &w[r*pitch], 0, &x[0], n)
		out[r] = sums[0]
	}
}

func products4(s vec.Set, out *[4]float32, w []float32, pitch int, x []float32) {
	if s == vec.AVX512 {
		productsAVX512(&out[0], &w[0], pitch, &x[0], len(x))
	} else {
		productsAVX2(&out[0], &w[0], pitch, &x[0], len(x))
	}
}
