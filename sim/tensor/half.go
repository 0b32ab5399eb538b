package tensor

import "math"

// The 16-bit types of mixed precision (spec/prism.md §5.7). Narrowing rounds to
// nearest, ties to even, like hardware: subnormal results are kept, overflow
// gives infinity, and a NaN stays NaN.

// F32ToBF16 rounds to bfloat16: 1 sign, 8 exponent and 7 fraction bits.
func F32ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40 // quiet, so that dropping bits cannot make it infinite
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// BF16ToF32 widens a bfloat16; it is exact.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToF16 rounds to IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
func F32ToF16(x float32) uint16 {
	const (
		nearInfinity = 0x477ff000 // 65520, halfway between the largest value and the next
		minNormal    = 0x38800000 // 2^-14
		rebias       = (127 - 15) << 23
	)
	b := math.Float32bits(x)
	sign, abs := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13&0x3ff)
	case abs >= nearInfinity:
		return sign | 0x7c00
	case abs >= minNormal:
		return sign | uint16((abs-rebias+0xfff+abs>>13&1)>>13)
	}
	// Subnormal: multiples of 2^-24. Adding 0.5, whose unit is 2^-24, lets the
	// float32 adder do the rounding.
	sum := math.Float32frombits(abs) + 0.5
	return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
}

// F16ToF32 widens a binary16; it is exact.
func F16ToF32(h uint16) float32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0:
		x := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(x) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// Narrow rounds src into dst, whose elements are encodings of the 16-bit type d.
// It panics if the lengths differ or d is not a 16-bit type.
func Narrow(d DType, dst []uint16, src []float32) {
	if len(dst) != len(src) {
		panic("tensor: Narrow of slices of different lengths")
	}
	switch d {
	case BFloat16:
		for i, x := range src {
			dst[i] = F32ToBF16(x)
		}
	case Float16:
		for i, x := range src {
			dst[i] = F32ToF16(x)
		}
	default:
		panic("tensor: Narrow to " + d.String())
	}
}

// Widen is the exact inverse of Narrow. It panics like Narrow.
func Widen(d DType, dst []float32, src []uint16) {
	if len(dst) != len(src) {
		panic("tensor: Widen of slices of different lengths")
	}
	switch d {
	case BFloat16:
		for i, h := range src {
			dst[i] = BF16ToF32(h)
		}
	case Float16:
		for i, h := range src {
			dst[i] = F16ToF32(h)
		}
	default:
		panic("tensor: Widen from " + d.String())
	}
}
