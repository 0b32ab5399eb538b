package asm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Factor broadcasts a float32 argument to a vector.
func (s *Set) Factor(name string) reg.VecVirtual {
	v := s.Vector()
	s.VBROADCASTSS(s.ArgumentAddress(name), v)
	return v
}

// Word broadcasts a 32-bit constant to a vector.
func (s *Set) Word(value uint32) reg.VecVirtual {
	w, x, v := s.GP32(), s.XMM(), s.Vector()
	s.MOVL(operand.U32(value), w)
	if s.Wide {
		s.VPBROADCASTD(w, v)
		return v
	}
	s.VMOVD(w, x)
	s.VPBROADCASTD(x, v)
	return v
}

// Words makes a table of constants.
func (s *Set) Words(name string, value func(i int) uint32, n int) operand.Mem {
	m := s.StaticGlobal(name)
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range n {
		s.AppendDatum(operand.U32(value(i)))
	}
	return m
}

// And is bitwise.
func (s *Set) And(a, b, to reg.VecVirtual) {
	if s.Wide {
		s.VPANDD(a, b, to)
	} else {
		s.VPAND(a, b, to)
	}
}

// or is bitwise.
func (s *Set) or(a, b, to reg.VecVirtual) {
	if s.Wide {
		s.VPORD(a, b, to)
	} else {
		s.VPOR(a, b, to)
	}
}

// Comparisons of the instructions VCMPPS and VCMPPD.
const (
	Unordered    = 3    // holds if an operand is NaN
	UnlessAtMost = 0x16 // holds unless the first operand is at most the second
)

// FourSums returns the sums over all lanes of four vectors.
func (s *Set) FourSums(v []reg.VecVirtual) reg.VecVirtual {
	add := func(a, b reg.VecVirtual) reg.VecVirtual {
		s.VADDPS(a, b, b)
		return b
	}
	interleaved := func(a, b reg.VecVirtual) reg.VecVirtual {
		low, high := s.Vector(), s.Vector()
		s.VUNPCKLPS(b, a, low)
		s.VUNPCKHPS(b, a, high)
		return add(low, high)
	}
	pair, other := interleaved(v[0], v[1]), interleaved(v[2], v[3])
	low, high := s.Vector(), s.Vector()
	s.VUNPCKLPD(other, pair, low)
	s.VUNPCKHPD(other, pair, high)
	quarters := add(low, high)
	if s.Wide {
		half := s.YMM()
		s.VEXTRACTF64X4(operand.U8(1), quarters, half)
		s.VADDPS(quarters.AsY(), half, half)
		quarter := s.XMM()
		s.VEXTRACTF32X4(operand.U8(1), half, quarter)
		s.VADDPS(half.AsX(), quarter, quarter)
		return quarter
	}
	quarter := s.XMM()
	s.VEXTRACTF128(operand.U8(1), quarters, quarter)
	s.VADDPS(quarters.AsX(), quarter, quarter)
	return quarter
}
