package norm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
)

// norms are the passes of batch normalisation. Sums are in float64, one in each
// lane, and the caller adds the lanes.
func (s *set) norms() {
	s.moments()
	s.normGradSums(false)
	s.normGradSums(true)
	s.normaliseReLU()
	s.normGradReLU()
	s.normalise()
	s.normGrad()
	if s.Wide && !s.OfPairs {
		pairs := s.pairsOf()
		pairs.moments()
		pairs.normGradSums(true)
		pairs.normaliseReLU()
		pairs.normGradReLU()
	}
}

// element is the type of an image's elements, which are bfloat16 in kernels of pairs.
func (s *set) element() string {
	if s.OfPairs {
		return "*uint16"
	}
	return "*float32"
}

// halfAt is vector i of a row of bfloat16 at an offset in bytes of float32.
func (s *set) halfAt(row, offset reg.GPVirtual, i int) operand.Mem {
	at := s.GP64()
	s.MOVQ(offset, at)
	s.SHRQ(operand.U8(1), at)
	return operand.Mem{Base: row, Index: at, Scale: 1, Disp: i * s.Bytes() / 2}
}

// loadElements loads vector i of an image's row, in float32.
func (s *set) loadElements(row, offset reg.GPVirtual, i int, v reg.VecVirtual, masked bool) {
	if !s.OfPairs {
		s.LoadVector(s.At(row, offset, i), v, masked)
		return
	}
	if masked {
		s.VPMOVZXWD_Z(s.halfAt(row, offset, i), s.Mask, v)
	} else {
		s.VPMOVZXWD(s.halfAt(row, offset, i), v)
	}
	s.VPSLLD(operand.U8(16), v, v)
}

// storeElements stores vector i of an image's row.
func (s *set) storeElements(v reg.VecVirtual, row, offset reg.GPVirtual, i int, masked bool) {
	switch {
	case !s.OfPairs:
		s.StoreVector(v, s.At(row, offset, i), masked)
	case masked:
		s.VPMOVDW(s.Converted(v), s.Mask, s.halfAt(row, offset, i))
	default:
		half := s.YMM()
		s.VCVTUQQ2PS(v, half)
		s.VMOVUPS(half, s.halfAt(row, offset, i))
	}
}

// widened converts both halves of a vector to float64.
func (s *set) widened(v reg.VecVirtual) [2]reg.VecVirtual {
	low, high := s.Vector(), s.Vector()
	if s.Wide {
		half := s.YMM()
		s.VEXTRACTF64X4(operand.U8(1), v, half)
		s.VCVTPS2PD(v.AsY(), low)
		s.VCVTPS2PD(half, high)
	} else {
		half := s.XMM()
		s.VEXTRACTF128(operand.U8(1), v, half)
		s.VCVTPS2PD(v.AsX(), low)
		s.VCVTPS2PD(half, high)
	}
	return [2]reg.VecVirtual{low, high}
}

// collect adds vectors of float64 to the first of them and stores that.
func (s *set) collect(v []reg.VecVirtual, to operand.Mem) {
	for n := len(v) / 2; n > 0; n /= 2 {
		for i := range n {
			s.VADDPD(v[i+n], v[i], v[i])
		}
	}
	s.VMOVUPD(v[0], to)
}

