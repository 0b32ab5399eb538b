package kernels

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dotColumns is the number of segments that a dot kernel multiplies at a time:
// their sums fill one 16-byte store.
const dotColumns = 4

// dots is the weight gradients' inner kernel. The sums of rows times four
// segments stay in registers, one partial sum in each lane.
func (s *set) dots(rows int) {
	s.function(fmt.Sprintf("dots%d", rows),
		"out *float32, pitch int, p *float32, stride int, x *float32, segments *int32, groups, n int",
		fmt.Sprintf("is Dots for %d rows and groups of four segments.", rows))
	out, p, stride := s.argument("out"), s.argument("p"), s.byteArgument("stride")
	triple := s.GP64()
	if rows > 3 {
		s.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, triple)
	}
	segments, groups := s.argument("segments"), s.argument("groups")
	s.Label("group")
	xs := make([]reg.GPVirtual, dotColumns)
	for i := range xs {
		xs[i] = s.GP64()
		s.MOVLQSX(operand.Mem{Base: segments, Disp: 4 * i}, xs[i])
		s.SHLQ(operand.U8(2), xs[i])
		s.ADDQ(s.address("x"), xs[i])
	}
	sums := s.vectors(rows * dotColumns)
	for _, v := range sums {
		s.zero(v)
	}
	row, n, offset := s.GP64(), s.argument("n"), s.GP64()
	s.MOVQ(p, row)
	s.elements(n, offset, 1, func(_ int, masked bool) {
		ps := s.vectors(rows)
		for r := range ps {
			from := operand.Mem{Base: row}
			switch r {
			case 1, 2:
				from.Index, from.Scale = stride, uint8(r)
			case 3:
				from.Index, from.Scale = triple, 1
			}
			s.load(from, ps[r], masked)
		}
		for i := range xs {
			x := s.vector()
			s.load(operand.Mem{Base: xs[i], Index: offset, Scale: 1}, x, masked)
			for r := range ps {
				s.multiplyAdd(x, ps[r], sums[r*dotColumns+i])
			}
		}
		s.ADDQ(operand.I32(int32(s.bytes())), row)
	})
	pitch := s.byteArgument("pitch")
	s.MOVQ(out, row)
	for r := range rows {
		total := s.four(sums[r*dotColumns:][:dotColumns])
		s.VADDPS(operand.Mem{Base: row}, total, total)
		s.VMOVUPS(total, operand.Mem{Base: row})
		if r+1 < rows {
			s.ADDQ(pitch, row)
		}
	}
	s.ADDQ(operand.I32(4*dotColumns), out)
	s.ADDQ(operand.I32(4*dotColumns), segments)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.end()
}

// four returns the sums over all lanes of four vectors.
func (s *set) four(v []reg.VecVirtual) reg.VecVirtual {
	add := func(a, b reg.VecVirtual) reg.VecVirtual {
		s.VADDPS(a, b, b)
		return b
	}
	interleaved := func(a, b reg.VecVirtual) reg.VecVirtual {
		low, high := s.vector(), s.vector()
		s.VUNPCKLPS(b, a, low)
		s.VUNPCKHPS(b, a, high)
		return add(low, high)
	}
	pair, other := interleaved(v[0], v[1]), interleaved(v[2], v[3])
	low, high := s.vector(), s.vector()
	s.VUNPCKLPD(other, pair, low)
	s.VUNPCKHPD(other, pair, high)
	quarters := add(low, high)
	if s.wide {
		half := s.YMM()
		s.VEXTRACTF64X4(operand.U8(1), quarters, half)
		s.VADDPS(quarters.AsY(), half, half)
		quarter := s.XMM()
		s.VEXTRACTF32X4(operand.U8(1), half, quarter)
		s.VADDPS(half.AsX(), quarter, quarter)
		return quarter
	}
	quarter := s.XMM()
	s.VEXTRACTF128(operand.U8(1), quarters, quarter)
	s.VADDPS(quarters.AsX(), quarter, quarter)
	return quarter
}
