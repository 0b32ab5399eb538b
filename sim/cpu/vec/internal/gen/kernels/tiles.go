package kernels

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileFields are the fields of the structure that the tile kernel takes, 8 bytes
// each, in the order of package vec's tileCall.
var tileFields = []string{
	"config", "segments", "a", "b", "c", "count", "groups",
	"aStride", "aBlock", "aStep", "bStride", "bBlock", "bStep",
	"cStride", "cRowBlock", "cColumnBlock", "cStep", "accumulate",
}

// tileCall returns the operand for a field of the structure at DI.
func tileCall(name string) operand.Mem {
	for i, f := range tileFields {
		if f == name {
			return operand.Mem{Base: reg.RDI, Disp: 8 * i}
		}
	}
	panic("no field " + name)
}

// amx writes the matrix product on AMX and the kernels that prepare its operands.
func (s *set) amx() {
	if !s.wide {
		return // every processor with AMX has AVX-512
	}
	s.tileProduct()
	s.pairs()
	s.pairsOf().pairs()
	s.pairRows()
	s.pairTaps()
	s.largestPairs()
	s.pairColumns()
}

// tileProduct multiplies blocks of 2×2 tiles: for every group
//
//	c = Σ over segments of a·b, added to c where accumulate is not 0
//
// The registers are fixed, because the instructions are bytes. Tiles 0 to 3 are c,
// 4 and 5 two of a below each other, 6 and 7 two of b side by side. The tiles are
// configured on entry and released before the end: no Go code runs in between.
func (s *set) tileProduct() {
	s.Function("tileProductAMX")
	s.Attributes(attr.NOSPLIT)
	s.SignatureExpr("func(call *int64)")
	s.Pragma("noescape")
	s.Doc("tileProductAMX is TileProduct on AMX's tiles.")
	s.Load(s.Param("call"), reg.RDI)
	s.MOVQ(tileCall("config"), reg.RAX)
	s.code(ldtilecfg(reg.RAX, 0), "LDTILECFG (AX)")
	for _, f := range []struct {
		name string
		to   reg.Physical
	}{
		{"a", reg.R8}, {"b", reg.R9}, {"c", reg.RDX}, {"aStride", reg.R11}, {"bStride", reg.R12},
		{"bBlock", reg.R13}, {"aBlock", reg.RAX}, {"groups", reg.R14},
	} {
		s.MOVQ(tileCall(f.name), f.to)
	}

	s.Label("group")
	s.MOVQ(tileCall("accumulate"), reg.RCX)
	s.TESTQ(reg.RCX, reg.RCX)
	s.JZ(operand.LabelRef("zero"))
	s.eachSum(func(tile int, at reg.Physical) {
		s.code(tileload(tile, at, reg.RSI, 0), "TILELOADD (%s)(SI*1), TMM%d", at.Asm(), tile)
	})
	s.JMP(operand.LabelRef("sum"))
	s.Label("zero")
	for tile := range 4 {
		s.code(tilezero(tile), "TILEZERO TMM%d", tile)
	}
	s.Label("sum")
	s.MOVQ(tileCall("segments"), reg.R10)
	s.MOVQ(tileCall("count"), reg.RCX)
	s.Label("segment")
	s.tileSegment()
	s.DECQ(reg.RCX)
	s.JNZ(operand.LabelRef("segment"))

	s.eachSum(func(tile int, at reg.Physical) {
		s.code(tilestore(tile, at, reg.RSI, 0), "TILESTORED TMM%d, (%s)(SI*1)", tile, at.Asm())
	})
	s.ADDQ(tileCall("aStep"), reg.R8)
	s.ADDQ(tileCall("bStep"), reg.R9)
	s.ADDQ(tileCall("cStep"), reg.RDX)
	s.DECQ(reg.R14)
	s.JNZ(operand.LabelRef("group"))
	s.code(tilerelease(), "TILERELEASE")
	s.RET()
}

// tileSegment adds the four products of two tiles of a and two of b.
func (s *set) tileSegment() {
	s.MOVLQSX(operand.Mem{Base: reg.R10}, reg.RSI)
	s.LEAQ(operand.Mem{Base: reg.R8, Index: reg.RSI, Scale: 2}, reg.RSI)
	s.MOVLQSX(operand.Mem{Base: reg.R10, Disp: 4}, reg.RBX)
	s.LEAQ(operand.Mem{Base: reg.R9, Index: reg.RBX, Scale: 2}, reg.RBX)
	s.ADDQ(operand.I32(8), reg.R10)
	load := func(tile int, base, stride reg.Physical) {
		s.code(tileload(tile, base, stride, 0), "TILELOADD (%s)(%s*1), TMM%d", base.Asm(), stride.Asm(), tile)
	}
	product := func(sum, a, b int) {
		s.code(tdpbf16ps(sum, a, b), "TDPBF16PS TMM%d, TMM%d, TMM%d", b, a, sum)
	}
	load(6, reg.RBX, reg.R12)
	load(4, reg.RSI, reg.R11)
	product(0, 4, 6)
	s.ADDQ(reg.R13, reg.RBX)
	load(7, reg.RBX, reg.R12)
	product(1, 4, 7)
	s.ADDQ(reg.RAX, reg.RSI)
	load(5, reg.RSI, reg.R11)
	product(2, 5, 6)
	product(3, 5, 7)
}

