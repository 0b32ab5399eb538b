package ptx

import (
	"math"
)

// Floating-point numbers of 16 and 32 bits: rounding, fused multiplication, packing, minima and maxima.

// fma32 returns a·b + c with one rounding. The product is exact in float64; the sum rounds twice only where its low 28
// bits are zero, and there it is redone with the first rounding to odd. A sum with 0 is exact.
func fma32(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := p + z
	if math.Float64bits(s)&(1<<28-1) != 0 || p == 0 || z == 0 {
		return float32(s)
	}
	return float32(sumOdd(p, z))
}

// sumOdd returns a + b rounded to odd: an inexact sum has its last bit set, so that a second rounding to fewer bits is
// right (Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, 2008).
func sumOdd(a, b float64) float64 {
	s := a + b
	t := s - a
	e := (a - (s - t)) + (b - t)
	if e == 0 || e != e { // NaN: the sum is infinite or NaN
		return s
	}
	bits := math.Float64bits(s)
	if bits&1 != 0 {
		return s
	}
	if (e > 0) == (s > 0) {
		return math.Float64frombits(bits + 1)
	}
	return math.Float64frombits(bits - 1)
}

// rounding is a direction of rounding.
type rounding uint8

const (
	toNearest rounding = iota // ties to even
	toZero
	down
	up
	tiesAway // to the nearest, ties away from zero
)

// roundings holds the modifiers that round to a float, integral those that round to a whole number.
var (
	roundings = map[string]rounding{"rn": toNearest, "rz": toZero, "rm": down, "rp": up, "rna": tiesAway}
	integral  = map[string]rounding{"rni": toNearest, "rzi": toZero, "rmi": down, "rpi": up}
)

// whole rounds to a whole number.
func whole(x float64, mode rounding) float64 {
	switch mode {
	case toZero:
		return math.Trunc(x)
	case down:
		return math.Floor(x)
	case up:
		return math.Ceil(x)
	case tiesAway:
		return math.Round(x)
	}
	return math.RoundToEven(x)
}

// quantise rounds to a float with fraction bits after the leading one and the exponent least or more. Beyond largest it
// returns infinity, or largest where the direction keeps it finite.
func quantise(x float64, fraction, least int, largest float64, mode rounding) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x)
	unit := max(e-1, least) - fraction
	r := math.Copysign(math.Ldexp(whole(math.Ldexp(x, -unit), mode), unit), x)
	if math.Abs(r) > largest {
		if mode == toZero || mode == down && x > 0 || mode == up && x < 0 {
			return math.Copysign(largest, x)
		}
		return math.Inf(int(math.Copysign(1, x)))
	}
	return r
}

const (
	largestHalf  = 65504
	largestBrain = 0x1.fep127
	largestTF32  = 0x1.ffcp127
)

// decode returns the value of a float of a type.
func (t dtype) decode(bits uint64) float64 {
	switch {
	case t.size == 8:
		return math.Float64frombits(bits)
	case t.size == 4:
		return float64(math.Float32frombits(uint32(bits)))
	case t.class == brain:
		return float64(math.Float32frombits(uint32(bits) << 16))
	}
	return float64(fromHalf(uint16(bits)))
}

// encode rounds to a type and returns its bits. A NaN is the canonical one.
func (t dtype) encode(x float64, mode rounding) uint64 {
	nan := math.IsNaN(x)
	switch {
	case t.size == 8:
		return math.Float64bits(x)
	case t.name == "tf32":
		if nan {
			return 0x7fffffff
		}
		return uint64(math.Float32bits(float32(quantise(x, 10, -126, largestTF32, mode))))
	case t.size == 4:
		switch {
		case nan:
			return 0x7fffffff
		case mode == toNearest:
			return uint64(math.Float32bits(float32(x)))
		}
		return uint64(math.Float32bits(float32(quantise(x, 23, -126, math.MaxFloat32, mode))))
	case t.class == brain:
		if nan {
			return 0x7fff
		}
		return uint64(math.Float32bits(float32(quantise(x, 7, -126, largestBrain, mode))) >> 16)
	case nan:
		return 0x7fff
	}
	return uint64(halfBits(quantise(x, 10, -14, largestHalf, mode)))
}

// fromHalf returns the value of a float of 16 bits.
func fromHalf(h uint16) float32 {
	x := uint32(h&0x7fff) << 13
	sign := uint32(h&0x8000) << 16
	if x >= 0x7c00<<13 { // infinity, NaN
		return math.Float32frombits(sign | 0x7f800000 | x&0x7fffff)
	}
	return math.Float32frombits(math.Float32bits(math.Float32frombits(x)*0x1p112) | sign)
}

// halfBits returns the bits of a value that a float of 16 bits holds exactly.
func halfBits(x float64) uint16 {
	b := math.Float32bits(float32(x))
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	if b >= 0x7f800000 {
		return sign | uint16(b>>13&0x3ff) | 0x7c00
	}
	return sign | uint16(math.Float32bits(math.Float32frombits(b)*0x1p-112)>>13)
}

// flush32 replaces a subnormal float of 32 bits by zero of its sign.
func flush32(x float64) float64 {
	if math.Abs(x) < 0x1p-126 {
		return math.Copysign(0, x)
	}
	return x
}

// saturate limits to [0, 1]; a NaN gives 0.
func saturate(x float64) float64 {
	if x > 0 {
		return min(x, 1)
	}
	return 0
}

// minimum returns the smaller number; −0 is smaller than +0. A NaN gives the other operand, or NaN if keep is set.
func minimum(a, b float64, keep bool) float64 {
	switch {
	case math.IsNaN(a):
		if keep {
			return a
		}
		return b
	case math.IsNaN(b):
		if keep {
			return b
		}
		return a
	}
	return min(a, b)
}

func maximum(a, b float64, keep bool) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return minimum(a, b, keep)
	}
	return max(a, b)
}
