package tensor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// format describes a binary format by its field widths, for a reference that
// works on real numbers in float64, which holds every value involved exactly.
type format struct {
	d                DType
	exponent, digits int // digits counts the hidden bit
	narrow           func(float32) uint16
	widen            func(uint16) float32
}

var formats = []format{
	{BFloat16, 8, 8, F32ToBF16, BF16ToF32},
	{Float16, 5, 11, F32ToF16, F16ToF32},
}

// decode is the value of an encoding by the definition of IEEE 754.
func (f format) decode(h uint16) float64 {
	fractionBits := f.digits - 1
	bias := 1<<(f.exponent-1) - 1
	exponent := int(h) >> fractionBits & (1<<f.exponent - 1)
	fraction := float64(int(h) & (1<<fractionBits - 1))
	sign := 1.0
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 1<<f.exponent-1 && fraction != 0:
		return math.NaN()
	case exponent == 1<<f.exponent-1:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, 1-bias-fractionBits)
	}
	return sign * math.Ldexp(float64(int(1)<<fractionBits)+fraction, exponent-bias-fractionBits)
}

// round rounds to the nearest value of the format, ties to even, without
// looking at bits.
func (f format) round(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	bias := 1<<(f.exponent-1) - 1
	_, e := math.Frexp(x) // |x| in [2^(e-1), 2^e)
	unit := max(e-f.digits, 2-bias-f.digits)
	r := math.Ldexp(math.RoundToEven(math.Ldexp(x, -unit)), unit)
	if math.Abs(r) >= math.Ldexp(1, bias+1) {
		return math.Copysign(math.Inf(1), x)
	}
	return math.Copysign(r, x)
}

func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || a == b && math.Signbit(a) == math.Signbit(b)
}

func TestEveryEncodingWidensToItsValueAndComesBack(t *testing.T) {
	for _, f := range formats {
		for i := range 1 << 16 {
			h := uint16(i)
			x := f.widen(h)
			if want := f.decode(h); !same(float64(x), want) {
				t.Fatalf("%v %#04x widens to %g, want %g", f.d, h, x, want)
			}
			back := f.narrow(x)
			if math.IsNaN(float64(x)) {
				if !math.IsNaN(f.decode(back)) {
					t.Fatalf("%v: NaN %#04x becomes %#04x", f.d, h, back)
				}
			} else if back != h {
				t.Fatalf("%v: %#04x comes back as %#04x", f.d, h, back)
			}
		}
	}
}

func TestNarrowRoundsToNearestEven(t *testing.T) {
	check := func(f format, x float32) {
		t.Helper()
		got, want := f.decode(f.narrow(x)), f.round(float64(x))
		if !same(got, want) {
			t.Fatalf("%v(%g = %#08x) = %g, want %g", f.d, x, math.Float32bits(x), got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range formats {
		// Every value, the midpoint to its neighbour, and one float32 to either
		// side of both: all the places where rounding decides.
		for i := range 1<<15 - 1 {
			a, b := f.decode(uint16(i)), f.decode(uint16(i+1))
			if math.IsNaN(a) || math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsNaN(b) {
				continue
			}
			for _, v := range []float64{a, (a + b) / 2} {
				x := float32(v)
				for _, y := range []float32{x, math.Nextafter32(x, -1), math.Nextafter32(x, 1e38)} {
					check(f, y)
					check(f, -y)
				}
			}
		}
		for range 500_000 {
			check(f, math.Float32frombits(rng.Uint32()))
		}
		edges := []float32{0, 65504, 65519.996, 65520, 65536, math.MaxFloat32, math.SmallestNonzeroFloat32,
			0x1p-14, 0x1p-24, 0x1p-25, 0x1.000002p-25, 0x1.8p-24, 3.3895314e38, 3.3961775e38,
			float32(math.Inf(1)), float32(math.NaN()), math.Float32frombits(0x7f800001), math.Float32frombits(0x7fffffff)}
		for _, x := range edges {
			check(f, x)
			check(f, -x)
		}
	}
}

func TestSliceFormsAgreeWithScalars(t *testing.T) {
	src := []float32{0, 1, -2.5, 1e-6, 7e4, -1e-40}
	for _, f := range formats {
		h, back := make([]uint16, len(src)), make([]float32, len(src))
		Narrow(f.d, h, src)
		Widen(f.d, back, h)
		for i, x := range src {
			if h[i] != f.narrow(x) || back[i] != f.widen(h[i]) {
				t.Errorf("%v: element %d = %#04x, %g", f.d, i, h[i], back[i])
			}
		}
	}
}

func BenchmarkHalf(b *testing.B) {
	x, h := make([]float32, 1<<16), make([]uint16, 1<<16)
	for i := range x {
		x[i] = float32(i) * 1e-3
	}
	for _, f := range formats {
		b.Run("narrow/"+f.d.String(), func(b *testing.B) {
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				Narrow(f.d, h, x)
			}
		})
		b.Run("widen/"+f.d.String(), func(b *testing.B) {
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				Widen(f.d, x, h)
			}
		})
	}
}
