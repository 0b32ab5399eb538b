package dft

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeSquares transposes squares of sixteen by sixteen floats.
func (s *set) transposeSquares() {
	s.Kernel("transposeSquares",
		"squares int, src *float32, srcPitch, srcStep int, dst *float32, dstPitch, dstStep int", "is TransposeSquares.")
	squares, src, dst := s.Argument("squares"), s.Argument("src"), s.Argument("dst")
	srcPitch, srcStep := s.ByteArgument("srcPitch"), s.ByteArgument("srcStep")
	dstPitch, dstStep := s.ByteArgument("dstPitch"), s.ByteArgument("dstStep")
	s.Label("square")
	for i := 0; i < 16; i += s.Lanes {
		for j := 0; j < 16; j += s.Lanes {
			from, to := s.GP64(), s.GP64()
			s.MOVQ(src, from)
			s.MOVQ(dst, to)
			if i > 0 {
				s.LEAQ(operand.Mem{Base: from, Index: srcPitch, Scale: 8}, from)
			}
			if j > 0 {
				s.LEAQ(operand.Mem{Base: to, Index: dstPitch, Scale: 8}, to)
			}
			v := s.Vectors(s.Lanes)
			for k := range v {
				s.VMOVUPS(operand.Mem{Base: from, Disp: 4 * j}, v[k])
				s.ADDQ(srcPitch, from)
			}
			for _, w := range s.transposed(v) {
				s.VMOVUPS(w, operand.Mem{Base: to, Disp: 4 * i})
				s.ADDQ(dstPitch, to)
			}
		}
	}
	s.ADDQ(srcStep, src)
	s.ADDQ(dstStep, dst)
	s.DECQ(squares)
	s.JNZ(operand.LabelRef("square"))
	s.End()
}

// transposed returns the columns of a square of floats in registers.
func (s *set) transposed(rows []reg.VecVirtual) []reg.VecVirtual {
	n := len(rows)
	pairs := make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 2 {
		pairs[i], pairs[i+1] = s.Vector(), s.Vector()
		s.VUNPCKLPS(rows[i+1], rows[i], pairs[i])
		s.VUNPCKHPS(rows[i+1], rows[i], pairs[i+1])
	}
	fours := make([]reg.VecVirtual, n) // of rows 4i …, columns k modulo 4
	for i := 0; i < n; i += 4 {
		for k := range 4 {
			fours[i+k] = s.Vector()
		}
		s.VUNPCKLPD(pairs[i+2], pairs[i], fours[i])
		s.VUNPCKHPD(pairs[i+2], pairs[i], fours[i+1])
		s.VUNPCKLPD(pairs[i+3], pairs[i+1], fours[i+2])
		s.VUNPCKHPD(pairs[i+3], pairs[i+1], fours[i+3])
	}
	columns := make([]reg.VecVirtual, n)
	if !s.Wide {
		for k := range 4 {
			columns[k], columns[k+4] = s.Vector(), s.Vector()
			s.VPERM2F128(operand.U8(0x20), fours[4+k], fours[k], columns[k])
			s.VPERM2F128(operand.U8(0x31), fours[4+k], fours[k], columns[k+4])
		}
		return columns
	}
	eights := make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 8 {
		for k := range 4 {
			eights[i+k], eights[i+k+4] = s.Vector(), s.Vector()
			s.VSHUFF32X4(operand.U8(0x88), fours[i+k+4], fours[i+k], eights[i+k])
			s.VSHUFF32X4(operand.U8(0xdd), fours[i+k+4], fours[i+k], eights[i+k+4])
		}
	}
	for k := range 8 {
		columns[k], columns[k+8] = s.Vector(), s.Vector()
		s.VSHUFF32X4(operand.U8(0x88), eights[k+8], eights[k], columns[k])
		s.VSHUFF32X4(operand.U8(0xdd), eights[k+8], eights[k], columns[k+8])
	}
	return columns
}

