package dft

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A strip holds complex rows of sixteen lanes, sixteen real parts and then sixteen
// imaginary ones: imaginary is the offset of the latter.
const (
	stripBytes = 64
	imaginary  = stripBytes
)

// allStrips writes the kernels on strips.
func (s *set) allStrips() {
	s.strips()
	s.stripLosses()
}

// strips are the kernels on strips: passes of Fourier transforms, conversions
// between planes and strips, and masks.
func (s *set) strips() {
	s.pass2()
	s.pass4()
	s.pass8(true)
	s.pass8(false)
	s.transposeSquares()
	s.splitRows()
	s.joinRows()
	s.maskStrip("maskStrip", false)
	s.maskStrip("maskStripAdd", true)
}

// eachPart runs body for every vector of a row of lanes.
func (s *set) eachPart(body func(at int)) {
	for at := 0; at < stripBytes; at += s.Bytes() {
		body(at)
	}
}

// parts is a vector of complex numbers.
type parts struct{ re, im reg.VecVirtual }

func (s *set) loadParts(m operand.Mem) parts {
	p := parts{s.Vector(), s.Vector()}
	s.VMOVUPS(m, p.re)
	s.VMOVUPS(m.Offset(imaginary), p.im)
	return p
}

func (s *set) storeParts(p parts, m operand.Mem) {
	s.VMOVUPS(p.re, m)
	s.VMOVUPS(p.im, m.Offset(imaginary))
}

func (s *set) sum(a, b reg.VecVirtual) reg.VecVirtual {
	v := s.Vector()
	s.VADDPS(b, a, v)
	return v
}

func (s *set) difference(a, b reg.VecVirtual) reg.VecVirtual {
	v := s.Vector()
	s.VSUBPS(b, a, v)
	return v
}

func (s *set) plus(a, b parts) parts { return parts{s.sum(a.re, b.re), s.sum(a.im, b.im)} }
func (s *set) minus(a, b parts) parts {
	return parts{s.difference(a.re, b.re), s.difference(a.im, b.im)}
}

// minusI computes a − i·b, plusI a + i·b.
func (s *set) minusI(a, b parts) parts {
	return parts{s.sum(a.re, b.im), s.difference(a.im, b.re)}
}
func (s *set) plusI(a, b parts) parts {
	return parts{s.difference(a.re, b.im), s.sum(a.im, b.re)}
}

// twiddled multiplies by the complex number at w.
func (s *set) twiddled(p parts, w operand.Mem) parts {
	wr, wi, re, im := s.Vector(), s.Vector(), s.Vector(), s.Vector()
	s.VBROADCASTSS(w, wr)
	s.VBROADCASTSS(w.Offset(4), wi)
	s.VMULPS(wi, p.im, re)
	s.VMULPS(wi, p.re, im)
	s.VFMSUB231PS(wr, p.re, re)
	s.VFMADD231PS(wr, p.im, im)
	return parts{re, im}
}

// passLoop is the frame of a pass: body is given the addresses of the results by
// their number and computes one group of butterflies at an offset in the rows.
type passLoop struct {
	in, middle, stride, inTriple, out, outStride, triple, half, upper, twiddles, stack reg.GPVirtual
}

func (s *set) passFunction(name, doc string, radix int, twiddled bool, body func(l *passLoop, at int)) {
	s.Kernel(name, "groups int, in *float32, inStep, stride int, out *float32, outStep, outStride, half int, "+
		"twiddles *float32", doc)
	l := &passLoop{in: s.Argument("in"), out: s.Argument("out"), triple: s.GP64(), upper: s.GP64(),
		middle: s.GP64(), inTriple: s.GP64(), stack: s.GP64()}
	groups := s.Argument("groups")
	l.stride, l.outStride, l.half = s.ByteArgument("stride"), s.ByteArgument("outStride"), s.ByteArgument("half")
	inStep, outStep := s.ByteArgument("inStep"), s.ByteArgument("outStep")
	l.twiddles = s.Argument("twiddles")
	s.LEAQ(operand.Mem{Base: l.outStride, Index: l.outStride, Scale: 2}, l.triple)
	if radix == 8 {
		s.LEAQ(operand.Mem{Base: l.stride, Index: l.stride, Scale: 2}, l.inTriple)
	}
	if radix == 8 && !s.Wide {
		s.LEAQ(s.AllocLocal(3*s.Bytes()).Offset(s.Bytes()-1), l.stack) // two aligned vectors
		s.ANDQ(operand.I32(-int32(s.Bytes())), l.stack)
	}
	s.Label("group")
	if radix == 8 {
		s.LEAQ(operand.Mem{Base: l.in, Index: l.stride, Scale: 4}, l.middle)
	}
	s.LEAQ(operand.Mem{Base: l.out, Index: l.half, Scale: 1}, l.upper)
	s.eachPart(func(at int) { body(l, at) })
	if twiddled {
		s.ADDQ(operand.I32(int32(8*(radix-1))), l.twiddles)
	}
	s.ADDQ(inStep, l.in)
	s.ADDQ(outStep, l.out)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.End()
}

