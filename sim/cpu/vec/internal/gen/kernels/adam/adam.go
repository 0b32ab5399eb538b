package adam

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gradient is the source of the gradient in the optimiser's update.
type gradient struct {
	suffix string // of the kernel's name
	doc    string // the function that it is for, without AMSGrad
	outer  bool   // a row times a factor, not stored
	dot    bool   // and also compute the row's product with the weights before the update
}

var (
	stored   = gradient{doc: "Step"}
	outer    = gradient{suffix: "Outer", doc: "Outer", outer: true}
	outerDot = gradient{suffix: "OuterDot", doc: "OuterProducts for a row", outer: true, dot: true}
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
	if s.Wide {
		s.pairsOf().adam(false, stored)
		s.pairsOf().adam(false, outer)
		s.pairsOf().adam(false, outerDot)
	}
}

// adam is the optimiser's update, with exact square root and division: memory is
// slower than both.
func (s *set) adam(amsgrad bool, from gradient) {
	name, pointers, doc := "adam", "p, m, v, grad *float32", "is "+from.doc
	if amsgrad {
		name, pointers, doc = "amsgrad", "p, m, v, largest, grad *float32",
			"is AMSGrad"+strings.TrimPrefix(from.doc, "Step")
	}
	scalars := ", n int, c *float32"
	name += from.suffix
	if from.outer {
		scalars += ", factor float32"
	}
	if from.dot {
		scalars += ", out *float32"
	}
	copies := s.OfPairs && !from.dot
	switch {
	case copies:
		scalars += ", copy *uint16"
		doc += " that also rounds the new values to a copy"
	case s.OfPairs:
		doc += " whose products are those of rounded weights"
	}
	s.Kernel(name, pointers+scalars, doc+".")
	p, m, v, g := s.Argument("p"), s.Argument("m"), s.Argument("v"), s.Argument("grad")
	arrays := []reg.GPVirtual{p, m, v}
	var largest reg.GPVirtual
	if amsgrad {
		largest = s.Argument("largest")
		arrays = append(arrays, largest)
	}
	n, constants, offset := s.Argument("n"), s.Argument("c"), s.GP64()
	var rounded reg.GPVirtual
	if copies {
		rounded = s.Argument("copy")
	}
	c := s.Vectors(7) // in the order of AdamScalars
	for i := range c {
		s.VBROADCASTSS(operand.Mem{Base: constants, Disp: 4 * i}, c[i])
	}
	var factor reg.VecVirtual
	if from.outer {
		factor = s.Vector()
		s.VBROADCASTSS(s.ArgumentAddress("factor"), factor)
	}
	sum := s.Vector()
	if from.dot {
		s.Zero(sum)
	}
	beta1, beta2, rate1, rate2, size, root, eps := c[0], c[1], c[2], c[3], c[4], c[5], c[6]
	s.Elements(n, offset, 1, func(i int, masked bool) {
		x, mi, vi, t := s.Vector(), s.Vector(), s.Vector(), s.Vector()
		for _, row := range arrays {
			if !masked {
				s.PREFETCHT0(operand.Mem{Base: row, Index: offset, Scale: 1, Disp: aheadOfMoments})
			}
		}
		s.LoadVector(s.At(g, offset, i), x, masked)
		if from.dot {
			s.LoadVector(s.At(p, offset, i), t, masked)
			if s.OfPairs {
				s.VPSLLD(operand.U8(16), s.Converted(t), t)
			}
			s.VFMADD231PS(t, x, sum)
		}
		if from.outer {
			s.VMULPS(factor, x, x)
		}
		s.LoadVector(s.At(m, offset, i), mi, masked)
		s.LoadVector(s.At(v, offset, i), vi, masked)
		s.VMULPS(beta1, mi, mi)
		s.VFMADD231PS(x, rate1, mi)
		s.VMULPS(rate2, x, t)
		s.VMULPS(beta2, vi, vi)
		s.VFMADD231PS(x, t, vi)
		s.StoreVector(mi, s.At(m, offset, i), masked)
		s.StoreVector(vi, s.At(v, offset, i), masked)
		if amsgrad {
			s.LoadVector(s.At(largest, offset, i), t, masked)
			s.VMAXPS(vi, t, vi) // a NaN in vi stays NaN
			s.StoreVector(vi, s.At(largest, offset, i), masked)
		}
		s.VSQRTPS(vi, vi)
		s.VFMADD213PS(eps, root, vi)
		s.VMULPS(size, mi, mi)
		s.VDIVPS(vi, mi, mi)
		s.LoadVector(s.At(p, offset, i), t, masked)
		s.VSUBPS(mi, t, t)
		s.StoreVector(t, s.At(p, offset, i), masked)
		if copies {
			s.storeRounded(t, rounded, offset, masked)
		}
	})
	if from.dot { // with the additions of the products of four rows
		s.VMOVSS(s.FourSums([]reg.VecVirtual{sum, sum, sum, sum}), operand.Mem{Base: s.Argument("out")})
	}
	s.End()
}

// storeRounded stores the lanes of v, rounded to bfloat16, at half a byte offset.
func (s *set) storeRounded(v reg.VecVirtual, row, offset reg.GPVirtual, masked bool) {
	at := s.GP64()
	s.MOVQ(offset, at)
	s.SHRQ(operand.U8(1), at)
	m := operand.Mem{Base: row, Index: at, Scale: 1}
	if masked {
		s.VPMOVDW(s.Converted(v), s.Mask, m)
		return
	}
	ahead := m
	ahead.Disp = aheadOfMoments / 2
	s.PREFETCHT0(ahead)
	half := s.YMM()
	s.VCVTUQQ2PS(v, half)
	s.VMOVUPS(half, m)
}
