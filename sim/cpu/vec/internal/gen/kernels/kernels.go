// Package kernels describes the assembly kernels of package vec in terms of avo's
// instructions. A kernel is a function of the instruction set: AVX-512 has sixteen
// lanes, 32 registers and masks; AVX2 with FMA eight lanes and sixteen registers.
//
// Every kernel follows these rules: no element beyond a slice is read or written
// (the last, partial vector goes through a mask); each element and each sum is
// computed in an order that depends on the operands' sizes only.
package kernels

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// families are the base names of the generated files.
var families = map[string]func(*set){
	"tile": func(s *set) {
		for _, t := range s.tiles {
			s.tile(t.rows, t.columns)
		}
	},
	"dots": func(s *set) {
		for _, rows := range s.dotRows {
			s.dots(rows)
			if s.wide {
				s.pairsOf().dots(rows)
			}
		}
	},
	"adam":          (*set).adams,
	"roof":          (*set).roofs,
	"taps":          (*set).tapSums,
	"square":        (*set).squares,
	"functions":     (*set).functions,
	"winograd":      (*set).winograd,
	"winogradtile":  (*set).winogradTiles,
	"winogradpairs": (*set).winogradPairs,
	"dense":         (*set).dense,
	"rows":          (*set).rows,
	"shuffle":       (*set).shuffles,
	"half":          (*set).halves,
	"amx":           (*set).amx,
	"patch":         (*set).patchKernels,
	"norm":          (*set).norms,
	"panel":         (*set).panels,
	"ssim":          (*set).ssim,
	"loss":          (*set).losses,
	"modulus":       func(s *set) { s.modulusStrip(false); s.modulusStrip(true) },
	"strip":         func(s *set) { s.strips(); s.stripLosses() },
}

// Files returns the text of every generated file by its name.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for family, kernels := range families {
		c := build.NewContext()
		c.ConstraintExpr("!noasm")
		for _, s := range []*set{avx512(c), avx2(c)} {
			kernels(s)
		}
		f, err := c.Result()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", family, err)
		}
		if err := pass.Compile.Execute(f); err != nil {
			return nil, fmt.Errorf("%s: %w", family, err)
		}
		config := printer.Config{Name: "internal/gen", Pkg: "vec"}
		for suffix, p := range map[string]printer.Printer{
			".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config),
		} {
			text, err := p.Print(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", family, err)
			}
			files[family+"_amd64"+suffix] = encodePairs(text)
		}
	}
	return files, nil
}

// shape is a tile held in registers: rows by columns vectors.
type shape struct{ rows, columns int }

// set is an instruction set for kernels.
type set struct {
	*build.Context
	suffix  string
	lanes   int
	wide    bool // AVX-512
	ofPairs bool // whose elements are pairs of bfloat16
	tiles   []shape
	dotRows []int

	mask  reg.Register // of the current partial vector
	table operand.Mem  // AVX2's masks: eight words of ones, eight of zeros
}

func avx512(c *build.Context) *set {
	return &set{Context: c, suffix: "AVX512", lanes: 16, wide: true,
		tiles: []shape{{8, 2}, {4, 4}, {2, 4}, {1, 8}}, dotRows: []int{4, 2, 1}}
}

func avx2(c *build.Context) *set {
	return &set{Context: c, suffix: "AVX2", lanes: 8,
		tiles: []shape{{4, 3}, {2, 4}, {1, 8}}, dotRows: []int{2, 1}}
}

// pairsOf returns the set for kernels whose factors are pairs of bfloat16, multiplied and added
// by VDPBF16PS.
func (s *set) pairsOf() *set {
	p := *s
	p.suffix, p.ofPairs = "BF16", true
	return &p
}

// multiplyAdd adds products to a sum: of the lanes, or of both elements of each lane's pairs.
func (s *set) multiplyAdd(a, b, sum reg.VecVirtual) {
	if s.ofPairs {
		s.dotProduct(a, b, sum)
	} else {
		s.VFMADD231PS(a, b, sum)
	}
}

// bytes is the size of a vector.
func (s *set) bytes() int { return 4 * s.lanes }

func (s *set) vector() reg.VecVirtual {
	if s.wide {
		return s.ZMM()
	}
	return s.YMM()
}

