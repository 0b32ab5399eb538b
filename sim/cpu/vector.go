package cpu

// The loops in which nearly all multiplications happen. Each slice argument has at
// least the length of the first.

// axpy2x4 adds four rows to two, with a weight for each pair:
//
//	y0[i] += Σ w[k]·xk[i];  y1[i] += Σ w[4+k]·xk[i]
func axpy2x4(y0, y1, x0, x1, x2, x3 []float32, w *[8]float32) {
	n := len(y0)
	y1, x0, x1, x2, x3 = y1[:n], x0[:n], x1[:n], x2[:n], x3[:n]
	a0, a1, a2, a3 := w[0], w[1], w[2], w[3]
	b0, b1, b2, b3 := w[4], w[5], w[6], w[7]
	for i := range y0 {
		u0, u1, u2, u3 := x0[i], x1[i], x2[i], x3[i]
		y0[i] += (a0*u0 + a1*u1) + (a2*u2 + a3*u3)
		y1[i] += (b0*u0 + b1*u1) + (b2*u2 + b3*u3)
	}
}

// axpy1x4 adds four rows to one: y[i] += w0·x0[i] + w1·x1[i] + w2·x2[i] + w3·x3[i].
func axpy1x4(y, x0, x1, x2, x3 []float32, w0, w1, w2, w3 float32) {
	n := len(y)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for i := range y {
		y[i] += (w0*x0[i] + w1*x1[i]) + (w2*x2[i] + w3*x3[i])
	}
}

// axpy adds one row to another: y[i] += w·x[i].
func axpy(y, x []float32, w float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += w * x[i]
	}
}

// dot2x3 multiplies two rows with three: r[k] = Σ p0[i]·xk[i]; r[3+k] = Σ p1[i]·xk[i].
// Eight sums would not fit the registers.
func dot2x3(p0, p1, x0, x1, x2 []float32, r *[6]float32) {
	n := len(p0)
	p1, x0, x1, x2 = p1[:n], x0[:n], x1[:n], x2[:n]
	var a0, a1, a2, b0, b1, b2 float32
	for i, u := range p0 {
		v := p1[i]
		x := x0[i]
		a0 += u * x
		b0 += v * x
		x = x1[i]
		a1 += u * x
		b1 += v * x
		x = x2[i]
		a2 += u * x
		b2 += v * x
	}
	r[0], r[1], r[2], r[3], r[4], r[5] = a0, a1, a2, b0, b1, b2
}

// dot1x4 multiplies one row with four: r[k] += Σ p[i]·xk[i].
func dot1x4(p, x0, x1, x2, x3 []float32, r *[4]float32) {
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

// dot is Σ p[i]·x[i].
func dot(p, x []float32) float32 {
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

// sum is Σ x[i] in float64, in four interleaved parts.
func sum(x []float32) float64 {
	var a, b, c, d float64
	i := 0
	for ; i+3 < len(x); i += 4 {
		a += float64(x[i])
		b += float64(x[i+1])
		c += float64(x[i+2])
		d += float64(x[i+3])
	}
	for ; i < len(x); i++ {
		a += float64(x[i])
	}
	return (a + b) + (c + d)
}
