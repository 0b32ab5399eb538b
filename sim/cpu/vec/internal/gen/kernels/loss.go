package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// losses are the kernels of pixel-wise losses.
func (s *set) losses() {
	s.lossSums("absoluteSums", "AbsoluteSums", s.addMagnitudes)
	s.lossSums("squareSums", "SquareSums", s.addSquares)
	s.signs()
	s.differences()
}

// lossSums adds a function of each difference p − t and each t to lanes of sums.
func (s *set) lossSums(name, method string, add func(v, sum, magnitude reg.VecVirtual)) {
	const unroll = 4
	s.function(name, "p, t *float32, n int, differences, targets *float32", "is "+method+" for the lanes of a vector.")
	p, t, n, offset := s.argument("p"), s.argument("t"), s.argument("n"), s.GP64()
	sums, magnitude := [...][]reg.VecVirtual{s.vectors(unroll), s.vectors(unroll)}, s.word(1<<31-1)
	for _, v := range append(sums[0], sums[1]...) {
		s.zero(v)
	}
	s.elements(n, offset, unroll, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(p, offset, i), u, masked)
		s.load(s.at(t, offset, i), v, masked)
		s.VSUBPS(v, u, u)
		add(u, sums[0][i], magnitude)
		add(v, sums[1][i], magnitude)
	})
	for k, name := range [...]string{"differences", "targets"} {
		for i := 1; i < unroll; i++ {
			s.VADDPS(sums[k][i], sums[k][0], sums[k][0])
		}
		s.VMOVUPS(sums[k][0], operand.Mem{Base: s.argument(name)})
	}
	s.end()
}

func (s *set) addMagnitudes(v, sum, magnitude reg.VecVirtual) {
	s.and(magnitude, v, v)
	s.VADDPS(v, sum, sum)
}

func (s *set) addSquares(v, sum, _ reg.VecVirtual) { s.VFMADD231PS(v, v, sum) }

// signs is f with the sign of p − t, 0 where they are equal, NaN where one is.
func (s *set) signs() {
	const notEqual, unordered = 4, 3
	s.function("signs", "gp, p, t *float32, n int, f float32", "is Signs.")
	gp, p, t, n, offset := s.argument("gp"), s.argument("p"), s.argument("t"), s.argument("n"), s.GP64()
	f, sign, zero := s.factor("f"), s.word(1<<31), s.vector()
	s.zero(zero)
	s.elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(p, offset, i), u, masked)
		s.load(s.at(t, offset, i), v, masked)
		s.VSUBPS(v, u, u)
		s.and(sign, u, v)
		if s.wide {
			differ, nan := s.K(), s.K()
			s.VPXORD(f, v, v)
			s.VCMPPS(operand.U8(notEqual), zero, u, differ)
			s.VCMPPS(operand.U8(unordered), u, u, nan)
			s.VMOVAPS_Z(v, differ, v)
			s.Context.VMOVAPS(u, nan, v)
		} else {
			differ, nan := s.vector(), s.vector()
			s.VXORPS(f, v, v)
			s.VCMPPS(operand.U8(notEqual), zero, u, differ)
			s.VCMPPS(operand.U8(unordered), u, u, nan)
			s.VANDPS(differ, v, v)
			s.VBLENDVPS(nan, u, v, v)
		}
		s.store(v, s.at(gp, offset, i), masked)
	})
	s.end()
}

// differences is f·(p − t).
func (s *set) differences() {
	s.function("differences", "gp, p, t *float32, n int, f float32", "is Differences.")
	gp, p, t, n, offset := s.argument("gp"), s.argument("p"), s.argument("t"), s.argument("n"), s.GP64()
	f := s.factor("f")
	s.elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.vector(), s.vector()
		s.load(s.at(p, offset, i), u, masked)
		s.load(s.at(t, offset, i), v, masked)
		s.VSUBPS(v, u, u)
		s.VMULPS(f, u, u)
		s.store(u, s.at(gp, offset, i), masked)
	})
	s.end()
}