// splitRows moves rows of sixteen complex64 to sixteen real and sixteen imaginary
// parts.
func (s *set) splitRows() {
	s.Kernel("splitRows", "rows int, src *complex64, srcPitch int, re, im *float32, dstPitch int", "is SplitRows.")
	rows, src, re, im := s.Argument("rows"), s.Argument("src"), s.Argument("re"), s.Argument("im")
	srcPitch, dstPitch := s.ByteArgument("srcPitch"), s.ByteArgument("dstPitch")
	var even, odd reg.VecVirtual
	if s.Wide {
		even, odd = s.Vector(), s.Vector()
		s.VMOVUPS(s.Words("evens", func(i int) uint32 { return uint32(2 * i) }, s.Lanes), even)
		s.VMOVUPS(s.Words("odds", func(i int) uint32 { return uint32(2*i + 1) }, s.Lanes), odd)
	}
	s.Label("row")
	v := s.Vectors(2 * stripBytes / s.Bytes())
	for i := range v {
		s.VMOVUPS(operand.Mem{Base: src, Disp: i * s.Bytes()}, v[i])
	}
	for i := 0; i < len(v); i += 2 {
		a, b := s.Vector(), s.Vector()
		if s.Wide {
			s.VMOVAPS(even, a)
			s.VMOVAPS(odd, b)
			s.VPERMI2PS(v[i+1], v[i], a)
			s.VPERMI2PS(v[i+1], v[i], b)
		} else {
			s.VSHUFPS(operand.U8(0x88), v[i+1], v[i], a)
			s.VSHUFPS(operand.U8(0xdd), v[i+1], v[i], b)
			s.VPERMPD(operand.U8(0xd8), a, a)
			s.VPERMPD(operand.U8(0xd8), b, b)
		}
		s.VMOVUPS(a, operand.Mem{Base: re, Disp: i / 2 * s.Bytes()})
		s.VMOVUPS(b, operand.Mem{Base: im, Disp: i / 2 * s.Bytes()})
	}
	s.ADDQ(srcPitch, src)
	s.ADDQ(dstPitch, re)
	s.ADDQ(dstPitch, im)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// joinRows is the inverse of splitRows, times a factor.
func (s *set) joinRows() {
	s.Kernel("joinRows", "rows int, dst *complex64, dstPitch int, re, im *float32, srcPitch int, factor float32",
		"is JoinRows.")
	rows, dst, re, im := s.Argument("rows"), s.Argument("dst"), s.Argument("re"), s.Argument("im")
	dstPitch, srcPitch := s.ByteArgument("dstPitch"), s.ByteArgument("srcPitch")
	factor := s.Factor("factor")
	var low, high reg.VecVirtual
	if s.Wide {
		low, high = s.Vector(), s.Vector()
		from := func(first int) func(i int) uint32 {
			return func(i int) uint32 { return uint32(first + i/2 + 16*(i%2)) }
		}
		s.VMOVUPS(s.Words("low", from(0), s.Lanes), low)
		s.VMOVUPS(s.Words("high", from(8), s.Lanes), high)
	}
	s.Label("row")
	n := stripBytes / s.Bytes()
	a, b := s.Vectors(n), s.Vectors(n)
	for i := range n {
		s.VMULPS(operand.Mem{Base: re, Disp: i * s.Bytes()}, factor, a[i])
		s.VMULPS(operand.Mem{Base: im, Disp: i * s.Bytes()}, factor, b[i])
	}
	for i := range n {
		x, y := s.Vector(), s.Vector()
		if s.Wide {
			s.VMOVAPS(low, x)
			s.VMOVAPS(high, y)
			s.VPERMI2PS(b[i], a[i], x)
			s.VPERMI2PS(b[i], a[i], y)
		} else {
			lo, hi := s.Vector(), s.Vector()
			s.VUNPCKLPS(b[i], a[i], lo)
			s.VUNPCKHPS(b[i], a[i], hi)
			s.VPERM2F128(operand.U8(0x20), hi, lo, x)
			s.VPERM2F128(operand.U8(0x31), hi, lo, y)
		}
		s.VMOVUPS(x, operand.Mem{Base: dst, Disp: 2 * i * s.Bytes()})
		s.VMOVUPS(y, operand.Mem{Base: dst, Disp: (2*i + 1) * s.Bytes()})
	}
	s.ADDQ(dstPitch, dst)
	s.ADDQ(srcPitch, re)
	s.ADDQ(srcPitch, im)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}
