package ptycho

import (
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// A Precision names how the convolutions of a network multiply: a value of the setting amp, or
// Winograd.
type Precision string

// The precisions.
const (
	Float32  Precision = "off"
	BF16     Precision = "bf16"
	BF16x3   Precision = "bf16x3"
	Winograd Precision = "winograd"
)

// Modes are the values of the setting amp.
func Modes() []string { return []string{string(Float32), string(BF16), string(BF16x3)} }

// PrecisionOf returns the precision of the settings amp and winograd. Mixed precision has its own
// way to compute convolutions, which winograd does not change.
func PrecisionOf(amp string, winograd bool) Precision {
	if winograd && amp == string(Float32) {
		return Winograd
	}
	return Precision(amp)
}

// With returns the options with a precision.
func (o PlanOptions) With(p Precision) PlanOptions {
	o.AMP, o.Products = tensor.Float32, nn.Exact
	switch p {
	case BF16:
		o.AMP = tensor.BFloat16
	case BF16x3:
		o.Products = nn.BF16x3
	case Winograd:
		o.Products = nn.Winograd
	}
	return o
}

// Tolerance bounds the difference of an object's results in two batches, relative to a modulus of
// 1: exact but for the rounding of another order of sums, or of bf16. Winograd's method serves the
// layers with many outputs in a microbatch, so that it depends on the batch which are computed by
// it.
func (p Precision) Tolerance() float64 {
	switch p {
	case BF16:
		return 0.05
	case BF16x3, Winograd:
		return 1e-4
	}
	return 1e-5
}
