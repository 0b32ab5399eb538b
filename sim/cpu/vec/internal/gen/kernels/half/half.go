package half

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// halves are the conversions of mixed precision. Those to and from 2-byte elements
// work on whole vectors: groups of as many elements as a vector has lanes.
func (s *set) halves() {
	s.widenBF16()
	s.narrowBF16()
	s.widenF16()
	s.narrowF16()
	s.splitRow("split", "is Split.", false)
	s.splitRow("splitSum", "is SplitSum.", true)
}

// groups loops over the given number of groups of elements; y and x advance by
// the given numbers of bytes.
func (s *set) groups(groups, y, x reg.Register, yBytes, xBytes int, body func()) {
	s.Label("group")
	body()
	s.ADDQ(operand.I32(int32(yBytes)), y)
	s.ADDQ(operand.I32(int32(xBytes)), x)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.End()
}

// widenBF16 moves 16 bits into the upper half of 32.
func (s *set) widenBF16() {
	s.Kernel("widenBF16", "y *float32, x *uint16, groups int", "is Widen of bfloat16 for whole vectors.")
	y, x, groups := s.Argument("y"), s.Argument("x"), s.Argument("groups")
	s.groups(groups, y, x, s.Bytes(), s.Bytes()/2, func() {
		v := s.Vector()
		s.VPMOVZXWD(operand.Mem{Base: x}, v)
		s.VPSLLD(operand.U8(16), v, v)
		s.VMOVUPS(v, operand.Mem{Base: y})
	})
}

// narrowBF16 rounds.
func (s *set) narrowBF16() {
	s.Kernel("narrowBF16", "y *uint16, x *float32, groups int", "is Narrow to bfloat16 for whole vectors.")
	y, x, groups := s.Argument("y"), s.Argument("x"), s.Argument("groups")
	r := s.Rounding()
	s.groups(groups, y, x, s.Bytes()/2, s.Bytes(), func() {
		v := s.Vector()
		s.VMOVUPS(operand.Mem{Base: x}, v)
		to := s.Round(r, v)
		s.VPSRLD(operand.U8(16), to, to)
		if s.Wide {
			s.VPMOVDW(to, operand.Mem{Base: y})
			return
		}
		high := s.XMM()
		s.VEXTRACTI128(operand.U8(1), to, high)
		s.VPACKUSDW(high, to.AsX(), high)
		s.VMOVDQU(high, operand.Mem{Base: y})
	})
}

// widenF16 and narrowF16 have dedicated instructions.
func (s *set) widenF16() {
	s.Kernel("widenF16", "y *float32, x *uint16, groups int", "is Widen of float16 for whole vectors.")
	y, x, groups := s.Argument("y"), s.Argument("x"), s.Argument("groups")
	s.groups(groups, y, x, s.Bytes(), s.Bytes()/2, func() {
		v := s.Vector()
		s.VCVTPH2PS(operand.Mem{Base: x}, v)
		s.VMOVUPS(v, operand.Mem{Base: y})
	})
}

func (s *set) narrowF16() {
	s.Kernel("narrowF16", "y *uint16, x *float32, groups int", "is Narrow to float16 for whole vectors.")
	y, x, groups := s.Argument("y"), s.Argument("x"), s.Argument("groups")
	s.groups(groups, y, x, s.Bytes()/2, s.Bytes(), func() {
		v := s.Vector()
		s.VMOVUPS(operand.Mem{Base: x}, v)
		s.VCVTPS2PH(operand.U8(0), v, operand.Mem{Base: y})
	})
}

// splitRow is high = round(x), and low = round(x − high) or, as a sum, high + low.
func (s *set) splitRow(name, doc string, sum bool) {
	s.Kernel(name, "high, low, x *float32, n int", doc)
	high, low, x := s.Argument("high"), s.Argument("low"), s.Argument("x")
	n, offset, r := s.Argument("n"), s.GP64(), s.Rounding()
	s.Elements(n, offset, 1, func(i int, masked bool) {
		v := s.Vector()
		s.LoadVector(s.At(x, offset, i), v, masked)
		h := s.Round(r, v)
		s.VSUBPS(h, v, v)
		l := s.Round(r, v)
		if sum {
			s.VADDPS(h, l, l)
		}
		s.StoreVector(h, s.At(high, offset, i), masked)
		s.StoreVector(l, s.At(low, offset, i), masked)
	})
	s.End()
}
