package half

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
)

// pairLayouts writes the kernels that lay out pairs, and that of their largest.
func (s *set) pairLayouts() {
	if !s.Wide {
		return // plain Go does without AVX-512
	}
	s.pairs()
	s.pairsOf().pairs()
	s.pairRows()
	s.pairTaps()
	s.largestPairs()
	s.pairColumns()
}

// largestPairs is the largest of the four numbers of two pairs.
func (s *set) largestPairs() {
	s.Kernel("largestPairs", "y *uint16, above, below *float32, n int", "is LargestPairs.")
	y, above, below, n := s.Argument("y"), s.Argument("above"), s.Argument("below"), s.Argument("n")
	high, quiet, offset := s.Word(0xffff0000), s.Word(0x7fc00000), s.GP64()
	largest := func(row reg.GPVirtual, masked bool) (v reg.VecVirtual, nan reg.Register) {
		second := s.Vector()
		v, nan = s.Vector(), s.K()
		s.LoadVector(s.At(row, offset, 0), second, masked)
		s.VPSLLD(operand.U8(16), second, v)
		s.VPANDD(high, second, second)
		s.VCMPPS(operand.U8(asm.Unordered), v, second, nan)
		s.VMAXPS(v, second, v)
		return v, nan
	}
	s.Elements(n, offset, 1, func(_ int, masked bool) {
		v, nan := largest(above, masked)
		u, other := largest(below, masked)
		s.VMAXPS(u, v, v)
		s.KORW(other, nan, nan)
		s.VPORD(quiet, v, nan, v)
		s.VPSRLD(operand.U8(16), v, v)
		if masked {
			s.VPMOVDW(v, s.Mask, operand.Mem{Base: y})
		} else {
			s.VPMOVDW(v, operand.Mem{Base: y})
			s.ADDQ(operand.I32(32), y)
		}
	})
	s.End()
}

// pair packs two vectors as bfloat16: even in the lower halves, odd in the upper.
func (s *set) pair(r asm.Rounding, even, odd reg.VecVirtual) reg.VecVirtual {
	if s.OfPairs {
		e, o := s.Converted(even), s.Converted(odd)
		s.VPSLLD(operand.U8(16), o, o)
		s.VPORD(e, o, o)
		return o
	}
	e, o := s.Round(r, even), s.Round(r, odd)
	s.VPSRLD(operand.U8(16), e, e)
	s.VPORD(e, o, o)
	return o
}

// pairs packs rows of two matrices element by element.
func (s *set) pairs() {
	doc := "is TilePairs."
	if s.OfPairs {
		doc = "is RoundPairs."
	}
	s.Kernel("pairs", "y *uint16, yPitch int, even, odd *float32, pitch, rows, n int", doc)
	y, even, odd, n := s.Argument("y"), s.Argument("even"), s.Argument("odd"), s.Argument("n")
	yPitch, pitch, rows := s.Argument("yPitch"), s.ByteArgument("pitch"), s.Argument("rows")
	s.SHLQ(operand.U8(1), yPitch)
	left, offset := s.GP64(), s.GP64()
	var r asm.Rounding
	if !s.OfPairs {
		r = s.Rounding()
	}
	s.Label("row")
	s.MOVQ(n, left)
	s.Elements(left, offset, 1, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(even, offset, i), u, masked)
		s.LoadVector(s.At(odd, offset, i), v, masked)
		s.StoreVector(s.pair(r, u, v), s.At(y, offset, i), masked)
	})
	s.ADDQ(yPitch, y)
	s.ADDQ(pitch, even)
	s.ADDQ(pitch, odd)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// pairRows interleaves rows of two matrices of 16-bit elements.
