package elements

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// functions are element-wise functions, with AVX-512 only: eight elements at a time in float64,
// from which results are rounded once.
func (s *set) functions() {
	if !s.Wide {
		return
	}
	s.eights("sigmoid", func(e *exponential, x reg.VecVirtual) reg.VecVirtual { return s.logistic(e, x) })
	s.eights("swish", func(e *exponential, x reg.VecVirtual) reg.VecVirtual {
		y := s.logistic(e, x)
		s.VMULPD(x, y, y)
		return y
	})
	s.tanh()
	s.polar()
}

// double loads a constant into all lanes.
func (s *set) double(name string, value float64) reg.VecVirtual {
	m := s.StaticGlobal(name)
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	s.AppendDatum(operand.U64(math.Float64bits(value)))
	v := s.ZMM()
	s.VBROADCASTSD(m, v)
	return v
}

// powers returns coefficients 1/k! of a series, with alternating signs if step is 2.
func (s *set) powers(name string, first, last, step int) []reg.VecVirtual {
	var all []reg.VecVirtual
	sign := 1.
	for k := first; k <= last; k += step {
		f := 1.
		for i := 2; i <= k; i++ {
			f *= float64(i)
		}
		if step == 2 {
			sign = -sign
		}
		all = append(all, s.double(name+string(rune('A'+len(all))), sign/f))
	}
	return all
}

// horner computes Σ coefficients[i]·r^i.
func (s *set) horner(coefficients []reg.VecVirtual, r reg.VecVirtual) reg.VecVirtual {
	v := s.ZMM()
	n := len(coefficients) - 1
	s.VMOVAPD(coefficients[n], v)
	for i := n - 1; i >= 0; i-- {
		s.VFMADD213PD(coefficients[i], r, v)
	}
	return v
}

// exponential holds the constants of e^x.
type exponential struct {
	most, least, log2e, high, low, one reg.VecVirtual
	series                             []reg.VecVirtual
}

func (s *set) exponential(name string) *exponential {
	const high = 0x1.62e42fee00000p-1 // of ln 2; times an exponent it is exact
	return &exponential{
		most: s.double(name+"Most", 750), least: s.double(name+"Least", -750), one: s.double(name+"One", 1),
		log2e: s.double(name+"Log2e", math.Log2E), high: s.double(name+"High", high),
		low: s.double(name+"Low", 0x1.a39ef35793c76p-33), series: s.powers(name+"Power", 0, 13, 1),
	}
}

// exp computes e^x as 2^n·e^r with |r| ≤ ln 2/2; the series ends with r^13/13!.
func (s *set) exp(e *exponential, x reg.VecVirtual) reg.VecVirtual {
	v, n := s.ZMM(), s.ZMM()
	s.VMINPD(x, e.most, v) // a NaN stays one
	s.VMAXPD(v, e.least, v)
	s.VMULPD(v, e.log2e, n)
	s.VRNDSCALEPD(operand.U8(8), n, n)
	s.VFNMADD231PD(n, e.high, v)
	s.VFNMADD231PD(n, e.low, v)
	y := s.horner(e.series, v)
	s.VSCALEFPD(n, y, y)
	return y
}

// logistic computes 1/(1 + e^−x).
func (s *set) logistic(e *exponential, x reg.VecVirtual) reg.VecVirtual {
	minus := s.ZMM()
	s.VPXORQ(minus, minus, minus)
	s.VSUBPD(x, minus, minus)
	y := s.exp(e, minus)
	s.VADDPD(e.one, y, y)
	s.VDIVPD(y, e.one, y)
	return y
}

// eights writes a function of groups of eight elements.
func (s *set) eights(name string, f func(e *exponential, x reg.VecVirtual) reg.VecVirtual) {
	s.Kernel(name, "y, x *float32, groups int", "computes groups of eight elements.")
	y, x, groups := s.Argument("y"), s.Argument("x"), s.Argument("groups")
	e := s.exponential(name)
	s.Label("group")
	v := s.ZMM()
	s.VCVTPS2PD(operand.Mem{Base: x}, v)
	s.storeNarrow(f(e, v), operand.Mem{Base: y})
	s.ADDQ(operand.I32(32), x)
	s.ADDQ(operand.I32(32), y)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.End()
}

func (s *set) storeNarrow(v reg.VecVirtual, m operand.Mem) {
	half := s.YMM()
	s.VCVTPD2PS(v, half)
	s.VMOVUPS(half, m)
}

