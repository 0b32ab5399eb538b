package kernels

import (
	"github.com/mmcloughlin/avo/operand"
)

// roofs are the kernels that measure what the machine can do at most.
func (s *set) roofs() {
	s.multiplyAdds()
	if s.wide {
		s.pairsOf().multiplyAdds()
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

// multiplyAdds runs multiply-adds on registers only.
func (s *set) multiplyAdds() {
	s.function("multiplyAdds", "rounds int", "runs multiply-adds on registers.")
	rounds := s.argument("rounds")
	x := s.vector()
	s.zero(x)
	sums := s.vectors(s.accumulators())
	for _, v := range sums {
		s.zero(v)
	}
	s.Label("round")
	for _, v := range sums {
		s.multiplyAdd(x, x, v)
	}
	s.SUBQ(operand.I32(1), rounds)
	s.JG(operand.LabelRef("round"))
	s.end()
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