// eachSum goes through the four tiles of c, whose stride is left in SI.
func (s *set) eachSum(do func(tile int, at reg.Physical)) {
	s.MOVQ(tileCall("cStride"), reg.RSI)
	do(0, reg.RDX)
	s.MOVQ(reg.RDX, reg.RBX)
	s.ADDQ(tileCall("cColumnBlock"), reg.RBX)
	do(1, reg.RBX)
	s.ADDQ(tileCall("cRowBlock"), reg.RBX)
	do(3, reg.RBX)
	s.SUBQ(tileCall("cColumnBlock"), reg.RBX)
	do(2, reg.RBX)
}

// pair packs two vectors as bfloat16: even in the lower halves, odd in the upper.
func (s *set) pair(r bf16Rounding, even, odd reg.VecVirtual) reg.VecVirtual {
	if s.ofPairs {
		e, o := s.converted(even), s.converted(odd)
		s.VPSLLD(operand.U8(16), o, o)
		s.VPORD(e, o, o)
		return o
	}
	e, o := s.round(r, even), s.round(r, odd)
	s.VPSRLD(operand.U8(16), e, e)
	s.VPORD(e, o, o)
	return o
}

// pairs packs rows of two matrices element by element.
func (s *set) pairs() {
	s.function("pairs", "y *uint16, yPitch int, even, odd *float32, pitch, rows, n int", "is Pairs.")
	y, even, odd, n := s.argument("y"), s.argument("even"), s.argument("odd"), s.argument("n")
	yPitch, pitch, rows := s.argument("yPitch"), s.byteArgument("pitch"), s.argument("rows")
	s.SHLQ(operand.U8(1), yPitch)
	left, offset := s.GP64(), s.GP64()
	var r bf16Rounding
	if !s.ofPairs {
		r = s.bf16Rounding()
	}
	s.Label("row")
	s.MOVQ(n, left)
	s.elements(left, offset, 1, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(even, offset, i), u, masked)
		s.load(s.at(odd, offset, i), v, masked)
		s.store(s.pair(r, u, v), s.at(y, offset, i), masked)
	})
	s.ADDQ(yPitch, y)
	s.ADDQ(pitch, even)
	s.ADDQ(pitch, odd)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.end()
}

// pairRows interleaves rows of two matrices of 16-bit elements.
func (s *set) pairRows() {
	s.function("pairRows", "y *float32, yPitch int, even, odd *uint16, pitch, rows, n int", "is PairRows.")
	y, even, odd, n := s.argument("y"), s.argument("even"), s.argument("odd"), s.argument("n")
	yPitch, pitch, rows := s.byteArgument("yPitch"), s.argument("pitch"), s.argument("rows")
	s.SHLQ(operand.U8(1), pitch)
	at, first, second, left := s.GP64(), s.GP64(), s.GP64(), s.GP64()
	body := func(masked bool) {
		e, o := s.vector(), s.vector()
		if masked {
			s.VPMOVZXWD_Z(operand.Mem{Base: first}, s.mask, e)
			s.VPMOVZXWD_Z(operand.Mem{Base: second}, s.mask, o)
		} else {
			s.VPMOVZXWD(operand.Mem{Base: first}, e)
			s.VPMOVZXWD(operand.Mem{Base: second}, o)
		}
		s.VPSLLD(operand.U8(16), o, o)
		s.VPORD(e, o, o)
		s.store(o, operand.Mem{Base: at}, masked)
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
	s.partial(left)
	body(true)
	s.Label("next")
	s.ADDQ(yPitch, y)
	s.ADDQ(pitch, even)
	s.ADDQ(pitch, odd)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.end()
}

// pairTaps interleaves kernels of sixteen taps in an order.
func (s *set) pairTaps() {
	s.function("pairTaps", "y *float32, even, odd *uint16, order *uint32, kernels int", "is PairTaps.")
	y, even, odd, kernels := s.argument("y"), s.argument("even"), s.argument("odd"), s.argument("kernels")
	order := s.vector()
	s.VMOVUPS(operand.Mem{Base: s.argument("order")}, order)
	s.Label("kernel")
	e, o := s.vector(), s.vector()
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
	s.end()
}

// pairColumns packs elements that lie a stride apart.
func (s *set) pairColumns() {
	s.function("pairColumns", "y *uint16, even, odd *float32, stride, n int", "is PairColumns.")
	y, even, odd := s.argument("y"), s.argument("even"), s.argument("odd")
	stride, n, r := s.argument("stride"), s.argument("n"), s.bf16Rounding()
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
	s.partial(n)
	collect := func(from reg.Register) reg.VecVirtual {
		v, k := s.ZMM(), s.K()
		s.VPXORD(v, v, v)
		s.KMOVW(s.mask, k) // a gather clears its mask
		s.VGATHERDPS(operand.Mem{Base: from, Index: index, Scale: 4}, k, v)
		return v
	}
	u := collect(even)
	s.store(s.pair(r, u, collect(odd)), operand.Mem{Base: y}, true)
	s.ADDQ(stride, even)
	s.ADDQ(stride, odd)
	s.ADDQ(operand.I32(int32(s.bytes())), y)
	s.SUBQ(operand.I32(int32(s.lanes)), n)
	s.JMP(operand.LabelRef("vector"))
	s.Label("done")
	s.end()
}
