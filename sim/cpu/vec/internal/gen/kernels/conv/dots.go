package conv

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dotColumns is the number of segments that a dot kernel multiplies at a time:
// their sums fill one 16-byte store.
const dotColumns = 4

// dotRows are the numbers of rows that kernels multiply at a time.
func (s *set) dotRows() []int {
	if s.Wide {
		return []int{4, 2, 1}
	}
	return []int{2, 1}
}

// allDots writes kernels for all numbers of rows, and for pairs.
func (s *set) allDots() {
	for _, rows := range s.dotRows() {
		s.dots(rows)
		if s.Wide {
			s.pairsOf().dots(rows)
		}
	}
}

// dots is the weight gradients' inner kernel. The sums of rows times four
// segments stay in registers, one partial sum in each lane.
func (s *set) dots(rows int) {
	s.Kernel(fmt.Sprintf("dots%d", rows),
		"out *float32, pitch int, p *float32, stride int, x *float32, segments *int32, groups, n int",
		fmt.Sprintf("is Dots for %d rows and groups of four segments.", rows))
	out, p, stride := s.Argument("out"), s.Argument("p"), s.ByteArgument("stride")
	triple := s.GP64()
	if rows > 3 {
		s.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, triple)
	}
	segments, groups := s.Argument("segments"), s.Argument("groups")
	s.Label("group")
	xs := make([]reg.GPVirtual, dotColumns)
	for i := range xs {
		xs[i] = s.GP64()
		s.MOVLQSX(operand.Mem{Base: segments, Disp: 4 * i}, xs[i])
		s.SHLQ(operand.U8(2), xs[i])
		s.ADDQ(s.ArgumentAddress("x"), xs[i])
	}
	sums := s.Vectors(rows * dotColumns)
	for _, v := range sums {
		s.Zero(v)
	}
	row, n, offset := s.GP64(), s.Argument("n"), s.GP64()
	s.MOVQ(p, row)
	s.Elements(n, offset, 1, func(_ int, masked bool) {
		ps := s.Vectors(rows)
		for r := range ps {
			from := operand.Mem{Base: row}
			switch r {
			case 1, 2:
				from.Index, from.Scale = stride, uint8(r)
			case 3:
				from.Index, from.Scale = triple, 1
			}
			s.LoadVector(from, ps[r], masked)
		}
		for i := range xs {
			x := s.Vector()
			s.LoadVector(operand.Mem{Base: xs[i], Index: offset, Scale: 1}, x, masked)
			for r := range ps {
				s.MultiplyAdd(x, ps[r], sums[r*dotColumns+i])
			}
		}
		s.ADDQ(operand.I32(int32(s.Bytes())), row)
	})
	pitch := s.ByteArgument("pitch")
	s.MOVQ(out, row)
	for r := range rows {
		total := s.FourSums(sums[r*dotColumns:][:dotColumns])
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
	s.End()
}
