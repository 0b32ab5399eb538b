//go:build !amd64 || noasm

package adam

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/tensor"
)

// Step is one step of the optimiser; see step.
func Step(_ vec.Set, p, m, v, g []float32, c *Scalars) { step(p, m, v, g, c) }

// AMSGrad is Step with the largest v so far in the denominator.
func AMSGrad(_ vec.Set, p, m, v, largest, g []float32, c *Scalars) {
	amsgrad(p, m, v, largest, g, c)
}

// StepRounded is Step, with the new values rounded to bfloat16 in rounded.
func StepRounded(_ vec.Pairs, rounded []uint16, p, m, v, g []float32, c *Scalars) {
	step(p, m, v, g, c)
	tensor.Narrow(tensor.BFloat16, rounded[:len(p)], p)
}

// Outer is Step with the gradient factor·x.
func Outer(_ vec.Set, p, m, v, x []float32, factor float32, c *Scalars) {
	outer(p, m, v, x, factor, c)
}

// OuterRounded is Outer, with the new values rounded to bfloat16 in rounded.
func OuterRounded(_ vec.Pairs, rounded []uint16, p, m, v, x []float32, factor float32, c *Scalars) {
	outer(p, m, v, x, factor, c)
	tensor.Narrow(tensor.BFloat16, rounded[:len(p)], p)
}

// AMSGradOuter is AMSGrad with the gradient factor·x.
func AMSGradOuter(_ vec.Set, p, m, v, largest, x []float32, factor float32, c *Scalars) {
	amsgradOuter(p, m, v, largest, x, factor, c)
}

// OuterProducts computes Products of rows of p with x, then Outer of each
// row; see outerProducts.
func OuterProducts(_ vec.Set, out, p, m, v, x, factors []float32, c *Scalars) {
	outerProducts(out, p, m, v, x, factors, c)
}

// OuterProductsRounded is OuterProducts whose products are those of the weights rounded to bfloat16.
func OuterProductsRounded(_ vec.Pairs, out, p, m, v, x, factors []float32, c *Scalars) {
	outerProductsRounded(out, p, m, v, x, factors, c)
}

// AMSGradOuterProducts is OuterProducts with AMSGrad.
func AMSGradOuterProducts(_ vec.Set, out, p, m, v, largest, x, factors []float32, c *Scalars) {
	amsgradOuterProducts(out, p, m, v, largest, x, factors, c)
}