// moments is Σ x − shift and Σ (x − shift)².
func (s *set) moments() {
	s.Kernel("moments", "sums *float64, x "+s.element()+", n int, shift float32", "is Moments, a sum in each lane.")
	x, n, offset := s.Argument("x"), s.Argument("n"), s.GP64()
	shift := s.Factor("shift")
	shift64 := s.Vector()
	if s.Wide {
		s.VCVTPS2PD(shift.AsY(), shift64)
	} else {
		s.VCVTPS2PD(shift.AsX(), shift64)
	}
	const unroll = 2
	total, square := s.Vectors(2*unroll), s.Vectors(2*unroll)
	for i := range total {
		s.Zero(total[i])
		s.Zero(square[i])
	}
	s.Elements(n, offset, unroll, func(i int, masked bool) {
		var halves [2]reg.VecVirtual
		if s.OfPairs {
			v := s.Vector()
			s.loadElements(x, offset, i, v, masked)
			if masked {
				rest := s.Vector()
				s.VMOVAPS(shift, rest)
				s.Context.VMOVAPS(v, s.Mask, rest)
				v = rest
			}
			halves = s.widened(v)
		} else if masked { // unused lanes hold the shift, which contributes nothing
			v := s.Vector()
			if s.Wide {
				s.VMOVAPS(shift, v)
				s.Context.VMOVUPS(s.At(x, offset, i), s.Mask, v)
			} else {
				s.LoadVector(s.At(x, offset, i), v, true)
				s.VBLENDVPS(s.Mask, v, shift, v)
			}
			halves = s.widened(v)
		} else {
			for h := range halves {
				m := s.At(x, offset, i)
				m.Disp += h * s.Bytes() / 2
				halves[h] = s.Vector()
				s.VCVTPS2PD(m, halves[h])
			}
		}
		for h, v := range halves {
			s.VSUBPD(shift64, v, v)
			s.VADDPD(v, total[2*i+h], total[2*i+h])
			s.VFMADD231PD(v, v, square[2*i+h])
		}
	})
	sums := s.Argument("sums")
	s.collect(total, operand.Mem{Base: sums})
	s.collect(square, operand.Mem{Base: sums, Disp: s.Bytes()})
	s.End()
}

// passed clears lanes of a gradient where the activation was not positive.
func (s *set) passed(y, gradient, zero reg.VecVirtual) {
	if s.Wide {
		k := s.K()
		s.VCMPPS(operand.U8(asm.UnlessAtMost), zero, y, k)
		s.VMOVAPS_Z(gradient, k, gradient)
		return
	}
	s.VCMPPS(operand.U8(asm.UnlessAtMost), zero, y, y)
	s.VANDPS(y, gradient, gradient)
}

// normGradSums computes Σ gy and Σ gy·(x − mean), restricted to the gy that a
// fused ReLU passed, if there is one.
func (s *set) normGradSums(relu bool) {
	name, scalars, doc := "normGradSums", "mean float32", "is GradSums, a sum in each lane."
	if relu {
		name, scalars, doc = "normReLUGradSums", "mean, factor, shift float32", "is GradSumsReLU, a sum in each lane."
	}
	s.Kernel(name, "sums *float64, x, gy "+s.element()+", n int, "+scalars, doc)
	x, gy, n, offset := s.Argument("x"), s.Argument("gy"), s.Argument("n"), s.GP64()
	mean, zero := s.Factor("mean"), s.Vector()
	var factor, shift reg.VecVirtual
	if relu {
		factor, shift = s.Factor("factor"), s.Factor("shift")
		s.Zero(zero)
	}
	total, product := s.Vectors(2), s.Vectors(2)
	for i := range total {
		s.Zero(total[i])
		s.Zero(product[i])
	}
	s.Elements(n, offset, 1, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.loadElements(x, offset, i, u, masked)
		s.loadElements(gy, offset, i, v, masked)
		s.VSUBPS(mean, u, u)
		if relu {
			y := s.Vector()
			s.VMOVAPS(u, y)
			s.VFMADD213PS(shift, factor, y)
			s.passed(y, v, zero)
		}
		s.VMULPS(v, u, u)
		for h, w := range s.widened(v) {
			s.VADDPD(w, total[h], total[h])
		}
		for h, w := range s.widened(u) {
			s.VADDPD(w, product[h], product[h])
		}
	})
	sums := s.Argument("sums")
	s.collect(total, operand.Mem{Base: sums})
	s.collect(product, operand.Mem{Base: sums, Disp: s.Bytes()})
	s.End()
}

