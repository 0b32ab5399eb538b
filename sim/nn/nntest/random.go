package nntest

import (
	"math/rand/v2"

	"prismtop/sim/tensor"
)

// source generates the operands of cases, the same in every run.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 0x70726973))} }

// normal returns an array of standard normal values, rounded to its type.
func (s source) normal(d tensor.DType, shape ...int) Array {
	a := Array{Shape: shape, DType: d}
	a.Values = make([]float32, floatsOf(a.Shape, d))
	for i := range a.Values {
		a.Values[i] = float32(s.NormFloat64())
	}
	round(d, a.Values)
	return a
}

// uniform returns an array of values in [lo, hi).
func (s source) uniform(lo, hi float64, shape ...int) Array {
	a := Array{Shape: shape, Values: make([]float32, tensor.Shape(shape).Elements())}
	for i := range a.Values {
		a.Values[i] = float32(lo + (hi-lo)*s.Float64())
	}
	return a
}

// scalar returns a scalar array.
func scalar(v float32) Array { return Array{Shape: tensor.Shape{}, Values: []float32{v}} }

// round rounds values to a type.
func round(d tensor.DType, x []float32) {
	if d == tensor.BFloat16 || d == tensor.Float16 {
		h := make([]uint16, len(x))
		tensor.Narrow(d, h, x)
		tensor.Widen(d, x, h)
	}
}
