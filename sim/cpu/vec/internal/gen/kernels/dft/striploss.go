package dft

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stripLosses are the kernels that compare amplitudes with a target.
func (s *set) stripLosses() {
	s.lossStrip("lossStripL1", "is LossStrip for absolute differences.", true)
	s.lossStrip("lossStripL2", "is LossStrip for squares.", false)
}

// lossConstants are the constants of a loss: the bounds below and above which
// squares leave the range, the scale factors for such parts and their inverses, and
// bit patterns.
type lossConstants struct{ tiny, huge, one, up, down, half, sign, magnitude reg.VecVirtual }

func (s *set) lossConstants(name string) lossConstants {
	const up, down = 1 << 60, 1.0 / (1 << 60)
	values := []float32{1e-30, 1e30, 1, up, down, 0.5}
	table := s.Words(name+s.Suffix+"Constants", func(i int) uint32 {
		if i < len(values) {
			return math.Float32bits(values[i])
		}
		return [2]uint32{1 << 31, 1<<31 - 1}[i-len(values)]
	}, len(values)+2)
	spread := func(i int) reg.VecVirtual {
		if !s.Wide {
			return nil // registers are few, see lossConstant
		}
		v := s.Vector()
		s.VBROADCASTSS(table.Offset(4*i), v)
		return v
	}
	s.table = table
	return lossConstants{spread(0), spread(1), spread(2), spread(3), spread(4), spread(5), spread(6), spread(7)}
}

// lossConstant is the constant in its register, or constant i read from the table.
func (s *set) lossConstant(v reg.VecVirtual, i int) reg.VecVirtual {
	if v == nil {
		v = s.Vector()
		s.VBROADCASTSS(s.table.Offset(4*i), v)
	}
	return v
}

// lossStrip replaces complex rows by the loss's gradient, parts swapped, and adds the
// terms of the loss to sums.
func (s *set) lossStrip(name, doc string, absolute bool) {
	s.Kernel(name, "rows int, z, target, sums *float32", doc)
	rows, z, target, sums := s.Argument("rows"), s.Argument("z"), s.Argument("target"), s.Argument("sums")
	c := s.lossConstants(name)
	s.eachPart(func(at int) {
		s.Comment(fmt.Sprintf("Lanes from byte %d.", at))
		row, wanted, left, loop := s.GP64(), s.GP64(), s.GP64(), fmt.Sprint("row", at)
		s.MOVQ(z, row)
		s.MOVQ(target, wanted)
		s.MOVQ(rows, left)
		total := [2]operand.Mem{{Base: sums, Disp: at}, {Base: sums, Disp: stripBytes + at}}
		sum := s.Vectors(2)
		s.VMOVUPS(total[0], sum[0])
		s.VMOVUPS(total[1], sum[1])
		s.Label(loop)
		p := s.loadParts(operand.Mem{Base: row, Disp: at})
		m, r := s.amplitude(&p, &c, loop)
		t := s.Vector()
		s.VMOVUPS(operand.Mem{Base: wanted, Disp: at}, t)
		d := s.difference(m, t)
		if absolute {
			s.signed(r, d, &c)
			magnitude := s.lossConstant(c.magnitude, 7)
			s.And(magnitude, d, d)
			s.And(magnitude, t, t)
		}
		s.VMULPS(r, p.re, p.re)
		s.VMULPS(r, p.im, p.im)
		if !absolute {
			s.VMULPS(d, p.re, p.re)
			s.VMULPS(d, p.im, p.im)
			s.VMULPS(d, d, d)
			s.VMULPS(t, t, t)
		}
		s.storeParts(parts{p.im, p.re}, operand.Mem{Base: row, Disp: at})
		s.VADDPS(d, sum[0], sum[0])
		s.VADDPS(t, sum[1], sum[1])
		s.ADDQ(operand.I32(2*stripBytes), row)
		s.ADDQ(operand.I32(stripBytes), wanted)
		s.DECQ(left)
		s.JNZ(operand.LabelRef(loop))
		s.VMOVUPS(sum[0], total[0])
		s.VMOVUPS(sum[1], total[1])
	})
	s.table = operand.Mem{}
	s.End()
}

