package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowBytes is the size of a row of eight complex64: one vector of AVX-512 or two
// of AVX2. Real and imaginary parts lie in turn, so that a product with i is a
// swap of neighbours and a change of sign of every other lane, and the latter is
// part of an alternating multiply-add: VFMADDSUB subtracts in even lanes and adds
// in odd ones, VFMSUBADD the other way round.
const rowBytes = 64

// radix is both kernels of the Fourier transforms.
func (s *set) radix() {
	s.radix4()
	s.radix8()
}

// swap exchanges real and imaginary parts.
func (s *set) swap(v reg.VecVirtual) reg.VecVirtual {
	w := s.vector()
	s.VPERMILPS(operand.U8(0xb1), v, w)
	return w
}

func (s *set) sum(a, b reg.VecVirtual) reg.VecVirtual {
	v := s.vector()
	s.VADDPS(b, a, v)
	return v
}

func (s *set) difference(a, b reg.VecVirtual) reg.VecVirtual {
	v := s.vector()
	s.VSUBPS(b, a, v)
	return v
}

// minusPlusI returns a − i·b and a + i·b. It overwrites a.
func (s *set) minusPlusI(a, b, ones reg.VecVirtual) (minus, plus reg.VecVirtual) {
	plus = s.swap(b)
	minus = s.vector()
	s.VMOVAPS(plus, minus)
	s.VFMSUBADD231PS(a, ones, minus)
	s.VFMADDSUB231PS(a, ones, plus)
	return minus, plus
}

// ones spreads 1 over a vector.
func (s *set) ones() reg.VecVirtual {
	one, v := s.GP32(), s.vector()
	s.MOVL(operand.U32(0x3f800000), one)
	x := s.XMM()
	s.MOVD(one, x)
	s.VBROADCASTSS(x, v)
	return v
}

// radix4 is a pass over a whole block.
func (s *set) radix4() {
	s.function("radix4", "block *complex64, rows, m int, twiddles *float32", "is Radix4 for a block of a number of rows.")
	first, rows := s.argument("block"), s.argument("rows")
	quarter := s.argument("m")
	s.SHLQ(operand.U8(4), quarter) // m/4 rows in bytes
	triple, ones := s.GP64(), s.ones()
	s.LEAQ(operand.Mem{Base: quarter, Index: quarter, Scale: 2}, triple)
	end := s.GP64()
	s.SHLQ(operand.U8(6), rows)
	s.LEAQ(operand.Mem{Base: first, Index: rows, Scale: 1}, end)
	a, twiddles, last := s.GP64(), s.GP64(), s.GP64()
	butterfly := func(twiddled bool) {
		for at := 0; at < rowBytes; at += s.bytes() {
			s.butterfly4([4]operand.Mem{
				{Base: a, Disp: at},
				{Base: a, Index: quarter, Scale: 1, Disp: at},
				{Base: a, Index: quarter, Scale: 2, Disp: at},
				{Base: a, Index: triple, Scale: 1, Disp: at},
			}, ones, twiddles, twiddled)
		}
		s.ADDQ(operand.I32(rowBytes), a)
	}
	s.Label("group")
	s.MOVQ(first, a)
	s.LEAQ(operand.Mem{Base: first, Index: quarter, Scale: 1}, last)
	s.Load(s.Param("twiddles"), twiddles)
	butterfly(false)
	s.JMP(operand.LabelRef("test"))
	s.Label("next")
	butterfly(true)
	s.ADDQ(operand.I32(24), twiddles)
	s.Label("test")
	s.CMPQ(a, last)
	s.JLT(operand.LabelRef("next"))
	s.LEAQ(operand.Mem{Base: first, Index: quarter, Scale: 4}, first)
	s.CMPQ(first, end)
	s.JLT(operand.LabelRef("group"))
	s.end()
}

