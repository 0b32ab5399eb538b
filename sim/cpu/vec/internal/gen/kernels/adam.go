package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// adams writes the optimiser's updates.
func (s *set) adams() {
	for _, outer := range []bool{false, true} {
		s.adam(false, outer)
		s.adam(true, outer)
	}
}

// adam is the optimiser's update, with exact square root and division: memory is
// slower than both. With outer the gradient is a row times a factor, not stored.
func (s *set) adam(amsgrad, outer bool) {
	name, pointers, doc := "adam", "p, m, v, grad *float32", "is Adam"
	if amsgrad {
		name, pointers, doc = "amsgrad", "p, m, v, largest, grad *float32", "is AMSGrad"
	}
	scalars := ", n int, c *float32"
	if outer {
		name, scalars, doc = name+"Outer", scalars+", factor float32", doc+"Outer"
	}
	s.function(name, pointers+scalars, doc+".")
	p, m, v, g := s.argument("p"), s.argument("m"), s.argument("v"), s.argument("grad")
	var largest reg.GPVirtual
	if amsgrad {
		largest = s.argument("largest")
	}
	n, constants, offset := s.argument("n"), s.argument("c"), s.GP64()
	c := s.vectors(7) // in the order of AdamScalars
	for i := range c {
		s.VBROADCASTSS(operand.Mem{Base: constants, Disp: 4 * i}, c[i])
	}
	var factor reg.VecVirtual
	if outer {
		factor = s.vector()
		s.VBROADCASTSS(s.address("factor"), factor)
	}
	beta1, beta2, rate1, rate2, size, root, eps := c[0], c[1], c[2], c[3], c[4], c[5], c[6]
	s.elements(n, offset, 1, func(i int, masked bool) {
		x, mi, vi, t := s.vector(), s.vector(), s.vector(), s.vector()
		s.load(s.at(g, offset, i), x, masked)
		if outer {
			s.VMULPS(factor, x, x)
		}
		s.load(s.at(m, offset, i), mi, masked)
		s.load(s.at(v, offset, i), vi, masked)
		s.VMULPS(beta1, mi, mi)
		s.VFMADD231PS(x, rate1, mi)
		s.VMULPS(rate2, x, t)
		s.VMULPS(beta2, vi, vi)
		s.VFMADD231PS(x, t, vi)
		s.store(mi, s.at(m, offset, i), masked)
		s.store(vi, s.at(v, offset, i), masked)
		if amsgrad {
			s.load(s.at(largest, offset, i), t, masked)
			s.VMAXPS(vi, t, vi) // a NaN of vi stays one
			s.store(vi, s.at(largest, offset, i), masked)
		}
		s.VSQRTPS(vi, vi)
		s.VFMADD213PS(eps, root, vi)
		s.VMULPS(size, mi, mi)
		s.VDIVPS(vi, mi, mi)
		s.load(s.at(p, offset, i), t, masked)
		s.VSUBPS(mi, t, t)
		s.store(t, s.at(p, offset, i), masked)
	})
	s.end()
}