// row returns the address of row j of eight.
func (l *passLoop) row(j, at int) operand.Mem {
	m := operand.Mem{Base: l.in, Disp: at}
	if j >= 4 {
		m.Base = l.middle
	}
	switch j % 4 {
	case 1, 2:
		m.Index, m.Scale = l.stride, uint8(j%4)
	case 3:
		m.Index, m.Scale = l.inTriple, 1
	}
	return m
}

// result returns the address of result k of eight: the last four start at half.
func (l *passLoop) result(k, at int) operand.Mem {
	m := operand.Mem{Base: l.out, Disp: at}
	if k >= 4 {
		m.Base = l.upper
	}
	switch k % 4 {
	case 1, 2:
		m.Index, m.Scale = l.outStride, uint8(k%4)
	case 3:
		m.Index, m.Scale = l.triple, 1
	}
	return m
}

// twiddle returns the factor of result k.
func (l *passLoop) twiddle(k int) operand.Mem {
	return operand.Mem{Base: l.twiddles, Disp: 8 * (k - 1)}
}

func (s *set) pass2() {
	s.passFunction("pass2", "is Pass of radix 2.", 2, true, func(l *passLoop, at int) {
		a := s.loadParts(operand.Mem{Base: l.in, Disp: at})
		b := s.loadParts(operand.Mem{Base: l.in, Index: l.stride, Scale: 1, Disp: at})
		s.storeParts(s.plus(a, b), l.result(0, at))
		s.storeParts(s.twiddled(s.minus(a, b), l.twiddle(1)), l.result(1, at))
	})
}

func (s *set) pass4() {
	s.passFunction("pass4", "is Pass of radix 4.", 4, true, func(l *passLoop, at int) {
		p := s.GP64()
		s.LEAQ(operand.Mem{Base: l.in, Index: l.stride, Scale: 2}, p)
		a, c := s.loadParts(operand.Mem{Base: l.in, Disp: at}), s.loadParts(operand.Mem{Base: p, Disp: at})
		even, x := s.plus(a, c), s.minus(a, c)
		b := s.loadParts(operand.Mem{Base: l.in, Index: l.stride, Scale: 1, Disp: at})
		d := s.loadParts(operand.Mem{Base: p, Index: l.stride, Scale: 1, Disp: at})
		odd, y := s.plus(b, d), s.minus(b, d)
		s.storeParts(s.plus(even, odd), l.result(0, at))
		s.storeParts(s.twiddled(s.minusI(x, y), l.twiddle(1)), l.result(1, at))
		s.storeParts(s.twiddled(s.minus(even, odd), l.twiddle(2)), l.result(2, at))
		s.storeParts(s.twiddled(s.plusI(x, y), l.twiddle(3)), l.result(3, at))
	})
}