func (s *set) butterfly4(rows [4]operand.Mem, ones reg.VecVirtual, twiddles reg.Register, twiddled bool) {
	v := s.vectors(4)
	for i, m := range rows {
		s.VMOVUPS(m, v[i])
	}
	p, q := s.sum(v[0], v[2]), s.difference(v[0], v[2])
	u, x := s.sum(v[1], v[3]), s.difference(v[1], v[3])
	s.VMOVUPS(s.sum(p, u), rows[0])
	b, d := s.minusPlusI(q, x, ones)
	for power, r := range []struct {
		v  reg.VecVirtual
		to operand.Mem
	}{{b, rows[1]}, {s.difference(p, u), rows[2]}, {d, rows[3]}} {
		if twiddled {
			r.v = s.product(r.v, operand.Mem{Base: twiddles, Disp: 8 * power})
		}
		s.VMOVUPS(r.v, r.to)
	}
}

// product multiplies by a complex number in memory.
func (s *set) product(v reg.VecVirtual, w operand.Mem) reg.VecVirtual {
	re, im := s.vector(), s.vector()
	s.VBROADCASTSS(w, re)
	s.VBROADCASTSS(w.Offset(4), im)
	y := s.swap(v)
	s.VMULPS(im, y, y)
	s.VFMADDSUB231PS(re, v, y)
	return y
}

// radix8 is the final pass of eight rows.
func (s *set) radix8() {
	s.function("radix8", "block *complex64, groups int, h *float32", "is Radix8 for groups of eight rows; h is √½ and −√½.")
	block, groups := s.argument("block"), s.argument("groups")
	ones, h, at := s.ones(), s.vector(), s.argument("h")
	s.VBROADCASTSD(operand.Mem{Base: at}, h)
	s.Label("group")
	for at := 0; at < rowBytes; at += s.bytes() {
		row := func(i int) operand.Mem { return operand.Mem{Base: block, Disp: i*rowBytes + at} }
		load := func(i int) reg.VecVirtual {
			v := s.vector()
			s.VMOVUPS(row(i), v)
			return v
		}
		var sums, differences [4]reg.VecVirtual
		for i := range 4 {
			x, y := load(i), load(i+4)
			sums[i], differences[i] = s.sum(x, y), s.difference(x, y)
		}
		// Even coefficients: a four-point transform of the sums.
		p, q := s.sum(sums[0], sums[2]), s.difference(sums[0], sums[2])
		r, t := s.sum(sums[1], sums[3]), s.difference(sums[1], sums[3])
		s.VMOVUPS(s.sum(p, r), row(0))
		s.VMOVUPS(s.difference(p, r), row(4))
		minus, plus := s.minusPlusI(q, t, ones)
		s.VMOVUPS(minus, row(2))
		s.VMOVUPS(plus, row(6))
		// Odd ones: the differences times exp(−2πi·j/8), then four points. e and f
		// are the second and the negative fourth but for the factor √½.
		d := differences
		e, _ := s.minusPlusI(d[1], d[1], ones)
		_, f := s.minusPlusI(d[3], d[3], ones)
		minus, plus = s.minusPlusI(d[0], d[2], ones)
		s.crossed(minus, s.difference(e, f), h, row(1), row(5), false)
		s.crossed(plus, s.swap(s.sum(e, f)), h, row(3), row(7), true)
	}
	s.ADDQ(operand.I32(8*rowBytes), block)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.end()
}

// crossed stores a + √½·b and a − √½·b, with the sign of odd lanes of b changed or
// not. h alternates between √½ and −√½.
func (s *set) crossed(a, b, h reg.VecVirtual, plus, minus operand.Mem, alternate bool) {
	factor := h
	if !alternate {
		factor = s.vector()
		s.VMOVSLDUP(h, factor)
	}
	other := s.vector()
	s.VMOVAPS(a, other)
	s.VFMADD231PS(b, factor, a)
	s.VFNMADD231PS(b, factor, other)
	s.VMOVUPS(a, plus)
	s.VMOVUPS(other, minus)
}
