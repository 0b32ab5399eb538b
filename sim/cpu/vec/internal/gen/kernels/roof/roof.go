package roof

import "github.com/mmcloughlin/avo/operand"

// roofs are the kernels that measure what the machine can do at most.
func (s *set) roofs() {
	s.multiplyAdds()
	if s.Wide {
		s.pairsOf().multiplyAdds()
	}
	s.readAll()
}

// accumulators is the number of independent sums: enough to hide an instruction's
// latency, few enough to leave registers for the operands.
func (s *set) accumulators() int {
	if s.Wide {
		return 24
	}
	return 12
}

// multiplyAdds runs multiply-adds on registers only.
func (s *set) multiplyAdds() {
	s.Kernel("multiplyAdds", "rounds int", "runs multiply-adds on registers.")
	rounds := s.Argument("rounds")
	x := s.Vector()
	s.Zero(x)
	sums := s.Vectors(s.accumulators())
	for _, v := range sums {
		s.Zero(v)
	}
	s.Label("round")
	for _, v := range sums {
		s.MultiplyAdd(x, x, v)
	}
	s.SUBQ(operand.I32(1), rounds)
	s.JG(operand.LabelRef("round"))
	s.End()
}

// readAll loads whole groups of eight vectors.
func (s *set) readAll() {
	s.Kernel("readAll", "x *float32, groups int", "is ReadAll.")
	x, groups := s.Argument("x"), s.Argument("groups")
	sums := s.Vectors(8)
	for _, v := range sums {
		s.Zero(v)
	}
	s.Label("group")
	for i, v := range sums {
		s.VADDPS(operand.Mem{Base: x, Disp: i * s.Bytes()}, v, v)
	}
	s.ADDQ(operand.I32(int32(8*s.Bytes())), x)
	s.SUBQ(operand.I32(1), groups)
	s.JG(operand.LabelRef("group"))
	s.End()
}