// normaliseReLU is y = max((x − mean)·factor + shift, 0).
func (s *set) normaliseReLU() {
	s.Kernel("normaliseReLU", "y, x "+s.element()+", n int, mean, factor, shift float32", "is NormaliseReLU.")
	y, x, n, offset := s.Argument("y"), s.Argument("x"), s.Argument("n"), s.GP64()
	mean, factor, shift, zero := s.Factor("mean"), s.Factor("factor"), s.Factor("shift"), s.Vector()
	s.Zero(zero)
	s.Elements(n, offset, 4, func(i int, masked bool) {
		v := s.Vector()
		s.loadElements(x, offset, i, v, masked)
		s.VSUBPS(mean, v, v)
		s.VFMADD213PS(shift, factor, v)
		s.VMAXPS(v, zero, v) // if x is NaN the result is the second source, x
		s.storeElements(v, y, offset, i, masked)
	})
	s.End()
}

// normGradReLU is gx = factor·gy + slope·(x − mean) + add, with gy = 0 where the
// fused ReLU gave 0.
func (s *set) normGradReLU() {
	s.Kernel("normGradReLU", "gx, x, gy "+s.element()+", n int, mean, factor, shift, slope, add float32",
		"is GradReLU.")
	gx, x, gy := s.Argument("gx"), s.Argument("x"), s.Argument("gy")
	n, offset := s.Argument("n"), s.GP64()
	mean, factor, shift := s.Factor("mean"), s.Factor("factor"), s.Factor("shift")
	slope, add, zero := s.Factor("slope"), s.Factor("add"), s.Vector()
	s.Zero(zero)
	s.Elements(n, offset, 2, func(i int, masked bool) {
		u, v, y := s.Vector(), s.Vector(), s.Vector()
		s.loadElements(x, offset, i, u, masked)
		s.loadElements(gy, offset, i, v, masked)
		s.VSUBPS(mean, u, u)
		s.VMOVAPS(u, y)
		s.VFMADD213PS(shift, factor, y)
		s.passed(y, v, zero)
		s.VFMADD213PS(add, slope, u)
		s.VFMADD231PS(v, factor, u)
		s.storeElements(u, gx, offset, i, masked)
	})
	s.End()
}

// normalise is y = (x − mean)·factor + shift.
func (s *set) normalise() {
	s.Kernel("normalise", "y, x *float32, n int, mean, factor, shift float32", "is Normalise.")
	y, x, n, offset := s.Argument("y"), s.Argument("x"), s.Argument("n"), s.GP64()
	mean, factor, shift := s.Factor("mean"), s.Factor("factor"), s.Factor("shift")
	s.Elements(n, offset, 4, func(i int, masked bool) {
		v := s.Vector()
		s.LoadVector(s.At(x, offset, i), v, masked)
		s.VSUBPS(mean, v, v)
		s.VFMADD213PS(shift, factor, v)
		s.StoreVector(v, s.At(y, offset, i), masked)
	})
	s.End()
}

// normGrad is gx = factor·gy + slope·(x − mean) + shift.
func (s *set) normGrad() {
	s.Kernel("normGrad", "gx, x, gy *float32, n int, mean, factor, slope, shift float32", "is Grad.")
	gx, x, gy := s.Argument("gx"), s.Argument("x"), s.Argument("gy")
	n, offset := s.Argument("n"), s.GP64()
	mean, factor, slope, shift := s.Factor("mean"), s.Factor("factor"), s.Factor("slope"), s.Factor("shift")
	s.Elements(n, offset, 2, func(i int, masked bool) {
		u, v := s.Vector(), s.Vector()
		s.LoadVector(s.At(x, offset, i), u, masked)
		s.LoadVector(s.At(gy, offset, i), v, masked)
		s.VSUBPS(mean, u, u)
		s.VFMADD213PS(shift, slope, u)
		s.VFMADD231PS(v, factor, u)
		s.StoreVector(u, s.At(gx, offset, i), masked)
	})
	s.End()
}
