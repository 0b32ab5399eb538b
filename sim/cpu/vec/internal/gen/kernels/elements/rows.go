package elements

import (
	"github.com/mmcloughlin/avo/operand"

	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
)

// rows are the element-wise kernels.
func (s *set) rows() {
	s.scaleRow()
	s.addRow()
	s.axpyRow()
	s.relu()
	s.reluGrad()
	s.maskRow()
}

// aheadOfStores is the prefetch distance in bytes of lines that are stored without being
// read before: the first layer's weight gradient goes to memory a row at a time.
const aheadOfStores = 1024

// scaleRow is y = w·x.
func (s *set) scaleRow() {
	s.Kernel("scale", "y, x *float32, n int, w float32", "is Scale.")
	y, x, n, offset := s.Argument("y"), s.Argument("x"), s.Argument("n"), s.GP64()
	w := s.Factor("w")
	s.Elements(n, offset, 4, func(i int, masked bool) {
		v := s.Vector()
		if !masked {
			s.PREFETCHT0(operand.Mem{Base: y, Index: offset, Scale: 1, Disp: i*s.Bytes() + aheadOfStores})
		}
		s.LoadVector(s.At(x, offset, i), v, masked)
		s.VMULPS(w, v, v)
		s.StoreVector(v, s.At(y, offset, i), masked)
	})
	s.End()
}

// addRow is y = a + b.
func (s *set) addRow() {
	s.Kernel("add", "y, a, b *float32, n int", "is Add.")
	y, a, b := s.Argument("y"), s.Argument("a"), s.Argument("b")
	n, offset := s.Argument("n"), s.GP64()
	s.Elements(n, offset, 4, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(a, offset, i), u, masked)
		s.LoadVector(s.At(b, offset, i), v, masked)
		s.VADDPS(u, v, v)
		s.StoreVector(v, s.At(y, offset, i), masked)
	})
	s.End()
}

// axpyRow is y += w·x.
func (s *set) axpyRow() {
	s.Kernel("axpy", "y, x *float32, n int, w float32", "is Axpy.")
	y, x, n, offset := s.Argument("y"), s.Argument("x"), s.Argument("n"), s.GP64()
	w := s.Factor("w")
	s.Elements(n, offset, 4, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(x, offset, i), u, masked)
		s.LoadVector(s.At(y, offset, i), v, masked)
		s.VFMADD231PS(u, w, v)
		s.StoreVector(v, s.At(y, offset, i), masked)
	})
	s.End()
}

// relu is y = max(x, 0).
func (s *set) relu() {
	s.Kernel("relu", "y, x *float32, n int", "is ReLU.")
	y, x, n, offset := s.Argument("y"), s.Argument("x"), s.Argument("n"), s.GP64()
	zero := s.Vector()
	s.Zero(zero)
	s.Elements(n, offset, 4, func(i int, masked bool) {
		v := s.Vector()
		s.LoadVector(s.At(x, offset, i), v, masked)
		s.VMAXPS(v, zero, v) // if x is NaN the result is the second source, x
		s.StoreVector(v, s.At(y, offset, i), masked)
	})
	s.End()
}

// reluGrad is gy unless y ≤ 0.
func (s *set) reluGrad() {
	s.Kernel("reluGrad", "gx, y, gy *float32, n int", "is ReLUGrad.")
	gx, y, gy := s.Argument("gx"), s.Argument("y"), s.Argument("gy")
	n, offset, zero := s.Argument("n"), s.GP64(), s.Vector()
	s.Zero(zero)
	s.Elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(y, offset, i), u, masked)
		s.LoadVector(s.At(gy, offset, i), v, masked)
		if s.Wide {
			k := s.K()
			s.VCMPPS(operand.U8(asm.UnlessAtMost), zero, u, k)
			s.VMOVAPS_Z(v, k, v)
		} else {
			s.VCMPPS(operand.U8(asm.UnlessAtMost), zero, u, u)
			s.VANDPS(u, v, v)
		}
		s.StoreVector(v, s.At(gx, offset, i), masked)
	})
	s.End()
}

// maskRow multiplies complex elements with real ones: groups of as many as a
// vector holds.
func (s *set) maskRow() {
	s.Kernel("mask", "y, z *complex64, mask *float32, groups int", "is Mask for whole vectors.")
	y, z, mask, groups := s.Argument("y"), s.Argument("z"), s.Argument("mask"), s.Argument("groups")
	s.Label("group")
	v, m := s.Vector(), s.Vector()
	s.VPMOVZXDQ(operand.Mem{Base: mask}, m) // a bit for every lane of a real part
	s.VMOVSLDUP(m, m)
	s.VMOVUPS(operand.Mem{Base: z}, v)
	s.VMULPS(m, v, v)
	s.VMOVUPS(v, operand.Mem{Base: y})
	s.ADDQ(operand.I32(int32(s.Bytes())), y)
	s.ADDQ(operand.I32(int32(s.Bytes())), z)
	s.ADDQ(operand.I32(int32(s.Bytes()/2)), mask)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.End()
}
