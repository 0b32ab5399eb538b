package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gradient is the source of the gradient in the optimiser's update.
type gradient struct {
	suffix string // of the kernel's name
	outer  bool   // a row times a factor, not stored
	dot    bool   // and also compute the row's product with the weights before the update
}

var (
	stored   = gradient{}
	outer    = gradient{suffix: "Outer", outer: true}
	outerDot = gradient{suffix: "OuterDot", outer: true, dot: true}
)

// aheadOfMoments is the prefetch distance of the update's arrays in bytes: the hardware
// prefetcher does not follow three arrays that are also written across page boundaries.
const aheadOfMoments = 2048

// adams writes the kernels of the optimiser's updates.
func (s *set) adams() {
	for _, g := range []gradient{stored, outer, outerDot} {
		s.adam(false, g)
		s.adam(true, g)
	}
	if s.wide {
		s.pairsOf().adam(false, stored)
		s.pairsOf().adam(false, outer)
	}
}

// adam is the optimiser's update, with exact square root and division: memory is
// slower than both.
func (s *set) adam(amsgrad bool, from gradient) {
	name, pointers, doc := "adam", "p, m, v, grad *float32", "is Adam"
	if amsgrad {
		name, pointers, doc = "amsgrad", "p, m, v, largest, grad *float32", "is AMSGrad"
	}
	scalars := ", n int, c *float32"
	name, doc = name+from.suffix, doc+from.suffix
	if from.outer {
		scalars += ", factor float32"
	}
	if from.dot {
		scalars += ", out *float32"
	}
	if s.ofPairs {
		scalars += ", copy *uint16"
		doc += " that also rounds the new values to a copy"
	}
	s.function(name, pointers+scalars, doc+".")
	p, m, v, g := s.argument("p"), s.argument("m"), s.argument("v"), s.argument("grad")
	arrays := []reg.GPVirtual{p, m, v}
	var largest reg.GPVirtual
	if amsgrad {
		largest = s.argument("largest")
		arrays = append(arrays, largest)
	}
	n, constants, offset := s.argument("n"), s.argument("c"), s.GP64()
	var rounded reg.GPVirtual
	if s.ofPairs {
		rounded = s.argument("copy")
	}
	c := s.vectors(7) // in the order of AdamScalars
	for i := range c {
		s.VBROADCASTSS(operand.Mem{Base: constants, Disp: 4 * i}, c[i])
	}
	var factor reg.VecVirtual
	if from.outer {
		factor = s.vector()
		s.VBROADCASTSS(s.address("factor"), factor)
	}
	sum := s.vector()
	if from.dot {
		s.zero(sum)
	}
	beta1, beta2, rate1, rate2, size, root, eps := c[0], c[1], c[2], c[3], c[4], c[5], c[6]
	s.elements(n, offset, 1, func(i int, masked bool) {
		x, mi, vi, t := s.vector(), s.vector(), s.vector(), s.vector()
		for _, row := range arrays {
			if !masked {
				s.PREFETCHT0(operand.Mem{Base: row, Index: offset, Scale: 1, Disp: aheadOfMoments})
			}
		}
		s.load(s.at(g, offset, i), x, masked)
		if from.dot {
			s.load(s.at(p, offset, i), t, masked)
			s.VFMADD231PS(t, x, sum)
		}
		if from.outer {
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
			s.VMAXPS(vi, t, vi) // a NaN in vi stays NaN
			s.store(vi, s.at(largest, offset, i), masked)
		}
		s.VSQRTPS(vi, vi)
		s.VFMADD213PS(eps, root, vi)
		s.VMULPS(size, mi, mi)
		s.VDIVPS(vi, mi, mi)
		s.load(s.at(p, offset, i), t, masked)
		s.VSUBPS(mi, t, t)
		s.store(t, s.at(p, offset, i), masked)
		if s.ofPairs {
			s.storeRounded(t, rounded, offset, masked)
		}
	})
	if from.dot { // with the additions of the products of four rows
		s.VMOVSS(s.four([]reg.VecVirtual{sum, sum, sum, sum}), operand.Mem{Base: s.argument("out")})
	}
	s.end()
}
