package kernels

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

// bf16Rounding are the constants of a rounding to bfloat16.
type bf16Rounding struct{ one, half, quiet, high reg.VecVirtual }

func (s *set) bf16Rounding() bf16Rounding {
	return bf16Rounding{s.word(1), s.word(0x7fff), s.word(1 << 22), s.word(0xffff0000)}
}

// word broadcasts a 32-bit constant to a vector.
func (s *set) word(value uint32) reg.VecVirtual {
	w, x, v := s.GP32(), s.XMM(), s.vector()
	s.MOVL(operand.U32(value), w)
	if s.wide {
		s.VPBROADCASTD(w, v)
		return v
	}
	s.VMOVD(w, x)
	s.VPBROADCASTD(x, v)
	return v
}

// and, or are bitwise.
func (s *set) and(a, b, to reg.VecVirtual) {
	if s.wide {
		s.VPANDD(a, b, to)
	} else {
		s.VPAND(a, b, to)
	}
}

func (s *set) or(a, b, to reg.VecVirtual) {
	if s.wide {
		s.VPORD(a, b, to)
	} else {
		s.VPOR(a, b, to)
	}
}

// unordered is the comparison that holds if an operand is NaN.
const unordered = 3

// round rounds v to bfloat16 values, ties to even; a NaN becomes a quiet one.
func (s *set) round(r bf16Rounding, v reg.VecVirtual) reg.VecVirtual {
	to, quiet := s.vector(), s.vector()
	s.VPSRLD(operand.U8(16), v, to)
	s.and(r.one, to, to)
	s.VPADDD(r.half, to, to)
	s.VPADDD(v, to, to)
	if s.wide {
		k := s.K()
		s.VCMPPS(operand.U8(unordered), v, v, k)
		s.VPORD(v, r.quiet, k, to)
	} else {
		nan := s.vector()
		s.VCMPPS(operand.U8(unordered), v, v, nan)
		s.or(v, r.quiet, quiet)
		s.VBLENDVPS(nan, quiet, to, to)
	}
	s.and(r.high, to, to)
	return to
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
	s.end()
}

// widenBF16 moves 16 bits into the upper half of 32.
func (s *set) widenBF16() {
	s.function("widenBF16", "y *float32, x *uint16, groups int", "is WidenBF16 for whole vectors.")
	y, x, groups := s.argument("y"), s.argument("x"), s.argument("groups")
	s.groups(groups, y, x, s.bytes(), s.bytes()/2, func() {
		v := s.vector()
		s.VPMOVZXWD(operand.Mem{Base: x}, v)
		s.VPSLLD(operand.U8(16), v, v)
		s.VMOVUPS(v, operand.Mem{Base: y})
	})
}

// narrowBF16 rounds.
func (s *set) narrowBF16() {
	s.function("narrowBF16", "y *uint16, x *float32, groups int", "is NarrowBF16 for whole vectors.")
	y, x, groups := s.argument("y"), s.argument("x"), s.argument("groups")
	r := s.bf16Rounding()
	s.groups(groups, y, x, s.bytes()/2, s.bytes(), func() {
		v := s.vector()
		s.VMOVUPS(operand.Mem{Base: x}, v)
		to := s.round(r, v)
		s.VPSRLD(operand.U8(16), to, to)
		if s.wide {
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
	s.function("widenF16", "y *float32, x *uint16, groups int", "is WidenF16 for whole vectors.")
	y, x, groups := s.argument("y"), s.argument("x"), s.argument("groups")
	s.groups(groups, y, x, s.bytes(), s.bytes()/2, func() {
		v := s.vector()
		s.VCVTPH2PS(operand.Mem{Base: x}, v)
		s.VMOVUPS(v, operand.Mem{Base: y})
	})
}

func (s *set) narrowF16() {
	s.function("narrowF16", "y *uint16, x *float32, groups int", "is NarrowF16 for whole vectors.")
	y, x, groups := s.argument("y"), s.argument("x"), s.argument("groups")
	s.groups(groups, y, x, s.bytes()/2, s.bytes(), func() {
		v := s.vector()
		s.VMOVUPS(operand.Mem{Base: x}, v)
		s.VCVTPS2PH(operand.U8(0), v, operand.Mem{Base: y})
	})
}

// splitRow is high = round(x), and low = round(x − high) or, as a sum, high + low.
func (s *set) splitRow(name, doc string, sum bool) {
	s.function(name, "high, low, x *float32, n int", doc)
	high, low, x := s.argument("high"), s.argument("low"), s.argument("x")
	n, offset, r := s.argument("n"), s.GP64(), s.bf16Rounding()
	s.elements(n, offset, 1, func(i int, masked bool) {
		v := s.vector()
		s.load(s.at(x, offset, i), v, masked)
		h := s.round(r, v)
		s.VSUBPS(h, v, v)
		l := s.round(r, v)
		if sum {
			s.VADDPS(h, l, l)
		}
		s.store(h, s.at(high, offset, i), masked)
		s.store(l, s.at(low, offset, i), masked)
	})
	s.end()
}
