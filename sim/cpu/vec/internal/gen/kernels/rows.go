package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows are the element-wise kernels.
func (s *set) rows() {
	s.scaleRow()
	s.addRow()
	s.axpyRow()
	s.relu()
	s.reluGrad()
	s.normalise()
	s.normGrad()
	s.maskRow()
}

// aheadOfStores is the prefetch distance in bytes of lines that are stored without being
// read before: the first layer's weight gradient goes to memory a row at a time.
const aheadOfStores = 1024

// scaleRow is y = w·x.
func (s *set) scaleRow() {
	s.function("scale", "y, x *float32, n int, w float32", "is Scale.")
	y, x, n, offset := s.argument("y"), s.argument("x"), s.argument("n"), s.GP64()
	w := s.factor("w")
	s.elements(n, offset, 4, func(i int, masked bool) {
		v := s.vector()
		if !masked {
			s.PREFETCHT0(operand.Mem{Base: y, Index: offset, Scale: 1, Disp: i*s.bytes() + aheadOfStores})
		}
		s.load(s.at(x, offset, i), v, masked)
		s.VMULPS(w, v, v)
		s.store(v, s.at(y, offset, i), masked)
	})
	s.end()
}

// addRow is y = a + b.
func (s *set) addRow() {
	s.function("add", "y, a, b *float32, n int", "is Add.")
	y, a, b := s.argument("y"), s.argument("a"), s.argument("b")
	n, offset := s.argument("n"), s.GP64()
	s.elements(n, offset, 4, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(a, offset, i), u, masked)
		s.load(s.at(b, offset, i), v, masked)
		s.VADDPS(u, v, v)
		s.store(v, s.at(y, offset, i), masked)
	})
	s.end()
}

// axpyRow is y += w·x.
func (s *set) axpyRow() {
	s.function("axpy", "y, x *float32, n int, w float32", "is Axpy.")
	y, x, n, offset := s.argument("y"), s.argument("x"), s.argument("n"), s.GP64()
	w := s.factor("w")
	s.elements(n, offset, 4, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(x, offset, i), u, masked)
		s.load(s.at(y, offset, i), v, masked)
		s.VFMADD231PS(u, w, v)
		s.store(v, s.at(y, offset, i), masked)
	})
	s.end()
}

// relu is y = max(x, 0).
func (s *set) relu() {
	s.function("relu", "y, x *float32, n int", "is ReLU.")
	y, x, n, offset := s.argument("y"), s.argument("x"), s.argument("n"), s.GP64()
	zero := s.vector()
	s.zero(zero)
	s.elements(n, offset, 4, func(i int, masked bool) {
		v := s.vector()
		s.load(s.at(x, offset, i), v, masked)
		s.VMAXPS(v, zero, v) // if x is NaN the result is the second source, x
		s.store(v, s.at(y, offset, i), masked)
	})
	s.end()
}

// unlessAtMost is the comparison that holds unless the first operand is at most
// the second.
const unlessAtMost = 0x16

// reluGrad is gy unless y ≤ 0.
func (s *set) reluGrad() {
	s.function("reluGrad", "gx, y, gy *float32, n int", "is ReLUGrad.")
	gx, y, gy := s.argument("gx"), s.argument("y"), s.argument("gy")
	n, offset, zero := s.argument("n"), s.GP64(), s.vector()
	s.zero(zero)
	s.elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(y, offset, i), u, masked)
		s.load(s.at(gy, offset, i), v, masked)
		if s.wide {
			k := s.K()
			s.VCMPPS(operand.U8(unlessAtMost), zero, u, k)
			s.VMOVAPS_Z(v, k, v)
		} else {
			s.VCMPPS(operand.U8(unlessAtMost), zero, u, u)
			s.VANDPS(u, v, v)
		}
		s.store(v, s.at(gx, offset, i), masked)
	})
	s.end()
}

// normalise is y = (x − mean)·factor + shift.
func (s *set) normalise() {
	s.function("normalise", "y, x *float32, n int, mean, factor, shift float32", "is Normalise.")
	y, x, n, offset := s.argument("y"), s.argument("x"), s.argument("n"), s.GP64()
	mean, factor, shift := s.factor("mean"), s.factor("factor"), s.factor("shift")
	s.elements(n, offset, 4, func(i int, masked bool) {
		v := s.vector()
		s.load(s.at(x, offset, i), v, masked)
		s.VSUBPS(mean, v, v)
		s.VFMADD213PS(shift, factor, v)
		s.store(v, s.at(y, offset, i), masked)
	})
	s.end()
}

// normGrad is gx = factor·gy + slope·(x − mean) + shift.
func (s *set) normGrad() {
	s.function("normGrad", "gx, x, gy *float32, n int, mean, factor, slope, shift float32", "is NormGrad.")
	gx, x, gy := s.argument("gx"), s.argument("x"), s.argument("gy")
	n, offset := s.argument("n"), s.GP64()
	mean, factor, slope, shift := s.factor("mean"), s.factor("factor"), s.factor("slope"), s.factor("shift")
	s.elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(x, offset, i), u, masked)
		s.load(s.at(gy, offset, i), v, masked)
		s.VSUBPS(mean, u, u)
		s.VFMADD213PS(shift, slope, u)
		s.VFMADD231PS(v, factor, u)
		s.store(u, s.at(gx, offset, i), masked)
	})
	s.end()
}

// maskRow multiplies complex elements with real ones: groups of as many as a
// vector holds.
func (s *set) maskRow() {
	s.function("mask", "y, z *complex64, mask *float32, groups int", "is Mask for whole vectors.")
	y, z, mask, groups := s.argument("y"), s.argument("z"), s.argument("mask"), s.argument("groups")
	s.Label("group")
	v, m := s.vector(), s.vector()
	s.VPMOVZXDQ(operand.Mem{Base: mask}, m) // a bit for every lane of a real part
	s.VMOVSLDUP(m, m)
	s.VMOVUPS(operand.Mem{Base: z}, v)
	s.VMULPS(m, v, v)
	s.VMOVUPS(v, operand.Mem{Base: y})
	s.ADDQ(operand.I32(int32(s.bytes())), y)
	s.ADDQ(operand.I32(int32(s.bytes())), z)
	s.ADDQ(operand.I32(int32(s.bytes()/2)), mask)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.end()
}

// factor broadcasts a float32 argument to a vector.
func (s *set) factor(name string) reg.VecVirtual {
	v := s.vector()
	s.VBROADCASTSS(s.address(name), v)
	return v
}
