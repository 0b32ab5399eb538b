// Package plain has the sums in plain Go that kernels of several rooms are made of where they are not assembly.
package plain

// DotFour multiplies one row with four: r[k] += Σ p[i]·xk[i].
func DotFour(p, x0, x1, x2, x3 []float32, r *[4]float32) {
	n := len(p)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	var a0, a1, a2, a3 float32
	for i, u := range p {
		a0 += u * x0[i]
		a1 += u * x1[i]
		a2 += u * x2[i]
		a3 += u * x3[i]
	}
	r[0] += a0
	r[1] += a1
	r[2] += a2
	r[3] += a3
}

// Dot computes Σ p[i]·x[i].
func Dot(p, x []float32) float32 {
	x = x[:len(p)]
	var a, b float32
	i := 0
	for ; i+1 < len(p); i += 2 {
		a += p[i] * x[i]
		b += p[i+1] * x[i+1]
	}
	if i < len(p) {
		a += p[i] * x[i]
	}
	return a + b
}

// Axpy adds one row to another: y[i] += w·x[i].
func Axpy(y, x []float32, w float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += w * x[i]
	}
}
