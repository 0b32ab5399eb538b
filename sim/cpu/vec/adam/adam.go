// Package adam holds the kernels of the optimiser Adam (Kingma and Ba, 2015), with ε outside the root as in PyTorch:
//
//	m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²,  p ← p − lr · m̂ / (√v̂ + ε)
//
// for a gradient g that is stored (adam.go), or the outer product of two vectors, which then never is (outer.go).
// Package vec says how its files are named.
package adam

import "math"

// Scalars are one step's constants: Size = lr/(1−β1^k),
// Root = 1/√(1−β2^k), Rate1 = 1−β1, Rate2 = 1−β2 (spec/prism.md §5.4).
type Scalars struct{ Beta1, Beta2, Rate1, Rate2, Size, Root, Eps float32 }

// step is
//
//	m = β1·m + (1−β1)·g;  v = β2·v + (1−β2)·g²;  p −= size·m / (√v·root + ε)
func step(p, m, v, g []float32, c *Scalars) {
	n := len(p)
	m, v, g = m[:n], v[:n], g[:n]
	beta1, beta2, rate1, rate2, size, root, eps := c.Beta1, c.Beta2, c.Rate1, c.Rate2, c.Size, c.Root, c.Eps
	for i, x := range g {
		mi := beta1*m[i] + rate1*x
		vi := beta2*v[i] + rate2*x*x
		m[i], v[i] = mi, vi
		p[i] -= size * mi / (float32(math.Sqrt(float64(vi)))*root + eps)
	}
}

// amsgrad is step with the largest v so far in the denominator.
func amsgrad(p, m, v, largest, g []float32, c *Scalars) {
	n := len(p)
	m, v, largest, g = m[:n], v[:n], largest[:n], g[:n]
	beta1, beta2, rate1, rate2, size, root, eps := c.Beta1, c.Beta2, c.Rate1, c.Rate2, c.Size, c.Root, c.Eps
	for i, x := range g {
		mi := beta1*m[i] + rate1*x
		vi := beta2*v[i] + rate2*x*x
		most := max(largest[i], vi)
		m[i], v[i], largest[i] = mi, vi, most
		p[i] -= size * mi / (float32(math.Sqrt(float64(most)))*root + eps)
	}
}
