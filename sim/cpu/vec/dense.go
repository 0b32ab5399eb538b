package vec

import (
	"math"

	"prismtop/sim/cpu/vec/internal/plain"
	"prismtop/sim/tensor"
)

// Products of a vector and a matrix that is read once from memory.

// combine adds weighted rows of a matrix to a row:
//
//	y[j] += Σ over r of x[r] · w[r·pitch + j]
func combine(y, w []float32, pitch int, x []float32) {
	r := 0
	for ; r+3 < len(x); r += 4 {
		w0, w1 := w[r*pitch:][:len(y)], w[(r+1)*pitch:][:len(y)]
		w2, w3 := w[(r+2)*pitch:][:len(y)], w[(r+3)*pitch:][:len(y)]
		x0, x1, x2, x3 := x[r], x[r+1], x[r+2], x[r+3]
		for j, v := range y {
			v += x0 * w0[j]
			v += x1 * w1[j]
			v += x2 * w2[j]
			v += x3 * w3[j]
			y[j] = v
		}
	}
	for ; r < len(x); r++ {
		plain.Axpy(y, w[r*pitch:][:len(y)], x[r])
	}
}

// products multiplies rows of a matrix with a row:
//
//	out[r] = Σ over j of w[r·pitch + j] · x[j]
func products(out, w []float32, pitch int, x []float32) {
	clear(out)
	r, n := 0, len(x)
	for ; r+3 < len(out); r += 4 {
		plain.DotFour(x, w[r*pitch:][:n], w[(r+1)*pitch:][:n], w[(r+2)*pitch:][:n], w[(r+3)*pitch:][:n], (*[4]float32)(out[r:]))
	}
	for ; r < len(out); r++ {
		out[r] = plain.Dot(x, w[r*pitch:][:n])
	}
}

// combineHalves is combine with a matrix of bfloat16.
func combineHalves(y []float32, w []uint16, pitch int, x []float32) {
	row := make([]float32, len(y))
	for r := range x {
		tensor.Widen(tensor.BFloat16, row, w[r*pitch:][:len(row)])
		plain.Axpy(y, row, x[r])
	}
}

// productsHalves is products with a matrix of bfloat16.
func productsHalves(out []float32, w []uint16, pitch int, x []float32) {
	row := make([]float32, len(x))
	for r := range out {
		tensor.Widen(tensor.BFloat16, row, w[r*pitch:][:len(row)])
		out[r] = plain.Dot(x, row)
	}
}

// adamOuter is adam with the gradient g = factor·x, a row of a product of two
// vectors.
func adamOuter(p, m, v, x []float32, factor float32, c *AdamScalars) {
	n := len(p)
	m, v, x = m[:n], v[:n], x[:n]
	beta1, beta2, rate1, rate2, size, root, eps := c.Beta1, c.Beta2, c.Rate1, c.Rate2, c.Size, c.Root, c.Eps
	for i, xi := range x {
		g := factor * xi
		mi := beta1*m[i] + rate1*g
		vi := beta2*v[i] + rate2*g*g
		m[i], v[i] = mi, vi
		p[i] -= size * mi / (float32(math.Sqrt(float64(vi)))*root + eps)
	}
}

// amsgradOuter is amsgrad with the gradient g = factor·x.
func amsgradOuter(p, m, v, largest, x []float32, factor float32, c *AdamScalars) {
	n := len(p)
	m, v, largest, x = m[:n], v[:n], largest[:n], x[:n]
	beta1, beta2, rate1, rate2, size, root, eps := c.Beta1, c.Beta2, c.Rate1, c.Rate2, c.Size, c.Root, c.Eps
	for i, xi := range x {
		g := factor * xi
		mi := beta1*m[i] + rate1*g
		vi := beta2*v[i] + rate2*g*g
		most := max(largest[i], vi)
		m[i], v[i], largest[i] = mi, vi, most
		p[i] -= size * mi / (float32(math.Sqrt(float64(most)))*root + eps)
	}
}

// adamOuterProducts computes products of consecutive rows of weights, then updates the
// rows with the gradient factors[r]·x:
//
//	out[r] = Σ over j of p[r·n + j] · x[j];  adamOuter of row r
func adamOuterProducts(out, p, m, v, x, factors []float32, c *AdamScalars) {
	n := len(x)
	products(out, p, n, x)
	for r := range out {
		at := r * n
		adamOuter(p[at:at+n], m[at:], v[at:], x, factors[r], c)
	}
}

// amsgradOuterProducts is adamOuterProducts with amsgradOuter.
func amsgradOuterProducts(out, p, m, v, largest, x, factors []float32, c *AdamScalars) {
	n := len(x)
	products(out, p, n, x)
	for r := range out {
		at := r * n
		amsgradOuter(p[at:at+n], m[at:], v[at:], largest[at:], x, factors[r], c)
	}
}