// tanh computes 1 − 2/(e^2|x| + 1) with the sign of x, and below 1/32 x times a series of x², in
// which nothing cancels.
func (s *set) tanh() {
	s.eights("tanh", func(e *exponential, x reg.VecVirtual) reg.VecVirtual {
		sign, size, small := s.ZMM(), s.ZMM(), s.K()
		s.VPANDQ(s.double("tanhSign", math.Copysign(0, -1)), x, sign)
		s.VPXORQ(sign, x, size)
		s.VCMPPD(operand.U8(1), s.double("tanhSmall", 1./32), size, small) // size < 1/32
		twice := s.ZMM()
		s.VADDPD(size, size, twice)
		y := s.exp(e, twice)
		s.VADDPD(e.one, y, y)
		s.VDIVPD(y, e.one, y)
		s.VADDPD(y, y, y)
		s.VSUBPD(y, e.one, y)
		s.VPORQ(sign, y, y)
		square := s.ZMM()
		s.VMULPD(x, x, square)
		series := s.horner([]reg.VecVirtual{e.one, s.double("tanh3", -1./3), s.double("tanh5", 2./15),
			s.double("tanh7", -17./315),
			s.double("tanh9", 62./2835)}, square)
		s.VMULPD(x, series, series)
		s.VBLENDMPD(series, y, small, y)
		return y
	})
}

// polar computes sines and cosines of groups of eight angles, times an amplitude. It reports
// whether an angle was beyond 2^20 or not a number, for which the reduction does not hold.
func (s *set) polar() {
	s.Kernel("polar", "", "computes groups of eight elements and reports whether some are too large.")
	s.SignatureExpr("func(z *complex64, a, phase *float32, groups int) (large uint32)")
	z, a, phase, groups := s.Argument("z"), s.Argument("a"), s.Argument("phase"), s.Argument("groups")
	// Added to a number, 1.5·2^52 rounds it to an integer in the lowest bits.
	magic, one := s.double("polarMagic", 3<<51), s.double("polarOne", 1)
	quarters, first, second := s.double("polarQuarters", 2/math.Pi), s.double("polarFirst", math.Pi/2),
		s.double("polarSecond", 0x1.1a62633145c07p-54)
	limit, minus := s.double("polarLimit", 1<<20), s.double("polarMinus", math.Copysign(0, -1))
	bit := s.double("polarBit", math.Float64frombits(1))
	sines, cosines := s.powers("polarSine", 3, 17, 2), s.powers("polarCosine", 2, 16, 2)
	order := s.ZMM()
	s.VMOVUPS(s.Words("polarOrder", func(i int) uint32 { return uint32(i%2*16 + i/2) }, 16), order)
	large, found := s.GP32(), s.GP32()
	s.XORL(large, large)
	s.Label("group")
	x, n, size, beyond, odd := s.ZMM(), s.ZMM(), s.ZMM(), s.K(), s.K()
	s.VCVTPS2PD(operand.Mem{Base: phase}, x)
	s.VPANDNQ(x, minus, size)
	s.VCMPPD(operand.U8(6), limit, size, beyond) // not size ≤ 2^20
	s.KMOVW(beyond, found)
	s.ORL(found, large)
	s.VMOVAPD(magic, n)
	s.VFMADD231PD(x, quarters, n)
	quadrant := s.ZMM()
	s.VMOVAPD(n, quadrant)
	s.VSUBPD(magic, n, n)
	s.VFNMADD231PD(n, first, x)
	s.VFNMADD231PD(n, second, x)
	square := s.ZMM()
	s.VMULPD(x, x, square)
	sine, cosine := s.horner(sines, square), s.horner(cosines, square)
	s.VMULPD(square, sine, sine)
	s.VFMADD213PD(x, x, sine)
	s.VFMADD213PD(one, square, cosine)
	s.VPTESTMQ(bit, quadrant, odd)
	im, re := s.ZMM(), s.ZMM()
	s.VBLENDMPD(cosine, sine, odd, im)
	s.VBLENDMPD(sine, cosine, odd, re)
	for _, part := range []reg.VecVirtual{im, re} {
		sign := s.ZMM()
		s.VPSLLQ(operand.U8(62), quadrant, sign) // bit 1 of the quadrant, then of the next
		s.VPANDQ(minus, sign, sign)
		s.VPXORQ(sign, part, part)
		s.VPADDQ(bit, quadrant, quadrant)
	}
	amplitude := s.ZMM()
	s.VCVTPS2PD(operand.Mem{Base: a}, amplitude)
	s.VMULPD(amplitude, re, re)
	s.VMULPD(amplitude, im, im)
	s.VCVTPD2PS(re, re.AsY())
	s.VCVTPD2PS(im, im.AsY())
	s.VPERMT2PS(im, order, re)
	s.VMOVUPS(re, operand.Mem{Base: z})
	s.ADDQ(operand.I32(32), a)
	s.ADDQ(operand.I32(32), phase)
	s.ADDQ(operand.I32(64), z)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.Store(large, s.ReturnIndex(0))
	s.End()
}
