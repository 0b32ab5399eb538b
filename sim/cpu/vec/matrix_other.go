//go:build !amd64 || noasm

package vec

// Combine adds weighted rows of a matrix to y; see combine.
func (Set) Combine(y, w []float32, pitch int, x []float32) { combine(y, w, pitch, x) }

// Products multiplies rows of a matrix with x; see products.
func (Set) Products(out, w []float32, pitch int, x []float32) { products(out, w, pitch, x) }

// AdamOuter is Adam with the gradient factor·x.
func (Set) AdamOuter(p, m, v, x []float32, factor float32, c *AdamScalars) {
	adamOuter(p, m, v, x, factor, c)
}

// AMSGradOuter is AMSGrad with the gradient factor·x.
func (Set) AMSGradOuter(p, m, v, largest, x []float32, factor float32, c *AdamScalars) {
	amsgradOuter(p, m, v, largest, x, factor, c)
}

// AdamOuterProducts computes Products of rows of p with x, then AdamOuter of each
// row; see adamOuterProducts.
func (Set) AdamOuterProducts(out, p, m, v, x, factors []float32, c *AdamScalars) {
	adamOuterProducts(out, p, m, v, x, factors, c)
}

// AMSGradOuterProducts is AdamOuterProducts with AMSGrad.
func (Set) AMSGradOuterProducts(out, p, m, v, largest, x, factors []float32, c *AdamScalars) {
	amsgradOuterProducts(out, p, m, v, largest, x, factors, c)
}

// CombineHalves is Combine with a matrix of bfloat16.
func (Set) CombineHalves(y []float32, w []uint16, pitch int, x []float32) {
	combineHalves(y, w, pitch, x)
}

// ProductsHalves is Products with a matrix of bfloat16.
func (Set) ProductsHalves(out []float32, w []uint16, pitch int, x []float32) {
	productsHalves(out, w, pitch, x)
}
