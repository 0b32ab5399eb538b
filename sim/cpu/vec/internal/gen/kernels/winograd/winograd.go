package winograd

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winograd are the transforms of F(4×4, 3×3), a vector of channels at a time. Both have
// two passes of one-dimensional transforms, the columns' results in scratch.
func (s *set) winograd() {
	s.winogradInput()
	s.winogradOutput()
}

// broadcast broadcasts a constant to a vector.
func (s *set) broadcast(value float32) reg.VecVirtual { return s.Word(math.Float32bits(value)) }

func (s *set) winogradInput() {
	s.Kernel("winogradInput", "v *float32, step int, x *float32, row, pixel, vectors int, scratch *float32",
		"is Input.")
	v, step, x := s.Argument("v"), s.ByteArgument("step"), s.Argument("x")
	row, pixel, vectors := s.ByteArgument("row"), s.ByteArgument("pixel"), s.Argument("vectors")
	scratch := s.Argument("scratch")
	two, four, five := s.broadcast(2), s.broadcast(4), s.broadcast(5)
	transform := func(d []reg.VecVirtual, put func(i int, v reg.VecVirtual)) {
		y := s.Vector()
		s.VMOVAPS(d[4], y) // 4·d0 − 5·d2 + d4
		s.VFMADD231PS(d[0], four, y)
		s.VFNMADD231PS(d[2], five, y)
		put(0, y)
		a, b, sum := s.Vector(), s.Vector(), s.Vector()
		s.VMOVAPS(d[4], a)
		s.VFNMADD231PS(d[2], four, a)
		s.VMOVAPS(d[3], b)
		s.VFNMADD231PS(d[1], four, b)
		s.VADDPS(b, a, sum)
		put(1, sum)
		s.VSUBPS(b, a, a)
		put(2, a)
		c, e, other := s.Vector(), s.Vector(), s.Vector()
		s.VSUBPS(d[2], d[4], c)
		s.VSUBPS(d[1], d[3], e)
		s.VMOVAPS(c, other)
		s.VFMADD231PS(e, two, other)
		put(3, other)
		s.VFNMADD231PS(e, two, c)
		put(4, c)
		s.VFMADD231PS(d[1], four, d[5])
		s.VFNMADD231PS(d[3], five, d[5])
		put(5, d[5])
	}
	s.Label("vector")
	column := s.GP64()
	s.MOVQ(x, column)
	for j := range 6 {
		at := s.GP64()
		s.MOVQ(column, at)
		d := s.Vectors(6)
		for i := range d {
			s.VMOVUPS(operand.Mem{Base: at}, d[i])
			if i < 5 {
				s.ADDQ(row, at)
			}
		}
		transform(d, func(i int, v reg.VecVirtual) {
			s.VMOVUPS(v, operand.Mem{Base: scratch, Disp: (6*i + j) * s.Bytes()})
		})
		s.ADDQ(pixel, column)
	}
	to := s.GP64()
	s.MOVQ(v, to)
	for i := range 6 {
		d := s.Vectors(6)
		for j := range d {
			s.VMOVUPS(operand.Mem{Base: scratch, Disp: (6*i + j) * s.Bytes()}, d[j])
		}
		transform(d, func(_ int, v reg.VecVirtual) {
			s.VMOVUPS(v, operand.Mem{Base: to})
			s.ADDQ(step, to)
		})
	}
	s.ADDQ(operand.I32(int32(s.Bytes())), x)
	s.ADDQ(operand.I32(int32(s.Bytes())), v)
	s.DECQ(vectors)
	s.JNZ(operand.LabelRef("vector"))
	s.End()
}

func (s *set) winogradOutput() {
	s.Kernel("winogradOutput",
		"y *float32, row, pixel int, m *float32, step int, bias *float32, floor float32, vectors int, scratch *float32",
		"is Output; results are at least floor.")
	y, row, pixel := s.Argument("y"), s.ByteArgument("row"), s.ByteArgument("pixel")
	m, step, bias := s.Argument("m"), s.ByteArgument("step"), s.Argument("bias")
	vectors, scratch := s.Argument("vectors"), s.Argument("scratch")
	two, four, eight, floor := s.broadcast(2), s.broadcast(4), s.broadcast(8), s.Vector()
	s.VBROADCASTSS(s.ArgumentAddress("floor"), floor)
	transform := func(d []reg.VecVirtual, put func(i int, v reg.VecVirtual)) {
		p, q := s.Vector(), s.Vector()
		s.VADDPS(d[2], d[1], p)
		s.VSUBPS(d[2], d[1], q)
		s.VADDPS(d[4], d[3], d[1]) // r
		s.VSUBPS(d[4], d[3], d[2]) // s
		s.VADDPS(p, d[0], d[0])
		s.VADDPS(d[1], d[0], d[0])
		put(0, d[0])
		s.VADDPS(q, d[5], d[5])
		s.VFMADD231PS(d[2], two, q)
		put(1, q)
		s.VFMADD231PS(d[1], four, p)
		put(2, p)
		s.VFMADD231PS(d[2], eight, d[5])
		put(3, d[5])
	}
	s.Label("vector")
	for j := range 6 {
		at := s.GP64()
		s.MOVQ(m, at)
		d := s.Vectors(6)
		if j > 0 { // from the next column on
			s.ADDQ(s.columnOffset(step, j), at)
		}
		sixth := s.GP64()
		s.MOVQ(step, sixth)
		s.IMUL3Q(operand.U8(6), sixth, sixth)
		for i := range d {
			s.VMOVUPS(operand.Mem{Base: at}, d[i])
			if i < 5 {
				s.ADDQ(sixth, at)
			}
		}
		transform(d, func(i int, v reg.VecVirtual) {
			s.VMOVUPS(v, operand.Mem{Base: scratch, Disp: (6*i + j) * s.Bytes()})
		})
	}
	first := s.Vector()
	to := s.GP64()
	s.MOVQ(y, to)
	s.VMOVUPS(operand.Mem{Base: bias}, first)
	for i := range 4 {
		d := s.Vectors(6)
		for j := range d {
			s.VMOVUPS(operand.Mem{Base: scratch, Disp: (6*i + j) * s.Bytes()}, d[j])
		}
		at := s.GP64()
		s.MOVQ(to, at)
		transform(d, func(j int, v reg.VecVirtual) {
			s.VADDPS(first, v, v)
			s.VMAXPS(v, floor, v) // a NaN stays one
			s.VMOVUPS(v, operand.Mem{Base: at})
			if j < 3 {
				s.ADDQ(pixel, at)
			}
		})
		s.ADDQ(row, to)
	}
	for _, p := range []reg.GPVirtual{m, y, bias} {
		s.ADDQ(operand.I32(int32(s.Bytes())), p)
	}
	s.DECQ(vectors)
	s.JNZ(operand.LabelRef("vector"))
	s.End()
}

// columnOffset returns j times a stride.
func (s *set) columnOffset(stride reg.GPVirtual, j int) reg.GPVirtual {
	offset := s.GP64()
	s.MOVQ(stride, offset)
	s.IMUL3Q(operand.U8(uint8(j)), offset, offset)
	return offset
}