// Comparisons that hold where the second operand is less or not equal to the first.
const lessThan, notEqual = 0x11, 0x04

// amplitude computes |p| and the factor that turns p into a direction, 0 where p is
// 0. It scales p if squares leave the range. The place is part of labels.
func (s *set) amplitude(p *parts, c *lossConstants, place string) (m, r reg.VecVirtual) {
	square := func() reg.VecVirtual {
		v := s.Vector()
		s.VMULPS(p.im, p.im, v)
		s.VFMADD231PS(p.re, p.re, v)
		return v
	}
	first := square()
	scale, back := s.Vector(), s.Vector()
	m, r = s.Vector(), s.Vector()
	if !s.Wide {
		low, high, any := s.Vector(), s.Vector(), s.Vector()
		s.VCMPPS(operand.U8(lessThan), s.lossConstant(nil, 0), first, low)
		s.VCMPPS(operand.U8(lessThan), first, s.lossConstant(nil, 1), high)
		s.VORPS(low, high, any)
		s.VTESTPS(any, any)
		s.JZ(operand.LabelRef(place + "inRange"))
		one, up, down := s.lossConstant(nil, 2), s.lossConstant(nil, 3), s.lossConstant(nil, 4)
		s.VBLENDVPS(low, up, one, scale)
		s.VBLENDVPS(high, down, scale, scale)
		s.VBLENDVPS(low, down, one, back)
		s.VBLENDVPS(high, up, back, back)
		s.VMULPS(scale, p.re, p.re)
		s.VMULPS(scale, p.im, p.im)
		q, zero := square(), s.Vector()
		s.Zero(zero)
		s.VSQRTPS(q, m)
		s.VDIVPS(m, one, r)
		s.VCMPPS(operand.U8(notEqual), zero, q, zero)
		s.VANDPS(zero, r, r)
		s.VMULPS(back, m, m)
		s.JMP(operand.LabelRef(place + "amplitude"))
		s.Label(place + "inRange")
		s.VSQRTPS(first, m)
		s.VDIVPS(m, s.lossConstant(nil, 2), r)
		s.Label(place + "amplitude")
		return m, r
	}
	low, high := s.K(), s.K()
	s.VCMPPS(operand.U8(lessThan), c.tiny, first, low)
	s.VCMPPS(operand.U8(lessThan), first, c.huge, high)
	s.VBLENDMPS(c.up, c.one, low, scale)
	s.VBLENDMPS(c.down, scale, high, scale)
	s.VBLENDMPS(c.down, c.one, low, back)
	s.VBLENDMPS(c.up, back, high, back)
	s.VMULPS(scale, p.re, p.re)
	s.VMULPS(scale, p.im, p.im)
	q, zero := square(), s.Vector()
	s.Zero(zero)
	some := s.K()
	s.VCMPPS(operand.U8(notEqual), zero, q, some)
	s.VRSQRT14PS_Z(q, some, r)
	// One step of Newton for 1/√q, one for √q.
	e, h := s.Vector(), s.Vector()
	s.VMULPS(r, q, m)
	s.VMOVAPS(c.one, e)
	s.VFNMADD231PS(m, r, e)
	s.VMULPS(c.half, r, h)
	s.VFMADD231PS(e, h, r)
	s.VMULPS(r, q, m)
	s.VMULPS(c.half, r, h)
	s.VFNMADD231PS(m, m, q)
	s.VFMADD231PS(q, h, m)
	s.VMULPS(back, m, m)
	return m, r
}

// signed gives r the sign of d, and makes it 0 where d is 0.
func (s *set) signed(r, d reg.VecVirtual, c *lossConstants) {
	sign, zero := s.Vector(), s.Vector()
	s.Zero(zero)
	if s.Wide {
		some := s.K()
		s.VCMPPS(operand.U8(notEqual), zero, d, some)
		s.VPANDD(c.sign, d, sign)
		s.VPXORD_Z(sign, r, some, r)
		return
	}
	s.VCMPPS(operand.U8(notEqual), zero, d, zero)
	s.VANDPS(s.lossConstant(nil, 6), d, sign)
	s.VXORPS(sign, r, r)
	s.VANDPS(zero, r, r)
}