// pass8 takes the odd rows first, down to x and y, which the odd results need last; AVX2 lacks the registers to keep
// y, which waits on the stack.
func (s *set) pass8(twiddled bool) {
	name, doc := "pass8Last", "is Pass of radix 8 without twiddles."
	if twiddled {
		name, doc = "pass8", "is Pass of radix 8."
	}
	var half operand.Mem
	s.passFunction(name, doc, 8, twiddled, func(l *passLoop, at int) {
		if half.Symbol.Name == "" {
			half = s.Words("half"+name+s.Suffix, func(int) uint32 { return 0x3f3504f3 }, 1)
		}
		store := func(p parts, k int) {
			if twiddled && k > 0 {
				p = s.twiddled(p, l.twiddle(k))
			}
			s.storeParts(p, l.result(k, at))
		}
		s1, d1 := s.sumAndDifference(l, 1, at)
		s3, d3 := s.sumAndDifference(l, 3, at)
		e := parts{s.sum(d1.re, d1.im), s.difference(d1.im, d1.re)}
		f := parts{s.difference(d3.im, d3.re), s.sum(d3.re, d3.im)} // imaginary part negated
		x := parts{s.sum(e.re, f.re), s.difference(e.im, f.im)}
		y := parts{s.difference(e.re, f.re), s.sum(e.im, f.im)}
		t2, t3 := s.plus(s1, s3), s.minus(s1, s3)
		if !s.Wide {
			s.VMOVAPS(y.re, operand.Mem{Base: l.stack})
			s.VMOVAPS(y.im, operand.Mem{Base: l.stack, Disp: s.Bytes()})
		}
		s0, d0 := s.sumAndDifference(l, 0, at)
		s2, d2 := s.sumAndDifference(l, 2, at)
		t0, t1 := s.plus(s0, s2), s.minus(s0, s2)
		store(s.plus(t0, t2), 0)
		store(s.minus(t0, t2), 4)
		store(s.minusI(t1, t3), 2)
		store(s.plusI(t1, t3), 6)
		u, v := s.minusI(d0, d2), s.plusI(d0, d2)
		h := s.Vector()
		s.VBROADCASTSS(half, h)
		store(parts{s.near(h, u.re, x.re), s.near(h, u.im, x.im)}, 1)
		store(parts{s.far(h, u.re, x.re), s.far(h, u.im, x.im)}, 5)
		if !s.Wide {
			y = parts{s.Vector(), s.Vector()}
			s.VMOVAPS(operand.Mem{Base: l.stack}, y.re)
			s.VMOVAPS(operand.Mem{Base: l.stack, Disp: s.Bytes()}, y.im)
		}
		third, imag7 := s.near(h, v.re, y.im), s.near(h, v.im, y.re)
		store(parts{third, s.far(h, v.im, y.re)}, 3)
		store(parts{s.far(h, v.re, y.im), imag7}, 7)
	})
}

// sumAndDifference of rows j and j+4.
func (s *set) sumAndDifference(l *passLoop, j, at int) (sum, difference parts) {
	a, b := s.loadParts(l.row(j, at)), s.loadParts(l.row(j+4, at))
	return s.plus(a, b), s.minus(a, b)
}

// near computes a + h·b, and far a − h·b in place of a.
func (s *set) near(h, a, b reg.VecVirtual) reg.VecVirtual {
	w := s.Vector()
	s.VMOVAPS(a, w)
	s.VFMADD231PS(h, b, w)
	return w
}

func (s *set) far(h, a, b reg.VecVirtual) reg.VecVirtual {
	s.VFNMADD231PS(h, b, a)
	return a
}

// maskStrip multiplies rows of a strip with rows of a mask and a factor.
func (s *set) maskStrip(name string, add bool) {
	doc := "is MaskStrip."
	if add {
		doc = "is MaskStripAdd."
	}
	s.Kernel(name, "rows int, dst *float32, dstStep int, src *float32, srcStep int, mask *float32, maskStep int, "+
		"factor float32", doc)
	rows, dst, src, mask := s.Argument("rows"), s.Argument("dst"), s.Argument("src"), s.Argument("mask")
	dstStep, srcStep, maskStep := s.ByteArgument("dstStep"), s.ByteArgument("srcStep"), s.ByteArgument("maskStep")
	factor := s.Factor("factor")
	s.Label("row")
	s.eachPart(func(at int) {
		m, z := s.Vector(), s.loadParts(operand.Mem{Base: src, Disp: at})
		s.VMULPS(operand.Mem{Base: mask, Disp: at}, factor, m)
		to := operand.Mem{Base: dst, Disp: at}
		if !add {
			s.VMULPS(m, z.re, z.re)
			s.VMULPS(m, z.im, z.im)
			s.storeParts(z, to)
			return
		}
		y := s.loadParts(to)
		s.VFMADD231PS(m, z.re, y.re)
		s.VFMADD231PS(m, z.im, y.im)
		s.storeParts(y, to)
	})
	s.ADDQ(dstStep, dst)
	s.ADDQ(srcStep, src)
	s.ADDQ(maskStep, mask)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}
