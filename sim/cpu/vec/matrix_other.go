//go:build !amd64 || noasm

package vec

// Combine adds weighted rows of a matrix to y; see combine.
func (Set) Combine(y, w []float32, pitch int, x []float32) { combine(y, w, pitch, x) }

// Products multiplies rows of a matrix with x; see products.
func (Set) Products(out, w []float32, pitch int, x []float32) { products(out, w, pitch, x) }

// CombineHalves is Combine with a matrix of bfloat16.
func (Set) CombineHalves(y []float32, w []uint16, pitch int, x []float32) {
	combineHalves(y, w, pitch, x)
}

// ProductsHalves is Products with a matrix of bfloat16.
func (Set) ProductsHalves(out []float32, w []uint16, pitch int, x []float32) {
	productsHalves(out, w, pitch, x)
}
