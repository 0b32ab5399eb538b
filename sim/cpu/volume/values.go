package volume

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/tensor"
)

// Values are numbers in float32, or in a 16-bit type, which kernels widen and round in pieces
// that stay in the first caches.
type Values struct {
	F    []float32
	H    []uint16 // of Type, where F is nil
	Type tensor.DType
}

// Floats returns values in float32.
func Floats(x []float32) Values { return Values{F: x} }

// Exist reports whether there are values.
func (v Values) Exist() bool { return v.F != nil || v.H != nil }

// Read returns n values from at on as float32, in scratch unless they are.
func (v Values) Read(set vec.Set, scratch []float32, at, n int) []float32 {
	if v.F != nil {
		return v.F[at:][:n]
	}
	half.Widen(set, v.Type, scratch[:n], v.H[at:][:n])
	return scratch[:n]
}

// Results returns the place for n results from at on: the values, or scratch for Write.
func (v Values) Results(scratch []float32, at, n int) []float32 {
	if v.F != nil {
		return v.F[at:][:n]
	}
	return scratch[:n]
}

// Store stores results that are not in their place, from at on.
func (v Values) Store(set vec.Set, results []float32, at int) {
	if v.F != nil {
		copy(v.F[at:], results)
		return
	}
	v.Write(set, results, at)
}

// Copy copies values from at on to dst.
func (v Values) Copy(set vec.Set, dst []float32, at int) {
	if v.F != nil {
		copy(dst, v.F[at:])
		return
	}
	half.Widen(set, v.Type, dst, v.H[at:][:len(dst)])
}

// Write stores results from at on.
func (v Values) Write(set vec.Set, results []float32, at int) {
	if v.F == nil {
		half.Narrow(set, v.Type, v.H[at:][:len(results)], results)
	}
}
