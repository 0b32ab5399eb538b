// Package asm has what the kernels of all rooms are written with: avo's instructions, vectors of either
// instruction set, masks for the last, partial vector, and the instructions that avo does not know.
package asm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Set is an instruction set for kernels. AVX-512 has sixteen lanes, 32 registers and masks; AVX2 with FMA eight
// lanes and sixteen registers.
type Set struct {
	*build.Context
	Suffix  string // of the kernels' names
	Lanes   int
	Wide    bool // AVX-512
	OfPairs bool // whose elements are pairs of bfloat16

	Mask  reg.Register // of the current partial vector
	table operand.Mem  // AVX2's masks: eight words of ones, eight of zeros
}

// Sets returns the instruction sets that write to a context.
func Sets(c *build.Context) []*Set {
	return []*Set{
		{Context: c, Suffix: "AVX512", Lanes: 16, Wide: true},
		{Context: c, Suffix: "AVX2", Lanes: 8},
	}
}

// PairsOf returns the set for kernels whose factors are pairs of bfloat16, multiplied and added
// by VDPBF16PS.
func (s *Set) PairsOf() *Set {
	p := *s
	p.Suffix, p.OfPairs = "BF16", true
	return &p
}

// MultiplyAdd adds products to a sum: of the lanes, or of both elements of each lane's pairs.
func (s *Set) MultiplyAdd(a, b, sum reg.VecVirtual) {
	if s.OfPairs {
		s.dotProduct(a, b, sum)
	} else {
		s.VFMADD231PS(a, b, sum)
	}
}

// Bytes is the size of a vector.
func (s *Set) Bytes() int { return 4 * s.Lanes }

// Vector returns a new vector.
func (s *Set) Vector() reg.VecVirtual {
	if s.Wide {
		return s.ZMM()
	}
	return s.YMM()
}

// Vectors returns n new vectors.
func (s *Set) Vectors(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = s.Vector()
	}
	return v
}

// Kernel begins a kernel.
func (s *Set) Kernel(name, arguments, doc string) {
	s.Function(name + s.Suffix)
	s.Attributes(attr.NOSPLIT)
	s.SignatureExpr("func(" + arguments + ")")
	s.Pragma("noescape")
	s.Doc(name + s.Suffix + " " + doc)
	s.Mask = nil
}

// End finishes a kernel.
func (s *Set) End() {
	s.VZEROUPPER()
	s.RET()
}

// Argument loads an integer or pointer argument.
func (s *Set) Argument(name string) reg.GPVirtual {
	r := s.GP64()
	s.Load(s.Param(name), r)
	return r
}

// ArgumentAddress returns the address of an argument.
func (s *Set) ArgumentAddress(name string) operand.Mem {
	a, err := s.Param(name).Resolve()
	if err != nil {
		panic(err) // no such name in the signature
	}
	return a.Addr
}

// ByteArgument loads an argument that counts floats, as bytes.
func (s *Set) ByteArgument(name string) reg.GPVirtual {
	r := s.Argument(name)
	s.SHLQ(operand.U8(2), r)
	return r
}

// Zero clears a vector.
func (s *Set) Zero(v reg.VecVirtual) {
	if s.Wide {
		s.VPXORD(v, v, v)
	} else {
		s.VXORPS(v, v, v)
	}
}

// Partial makes the mask of the first n lanes: none for less than one, all of them
// when n is larger.
func (s *Set) Partial(n reg.Register) {
	count, none := s.GP64(), s.GP64()
	s.MOVQ(operand.U32(uint32(s.Lanes)), count)
	s.CMPQ(n, count)
	s.CMOVQLT(n, count)
	s.XORQ(none, none)
	s.TESTQ(count, count)
	s.CMOVQLT(none, count)
	if s.Wide {
		s.MOVQ(count, reg.RCX)
		ones := s.GP32()
		s.MOVL(operand.U32(1), ones)
		s.SHLL(reg.CL, ones)
		s.DECL(ones)
		s.Mask = s.K()
		s.KMOVW(ones, s.Mask)
		return
	}
	if s.table.Symbol.Name == "" {
		s.table = s.StaticGlobal("masks")
		s.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 16 {
			v := operand.U32(0)
			if i < 8 {
				v = ^v
			}
			s.AppendDatum(v)
		}
	}
	at := s.GP64()
	s.LEAQ(s.table.Offset(32), at)
	s.SHLQ(operand.U8(2), count)
	s.SUBQ(count, at)
	s.Mask = s.YMM()
	s.VMOVUPS(operand.Mem{Base: at}, s.Mask)
}

// LoadVector reads a vector, or as many lanes as the mask has, zeros in the others.
func (s *Set) LoadVector(m operand.Mem, v reg.VecVirtual, masked bool) {
	switch {
	case !masked:
		s.VMOVUPS(m, v)
	case s.Wide:
		s.VMOVUPS_Z(m, s.Mask, v)
	default:
		s.VMASKMOVPS(m, s.Mask, v)
	}
}

// StoreVector writes a vector, or as many lanes as the mask has.
func (s *Set) StoreVector(v reg.VecVirtual, m operand.Mem, masked bool) {
	switch {
	case !masked:
		s.VMOVUPS(v, m)
	case s.Wide:
		s.Context.VMOVUPS(v, s.Mask, m)
	default:
		s.VMASKMOVPS(v, s.Mask, m)
	}
}

// Elements writes a loop over n elements in vectors, first unroll at a time, then
// one by one, the last through a mask. body computes vector i of those at offset.
// With AVX2 no whole vector goes through a mask: stores through one are slow.
func (s *Set) Elements(n, offset reg.GPVirtual, unroll int, body func(i int, masked bool)) {
	s.XORQ(offset, offset)
	s.Label("whole")
	s.CMPQ(n, operand.U32(uint32(unroll*s.Lanes)))
	s.JLT(operand.LabelRef("rest"))
	for i := range unroll {
		body(i, false)
	}
	s.ADDQ(operand.I32(int32(unroll*s.Bytes())), offset)
	s.SUBQ(operand.I32(int32(unroll*s.Lanes)), n)
	s.JMP(operand.LabelRef("whole"))
	s.Label("rest")
	if !s.Wide && unroll > 1 {
		s.CMPQ(n, operand.U32(uint32(s.Lanes)))
		s.JLT(operand.LabelRef("partial"))
		body(0, false)
		s.ADDQ(operand.I32(int32(s.Bytes())), offset)
		s.SUBQ(operand.I32(int32(s.Lanes)), n)
		s.JMP(operand.LabelRef("rest"))
		s.Label("partial")
	}
	s.TESTQ(n, n)
	s.JLE(operand.LabelRef("done"))
	s.Partial(n)
	body(0, true)
	s.ADDQ(operand.I32(int32(s.Bytes())), offset)
	s.SUBQ(operand.I32(int32(s.Lanes)), n)
	s.JMP(operand.LabelRef("rest"))
	s.Label("done")
}

// At is vector i of a row at a byte offset.
func (s *Set) At(row, offset reg.Register, i int) operand.Mem {
	return operand.Mem{Base: row, Index: offset, Scale: 1, Disp: i * s.Bytes()}
}
