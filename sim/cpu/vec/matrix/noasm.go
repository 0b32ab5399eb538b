//go:build !amd64 || noasm

package matrix

import "prismtop/sim/cpu/vec"

// Combine adds weighted rows of a matrix to y; see combine.
func Combine(_ vec.Set, y, w []float32, pitch int, x []float32) { combine(y, w, pitch, x) }

// Products multiplies rows of a matrix with x; see products.
func Products(_ vec.Set, out, w []float32, pitch int, x []float32) { products(out, w, pitch, x) }

// CombineHalves is Combine with a matrix of bfloat16.
func CombineHalves(_ vec.Set, y []float32, w []uint16, pitch int, x []float32) {
	combineHalves(y, w, pitch, x)
}

// ProductsHalves is Products with a matrix of bfloat16.
func ProductsHalves(_ vec.Set, out []float32, w []uint16, pitch int, x []float32) {
	productsHalves(out, w, pitch, x)
}

// CombineRounded is Combine with a matrix rounded to bfloat16; see combineRounded.
func CombineRounded(_ vec.Pairs, y, w []float32, pitch int, x []float32) {
	combineRounded(y, w, pitch, x)
}

// ProductsRounded is Products with a matrix rounded to bfloat16; see productsRounded.
func ProductsRounded(_ vec.Pairs, out, w []float32, pitch int, x []float32) {
	productsRounded(out, w, pitch, x)
}

// amxBuilt reports whether this build has tile products on AMX.
const amxBuilt = false

// Product computes a product; without groups or segments it does nothing.
func (Tiles) Product(p *TileProduct) {
	if p.Groups > 0 && len(p.Segments) > 1 {
		p.multiply()
	}
}
