package vec

// Rows of elements. Every slice has at least the length of the first.

// scale is y[i] = w·x[i].
func scale(y, x []float32, w float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = w * x[i]
	}
}

// add is y[i] = a[i] + b[i].
func add(y, a, b []float32) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

// axpy adds one row to another: y[i] += w·x[i].
func axpy(y, x []float32, w float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += w * x[i]
	}
}
