package asm

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rounding are the constants of a rounding to bfloat16.
type Rounding struct{ one, half, quiet, high reg.VecVirtual }

// Rounding loads the constants of a rounding.
func (s *Set) Rounding() Rounding {
	return Rounding{s.Word(1), s.Word(0x7fff), s.Word(1 << 22), s.Word(0xffff0000)}
}

// Round rounds v to bfloat16 values, ties to even; a NaN becomes a quiet one.
func (s *Set) Round(r Rounding, v reg.VecVirtual) reg.VecVirtual {
	to, quiet := s.Vector(), s.Vector()
	s.VPSRLD(operand.U8(16), v, to)
	s.And(r.one, to, to)
	s.VPADDD(r.half, to, to)
	s.VPADDD(v, to, to)
	if s.Wide {
		k := s.K()
		s.VCMPPS(operand.U8(Unordered), v, v, k)
		s.VPORD(v, r.quiet, k, to)
	} else {
		nan := s.Vector()
		s.VCMPPS(operand.U8(Unordered), v, v, nan)
		s.or(v, r.quiet, quiet)
		s.VBLENDVPS(nan, quiet, to, to)
	}
	s.And(r.high, to, to)
	return to
}

// Neither Go's assembler nor avo knows the instructions of AVX512_BF16. A kernel uses
// instructions with the same operands in their place, which no kernel uses otherwise, so that avo
// allocates the registers; Encode writes those that were meant.

// Mandatory prefixes as the EVEX prefix encodes them.
const prefixF3, prefixF2 = 2, 3

// dotProduct adds the products of pairs in a and b to the sum.
func (s *Set) dotProduct(a, b, sum reg.VecVirtual) { s.VPDPWSSD(a, b, sum) }

// Converted returns the lanes of v, rounded to bfloat16, in the lower halves of lanes.
func (s *Set) Converted(v reg.VecVirtual) reg.VecVirtual {
	half, whole := s.YMM(), s.Vector()
	s.VCVTUQQ2PS(v, half)
	s.VPMOVZXWD(half, whole)
	return whole
}

var (
	products     = regexp.MustCompile(`(?m)^\tVPDPWSSD +Z(\d+), Z(\d+), Z(\d+)$`)
	conversions  = regexp.MustCompile(`(?m)^\tVCVTUQQ2PS +Z(\d+), Y(\d+)$`)
	narrowings   = regexp.MustCompile(`(?m)^\tVPMADDWD +Z(\d+), Z(\d+), Z(\d+)$`)
	requirements = regexp.MustCompile(`(?m)^(// Requires: .*)AVX512VNNI`)
)

// Encode replaces the placeholders in the text of an assembly file.
func Encode(text []byte) []byte {
	text = requirements.ReplaceAll(text, []byte("${1}AVX512_BF16"))
	text = encode(text, products, "VDPBF16PS Z%d, Z%d, Z%d", func(z []int) []byte {
		return vdpbf16ps(z[2], z[1], z[0])
	})
	text = encode(text, narrowings, "VCVTNE2PS2BF16 Z%d, Z%d, Z%d", func(z []int) []byte {
		return vcvtne2ps2bf16(z[2], z[0], z[1])
	})
	return encode(text, conversions, "VCVTNEPS2BF16 Z%d, Y%d", func(z []int) []byte {
		return vcvtneps2bf16(z[1], z[0])
	})
}

// encode writes lines that match as a comment and BYTE directives. code gets their registers' numbers.
func encode(text []byte, lines *regexp.Regexp, format string, code func(registers []int) []byte) []byte {
	return lines.ReplaceAllFunc(text, func(line []byte) []byte {
		var numbers []int
		var words []any
		for _, digits := range lines.FindSubmatch(line)[1:] {
			n, _ := strconv.Atoi(string(digits))
			numbers, words = append(numbers, n), append(words, n)
		}
		out := fmt.Appendf(nil, "\t// "+format+"\n\t", words...)
		for i, b := range code(numbers) {
			if i > 0 {
				out = append(out, "; "...)
			}
			out = fmt.Appendf(out, "BYTE $%#02x", b)
		}
		return out
	})
}

// vdpbf16ps adds products of pairs of registers a and b to a sum. vcvtneps2bf16 rounds to nearest even, and
// vcvtne2ps2bf16 two registers to the lower and the upper half of one.
func vdpbf16ps(sum, a, b int) []byte             { return evex(0x52, prefixF3, sum, a, b) }
func vcvtneps2bf16(to, from int) []byte          { return evex(0x72, prefixF3, to, 0, from) }
func vcvtne2ps2bf16(to, lower, upper int) []byte { return evex(0x72, prefixF2, to, upper, lower) }

// evex encodes an instruction on registers: a prefix of four bytes for the map 0F38, vectors of 512
// bits and the mandatory prefix, the opcode, and ModRM. source is 0 without a second source.
func evex(opcode, prefix byte, to, source, from int) []byte {
	inverted := func(number, bit, at int) byte { return byte(^number>>bit&1) << at }
	return []byte{0x62,
		inverted(to, 3, 7) | inverted(from, 4, 6) | inverted(from, 3, 5) | inverted(to, 4, 4) | 2,
		byte(^source&15<<3) | 4 | prefix,
		2<<5 | inverted(source, 4, 3),
		opcode, 0xc0 | byte(to&7<<3) | byte(from&7)}
}
