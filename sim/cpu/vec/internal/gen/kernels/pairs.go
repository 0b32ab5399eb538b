package kernels

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Neither Go's assembler nor avo knows the instructions of AVX512_BF16. A kernel uses
// instructions with the same operands in their place, which no kernel uses otherwise, so that avo
// allocates the registers; encodePairs writes those that were meant.

// dotProduct adds the products of pairs in a and b to the sum.
func (s *set) dotProduct(a, b, sum reg.VecVirtual) { s.VPDPWSSD(a, b, sum) }

// storeRounded stores the lanes of v, rounded to bfloat16, at half a byte offset.
func (s *set) storeRounded(v reg.VecVirtual, row, offset reg.GPVirtual, masked bool) {
	at := s.GP64()
	s.MOVQ(offset, at)
	s.SHRQ(operand.U8(1), at)
	m := operand.Mem{Base: row, Index: at, Scale: 1}
	if masked {
		s.VPMOVDW(s.converted(v), s.mask, m)
		return
	}
	ahead := m
	ahead.Disp = aheadOfMoments / 2
	s.PREFETCHT0(ahead)
	half := s.YMM()
	s.VCVTUQQ2PS(v, half)
	s.VMOVUPS(half, m)
}

// converted returns the lanes of v, rounded to bfloat16, in the lower halves of lanes.
func (s *set) converted(v reg.VecVirtual) reg.VecVirtual {
	half, whole := s.YMM(), s.vector()
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

// largestPairs is the largest of the four numbers of two pairs.
func (s *set) largestPairs() {
	s.function("largestPairs", "y *uint16, above, below *float32, n int", "is LargestPairs.")
	y, above, below, n := s.argument("y"), s.argument("above"), s.argument("below"), s.argument("n")
	high, quiet, offset := s.word(0xffff0000), s.word(0x7fc00000), s.GP64()
	largest := func(row reg.GPVirtual, masked bool) (v reg.VecVirtual, nan reg.Register) {
		second := s.vector()
		v, nan = s.vector(), s.K()
		s.load(s.at(row, offset, 0), second, masked)
		s.VPSLLD(operand.U8(16), second, v)
		s.VPANDD(high, second, second)
		s.VCMPPS(operand.U8(unordered), v, second, nan)
		s.VMAXPS(v, second, v)
		return v, nan
	}
	s.elements(n, offset, 1, func(_ int, masked bool) {
		v, nan := largest(above, masked)
		u, other := largest(below, masked)
		s.VMAXPS(u, v, v)
		s.KORW(other, nan, nan)
		s.VPORD(quiet, v, nan, v)
		s.VPSRLD(operand.U8(16), v, v)
		if masked {
			s.VPMOVDW(v, s.mask, operand.Mem{Base: y})
		} else {
			s.VPMOVDW(v, operand.Mem{Base: y})
			s.ADDQ(operand.I32(32), y)
		}
	})
	s.end()
}

// encodePairs replaces the placeholders in the text of an assembly file.
func encodePairs(text []byte) []byte {
	text = requirements.ReplaceAll(text, []byte("${1}AVX512_BF16"))
	text = encode(text, products, "VDPBF16PS Z%d, Z%d, Z%d", func(z []int) []byte { return vdpbf16ps(z[2], z[1], z[0]) })
	text = encode(text, narrowings, "VCVTNE2PS2BF16 Z%d, Z%d, Z%d", func(z []int) []byte { return vcvtne2ps2bf16(z[2], z[0], z[1]) })
	return encode(text, conversions, "VCVTNEPS2BF16 Z%d, Y%d", func(z []int) []byte { return vcvtneps2bf16(z[1], z[0]) })
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
