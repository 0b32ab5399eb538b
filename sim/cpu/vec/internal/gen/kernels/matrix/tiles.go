package matrix

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileFields are the fields of the structure that the tile kernel takes, 8 bytes
// each, in the order of tileCall in vec/matrix.
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

// amx writes the matrix product on AMX.
func (s *set) amx() {
	if !s.Wide {
		return // every processor with AMX has AVX-512
	}
	s.tileProduct(false)
	s.tileProduct(true)
}

// tileProduct multiplies blocks of 2×2 tiles, or wide ones of 1×4: for every group
//
//	c = Σ over segments of a·b, added to c where accumulate is not 0
//
// The registers are fixed, because the instructions are bytes. Tiles 0 to 3 are c; of the
// others, 4 and 5 are two of a below each other and 6 and 7 two of b side by side, or 4 is a
// and 5 to 7 are of b. The tiles are configured on entry and released before the end: no Go
// code runs in between.
func (s *set) tileProduct(wide bool) {
	name, doc := "tileProductAMX", "is TileProduct on AMX's tiles."
	if wide {
		name, doc = "tileProductWideAMX", "is TileProduct of wide blocks on AMX's tiles."
	}
	s.Function(name)
	s.Attributes(attr.NOSPLIT)
	s.SignatureExpr("func(call *int64)")
	s.Pragma("noescape")
	s.Doc(name + " " + doc)
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
	s.eachSum(wide, func(tile int, at reg.Physical) {
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
	s.tileSegment(wide)
	s.DECQ(reg.RCX)
	s.JNZ(operand.LabelRef("segment"))

	s.eachSum(wide, func(tile int, at reg.Physical) {
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

// tileSegment adds the four products of two tiles of a and two of b, or of one and four.
func (s *set) tileSegment(wide bool) {
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
	if wide {
		load(4, reg.RSI, reg.R11)
		for column, b := range []int{5, 6, 7, 5} {
			if column > 0 {
				s.ADDQ(reg.R13, reg.RBX)
			}
			load(b, reg.RBX, reg.R12)
			product(column, 4, b)
		}
		return
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
func (s *set) eachSum(wide bool, do func(tile int, at reg.Physical)) {
	s.MOVQ(tileCall("cStride"), reg.RSI)
	do(0, reg.RDX)
	s.MOVQ(reg.RDX, reg.RBX)
	if wide {
		for tile := 1; tile < 4; tile++ {
			s.ADDQ(tileCall("cColumnBlock"), reg.RBX)
			do(tile, reg.RBX)
		}
		return
	}
	s.ADDQ(tileCall("cColumnBlock"), reg.RBX)
	do(1, reg.RBX)
	s.ADDQ(tileCall("cRowBlock"), reg.RBX)
	do(3, reg.RBX)
	s.SUBQ(tileCall("cColumnBlock"), reg.RBX)
	do(2, reg.RBX)
}
