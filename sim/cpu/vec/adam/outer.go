package adam

import (
	"math"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/matrix"
)

// outer is step with the gradient g = factor·x, a row of a product of two
// vectors.
func outer(p, m, v, x []float32, factor float32, c *Scalars) {
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
func amsgradOuter(p, m, v, largest, x []float32, factor float32, c *Scalars) {
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

// outerProducts computes products of consecutive rows of weights, then updates the
// rows with the gradient factors[r]·x:
//
//	out[r] = Σ over j of p[r·n + j] · x[j];  outer of row r
func outerProducts(out, p, m, v, x, factors []float32, c *Scalars) {
	n := len(x)
	matrix.Products(vec.Go, out, p, n, x)
	for r := range out {
		at := r * n
		outer(p[at:at+n], m[at:], v[at:], x, factors[r], c)
	}
}

// amsgradOuterProducts is outerProducts with amsgradOuter.
func amsgradOuterProducts(out, p, m, v, largest, x, factors []float32, c *Scalars) {
	n := len(x)
	matrix.Products(vec.Go, out, p, n, x)
	for r := range out {
		at := r * n
		amsgradOuter(p[at:at+n], m[at:], v[at:], largest[at:], x, factors[r], c)
	}
}

// outerProductsRounded is outerProducts whose products are those of the weights rounded to bfloat16.
func outerProductsRounded(out, p, m, v, x, factors []float32, c *Scalars) {
	n := len(x)
	matrix.ProductsRounded(vec.PlainPairs, out, p, n, x)
	for r := range out {
		at := r * n
		outer(p[at:at+n], m[at:], v[at:], x, factors[r], c)
	}
}
