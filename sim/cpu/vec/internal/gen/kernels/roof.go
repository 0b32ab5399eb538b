package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// roofs are the kernels that measure what the machine can do at most.
func (s *set) roofs() {
	s.multiplyAdds()
	if s.wide {
		s.dotProducts()
	}
	s.readAll()
}

// accumulators is the number of independent sums: enough to hide an instruction's
// latency, few enough to leave registers for the operands.
func (s *set) accumulators() int {
	if s.wide {
		return 24
	}
	return 12
}

// multiplyAdds runs fused multiply-adds on registers only.
func (s *set) multiplyAdds() {
	s.function("multiplyAdds", "rounds int", "is MultiplyAdds.")
	rounds := s.argument("rounds")
	x := s.vector()
	s.zero(x)
	sums := s.vectors(s.accumulators())
	for _, v := range sums {
		s.zero(v)
	}
	s.Label("round")
	for _, v := range sums {
		s.VFMADD231PS(x, x, v)
	}
	s.SUBQ(operand.I32(1), rounds)
	s.JG(operand.LabelRef("round"))
	s.end()
}

// dotProducts runs products of pairs of bfloat16 on registers only.
func (s *set) dotProducts() {
	s.function("dotProducts", "rounds int", "is DotProducts.")
	rounds := s.argument("rounds")
	all := []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11,
		reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24}
	for _, v := range all {
		s.VPXORD(v, v, v)
	}
	operands := s.accumulators()
	s.Label("round")
	for i := range operands {
		s.code(vdpbf16ps(i, operands, operands), "VDPBF16PS Z%d, Z%d, Z%d", operands, operands, i)
	}
	s.SUBQ(operand.I32(1), rounds)
	s.JG(operand.LabelRef("round"))
	s.end()
}

// vdpbf16ps encodes the addition of products of pairs of registers a and b to a sum, which
// neither Go's assembler nor avo knows: an EVEX prefix of four bytes for the map 0F38, vectors
// of 512 bits and the mandatory prefix F3, the opcode, and ModRM.
func vdpbf16ps(sum, a, b int) []byte {
	inverted := func(number, bit, at int) byte { return byte(^number>>bit&1) << at }
	return []byte{0x62,
		inverted(sum, 3, 7) | inverted(b, 4, 6) | inverted(b, 3, 5) | inverted(sum, 4, 4) | 2,
		byte(^a&15<<3) | 4 | prefixF3,
		2<<5 | inverted(a, 4, 3),
		0x52, 0xc0 | byte(sum&7<<3) | byte(b&7)}
}

// readAll loads whole groups of eight vectors.
func (s *set) readAll() {
	s.function("readAll", "x *float32, groups int", "is ReadAll.")
	x, groups := s.argument("x"), s.argument("groups")
	sums := s.vectors(8)
	for _, v := range sums {
		s.zero(v)
	}
	s.Label("group")
	for i, v := range sums {
		s.VADDPS(operand.Mem{Base: x, Disp: i * s.bytes()}, v, v)
	}
	s.ADDQ(operand.I32(int32(8*s.bytes())), x)
	s.SUBQ(operand.I32(1), groups)
	s.JG(operand.LabelRef("group"))
	s.end()
}