func (s *set) vectors(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = s.vector()
	}
	return v
}

// function begins a kernel.
func (s *set) function(name, arguments, doc string) {
	s.Function(name + s.suffix)
	s.Attributes(attr.NOSPLIT)
	s.SignatureExpr("func(" + arguments + ")")
	s.Pragma("noescape")
	s.Doc(name + s.suffix + " " + doc)
	s.mask = nil
}

// end finishes a kernel.
func (s *set) end() {
	s.VZEROUPPER()
	s.RET()
}

// argument loads an integer or pointer argument.
func (s *set) argument(name string) reg.GPVirtual {
	r := s.GP64()
	s.Load(s.Param(name), r)
	return r
}

// address returns the address of an argument.
func (s *set) address(name string) operand.Mem {
	a, err := s.Param(name).Resolve()
	if err != nil {
		panic(err) // no such name in the signature
	}
	return a.Addr
}

// byteArgument loads an argument that counts floats, as bytes.
func (s *set) byteArgument(name string) reg.GPVirtual {
	r := s.argument(name)
	s.SHLQ(operand.U8(2), r)
	return r
}

// zero clears a vector.
func (s *set) zero(v reg.VecVirtual) {
	if s.wide {
		s.VPXORD(v, v, v)
	} else {
		s.VXORPS(v, v, v)
	}
}

// partial makes the mask of the first n lanes: none for less than one, all of them
// when n is larger.
func (s *set) partial(n reg.Register) {
	count, none := s.GP64(), s.GP64()
	s.MOVQ(operand.U32(uint32(s.lanes)), count)
	s.CMPQ(n, count)
	s.CMOVQLT(n, count)
	s.XORQ(none, none)
	s.TESTQ(count, count)
	s.CMOVQLT(none, count)
	if s.wide {
		s.MOVQ(count, reg.RCX)
		ones := s.GP32()
		s.MOVL(operand.U32(1), ones)
		s.SHLL(reg.CL, ones)
		s.DECL(ones)
		s.mask = s.K()
		s.KMOVW(ones, s.mask)
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
	s.mask = s.YMM()
	s.VMOVUPS(operand.Mem{Base: at}, s.mask)
}

// load reads a vector, or as many lanes as the mask has, zeros in the others.
func (s *set) load(m operand.Mem, v reg.VecVirtual, masked bool) {
	switch {
	case !masked:
		s.VMOVUPS(m, v)
	case s.wide:
		s.VMOVUPS_Z(m, s.mask, v)
	default:
		s.VMASKMOVPS(m, s.mask, v)
	}
}

// store writes a vector, or as many lanes as the mask has.
func (s *set) store(v reg.VecVirtual, m operand.Mem, masked bool) {
	switch {
	case !masked:
		s.VMOVUPS(v, m)
	case s.wide:
		s.Context.VMOVUPS(v, s.mask, m)
	default:
		s.VMASKMOVPS(v, s.mask, m)
	}
}

// elements writes a loop over n elements in vectors, first unroll at a time, then
// one by one, the last through a mask. body computes vector i of those at offset.
func (s *set) elements(n, offset reg.GPVirtual, unroll int, body func(i int, masked bool)) {
	s.XORQ(offset, offset)
	s.Label("whole")
	s.CMPQ(n, operand.U32(uint32(unroll*s.lanes)))
	s.JLT(operand.LabelRef("rest"))
	for i := range unroll {
		body(i, false)
	}
	s.ADDQ(operand.I32(int32(unroll*s.bytes())), offset)
	s.SUBQ(operand.I32(int32(unroll*s.lanes)), n)
	s.JMP(operand.LabelRef("whole"))
	s.Label("rest")
	s.TESTQ(n, n)
	s.JLE(operand.LabelRef("done"))
	s.partial(n)
	body(0, true)
	s.ADDQ(operand.I32(int32(s.bytes())), offset)
	s.SUBQ(operand.I32(int32(s.lanes)), n)
	s.JMP(operand.LabelRef("rest"))
	s.Label("done")
}

// at is vector i of a row at a byte offset.
func (s *set) at(row, offset reg.Register, i int) operand.Mem {
	return operand.Mem{Base: row, Index: offset, Scale: 1, Disp: i * s.bytes()}
}
