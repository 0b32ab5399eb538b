package kernels

import "github.com/mmcloughlin/avo/reg"

// rows are the element-wise kernels.
func (s *set) rows() {
	s.scaleRow()
	s.addRow()
	s.axpyRow()
}

// scaleRow is y = w·x.
func (s *set) scaleRow() {
	s.function("scale", "y, x *float32, n int, w float32", "is Scale.")
	y, x, n, offset := s.argument("y"), s.argument("x"), s.argument("n"), s.GP64()
	w := s.factor("w")
	s.elements(n, offset, 4, func(i int, masked bool) {
		v := s.vector()
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

// factor spreads a float32 argument over a vector.
func (s *set) factor(name string) reg.VecVirtual {
	v := s.vector()
	s.VBROADCASTSS(s.address(name), v)
	return v
}
