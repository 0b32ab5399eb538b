package loss

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
	s.Kernel(name, "p, t *float32, n int, differences, targets *float32", "is "+method+" for the lanes of a vector.")
	p, t, n, offset := s.Argument("p"), s.Argument("t"), s.Argument("n"), s.GP64()
	sums, magnitude := [...][]reg.VecVirtual{s.Vectors(unroll), s.Vectors(unroll)}, s.Word(1<<31-1)
	for _, v := range append(sums[0], sums[1]...) {
		s.Zero(v)
	}
	s.Elements(n, offset, unroll, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(p, offset, i), u, masked)
		s.LoadVector(s.At(t, offset, i), v, masked)
		s.VSUBPS(v, u, u)
		add(u, sums[0][i], magnitude)
		add(v, sums[1][i], magnitude)
	})
	for k, name := range [...]string{"differences", "targets"} {
		for i := 1; i < unroll; i++ {
			s.VADDPS(sums[k][i], sums[k][0], sums[k][0])
		}
		s.VMOVUPS(sums[k][0], operand.Mem{Base: s.Argument(name)})
	}
	s.End()
}

func (s *set) addMagnitudes(v, sum, magnitude reg.VecVirtual) {
	s.And(magnitude, v, v)
	s.VADDPS(v, sum, sum)
}

func (s *set) addSquares(v, sum, _ reg.VecVirtual) { s.VFMADD231PS(v, v, sum) }

// signs is f with the sign of p − t, 0 where they are equal, NaN where one is.
func (s *set) signs() {
	const notEqual, unordered = 4, 3
	s.Kernel("signs", "gp, p, t *float32, n int, f float32", "is Signs.")
	gp, p, t, n, offset := s.Argument("gp"), s.Argument("p"), s.Argument("t"), s.Argument("n"), s.GP64()
	f, sign, zero := s.Factor("f"), s.Word(1<<31), s.Vector()
	s.Zero(zero)
	s.Elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(p, offset, i), u, masked)
		s.LoadVector(s.At(t, offset, i), v, masked)
		s.VSUBPS(v, u, u)
		s.And(sign, u, v)
		if s.Wide {
			differ, nan := s.K(), s.K()
			s.VPXORD(f, v, v)
			s.VCMPPS(operand.U8(notEqual), zero, u, differ)
			s.VCMPPS(operand.U8(unordered), u, u, nan)
			s.VMOVAPS_Z(v, differ, v)
			s.Context.VMOVAPS(u, nan, v)
		} else {
			differ, nan := s.Vector(), s.Vector()
			s.VXORPS(f, v, v)
			s.VCMPPS(operand.U8(notEqual), zero, u, differ)
			s.VCMPPS(operand.U8(unordered), u, u, nan)
			s.VANDPS(differ, v, v)
			s.VBLENDVPS(nan, u, v, v)
		}
		s.StoreVector(v, s.At(gp, offset, i), masked)
	})
	s.End()
}

// differences is f·(p − t).
func (s *set) differences() {
	s.Kernel("differences", "gp, p, t *float32, n int, f float32", "is Differences.")
	gp, p, t, n, offset := s.Argument("gp"), s.Argument("p"), s.Argument("t"), s.Argument("n"), s.GP64()
	f := s.Factor("f")
	s.Elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(p, offset, i), u, masked)
		s.LoadVector(s.At(t, offset, i), v, masked)
		s.VSUBPS(v, u, u)
		s.VMULPS(f, u, u)
		s.StoreVector(u, s.At(gp, offset, i), masked)
	})
	s.End()
}