func (s *set) pairRows() {
	s.Kernel("pairRows", "y *float32, yPitch int, even, odd *uint16, pitch, rows, n int", "is PairRows.")
	y, even, odd, n := s.Argument("y"), s.Argument("even"), s.Argument("odd"), s.Argument("n")
	yPitch, pitch, rows := s.ByteArgument("yPitch"), s.Argument("pitch"), s.Argument("rows")
	s.SHLQ(operand.U8(1), pitch)
	at, first, second, left := s.GP64(), s.GP64(), s.GP64(), s.GP64()
	body := func(masked bool) {
		e, o := s.Vector(), s.Vector()
		if masked {
			s.VPMOVZXWD_Z(operand.Mem{Base: first}, s.Mask, e)
			s.VPMOVZXWD_Z(operand.Mem{Base: second}, s.Mask, o)
		} else {
			s.VPMOVZXWD(operand.Mem{Base: first}, e)
			s.VPMOVZXWD(operand.Mem{Base: second}, o)
		}
		s.VPSLLD(operand.U8(16), o, o)
		s.VPORD(e, o, o)
		s.StoreVector(o, operand.Mem{Base: at}, masked)
	}
	s.Label("row")
	s.MOVQ(n, left)
	s.MOVQ(y, at)
	s.MOVQ(even, first)
	s.MOVQ(odd, second)
	s.Label("vector")
	s.CMPQ(left, operand.U32(16))
	s.JLT(operand.LabelRef("rest"))
	body(false)
	s.ADDQ(operand.I32(64), at)
	s.ADDQ(operand.I32(32), first)
	s.ADDQ(operand.I32(32), second)
	s.SUBQ(operand.U32(16), left)
	s.JMP(operand.LabelRef("vector"))
	s.Label("rest")
	s.TESTQ(left, left)
	s.JZ(operand.LabelRef("next"))
	s.Partial(left)
	body(true)
	s.Label("next")
	s.ADDQ(yPitch, y)
	s.ADDQ(pitch, even)
	s.ADDQ(pitch, odd)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// pairTaps interleaves kernels of sixteen taps in an order.
func (s *set) pairTaps() {
	s.Kernel("pairTaps", "y *float32, even, odd *uint16, order *uint32, kernels int", "is PairTaps.")
	y, even, odd, kernels := s.Argument("y"), s.Argument("even"), s.Argument("odd"), s.Argument("kernels")
	order := s.Vector()
	s.VMOVUPS(operand.Mem{Base: s.Argument("order")}, order)
	s.Label("kernel")
	e, o := s.Vector(), s.Vector()
	s.VPMOVZXWD(operand.Mem{Base: even}, e)
	s.VPMOVZXWD(operand.Mem{Base: odd}, o)
	s.VPSLLD(operand.U8(16), o, o)
	s.VPORD(e, o, o)
	s.VPERMD(o, order, o)
	s.VMOVUPS(o, operand.Mem{Base: y})
	s.ADDQ(operand.I32(64), y)
	s.ADDQ(operand.I32(32), even)
	s.ADDQ(operand.I32(32), odd)
	s.DECQ(kernels)
	s.JNZ(operand.LabelRef("kernel"))
	s.End()
}

// pairColumns packs elements that lie a stride apart.
func (s *set) pairColumns() {
	s.Kernel("pairColumns", "y *uint16, even, odd *float32, stride, n int", "is TilePairColumns.")
	y, even, odd := s.Argument("y"), s.Argument("even"), s.Argument("odd")
	stride, n, r := s.Argument("stride"), s.Argument("n"), s.Rounding()
	lanes := s.StaticGlobal("lanes")
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		s.AppendDatum(operand.U32(uint32(i)))
	}
	index, distance := s.ZMM(), s.ZMM()
	s.VPBROADCASTD(stride.As32(), distance)
	s.VMOVUPS(lanes, index)
	s.VPMULLD(distance, index, index)
	s.SHLQ(operand.U8(6), stride) // sixteen floats a lane
	s.Label("vector")
	s.TESTQ(n, n)
	s.JLE(operand.LabelRef("done"))
	s.Partial(n)
	collect := func(from reg.Register) reg.VecVirtual {
		v, k := s.ZMM(), s.K()
		s.VPXORD(v, v, v)
		s.KMOVW(s.Mask, k) // a gather clears its mask
		s.VGATHERDPS(operand.Mem{Base: from, Index: index, Scale: 4}, k, v)
		return v
	}
	u := collect(even)
	s.StoreVector(s.pair(r, u, collect(odd)), operand.Mem{Base: y}, true)
	s.ADDQ(stride, even)
	s.ADDQ(stride, odd)
	s.ADDQ(operand.I32(int32(s.Bytes())), y)
	s.SUBQ(operand.I32(int32(s.Lanes)), n)
	s.JMP(operand.LabelRef("vector"))
	s.Label("done")
	s.End()
}
