package ptx_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/gpu/emulator/ptx"
)

func unary(f func(float64) float64) func(a, b, c uint64) uint64 {
	return func(a, _, _ uint64) uint64 { return b32(float32(f(float64(f32(a))))) }
}

// exactFMA returns a·b + c rounded once, by numbers of any precision.
func exactFMA(a, b, c float64, round func(*big.Float) float64) float64 {
	for _, x := range []float64{a, b, c} {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return math.FMA(a, b, c)
		}
	}
	x := new(big.Float).SetPrec(3000).SetFloat64(a)
	x.Mul(x, new(big.Float).SetPrec(3000).SetFloat64(b))
	x.Add(x, new(big.Float).SetPrec(3000).SetFloat64(c))
	if x.Sign() == 0 {
		return a*b + c // for the sign of zero
	}
	return round(x)
}

func toSingle(x *big.Float) float64 { v, _ := x.Float32(); return float64(v) }
func toDouble(x *big.Float) float64 { v, _ := x.Float64(); return v }

func flush(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

func pick(a, b float32, smaller bool) float32 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	case smaller:
		return min(a, b)
	}
	return max(a, b)
}

var floatOps = []op{
	{"add.rn.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(f32(a) + f32(b)) }},
	{"add.f32 %rd, %ra, 0f3F800000;", "f", singles, func(a, _, _ uint64) uint64 { return b32(f32(a) + 1) }},
	{"sub.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(f32(a) - f32(b)) }},
	{"mul.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(f32(a) * f32(b)) }},
	{"mul.ftz.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(flush(flush(f32(a)) * flush(f32(b)))) }},
	{"add.sat.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 {
		x := f32(a) + f32(b)
		if !(x > 0) {
			return 0
		}
		return b32(min(x, 1))
	}},
	{"fma.rn.f32 %rd, %ra, %rb, %rc;", "f", singles, func(a, b, c uint64) uint64 {
		return b32(float32(exactFMA(float64(f32(a)), float64(f32(b)), float64(f32(c)), toSingle)))
	}},
	{"div.rn.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(f32(a) / f32(b)) }},
	{"div.approx.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(f32(a) / f32(b)) }},
	{"div.full.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(f32(a) / f32(b)) }},
	{"abs.f32 %rd, %ra;", "f", singles, func(a, _, _ uint64) uint64 { return a & 0x7fffffff }},
	{"neg.f32 %rd, %ra;", "f", singles, func(a, _, _ uint64) uint64 { return b32(-f32(a)) }},
	{"min.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(pick(f32(a), f32(b), true)) }},
	{"max.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(pick(f32(a), f32(b), false)) }},
	{"max.NaN.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(max(f32(a), f32(b))) }},
	{"min.NaN.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(min(f32(a), f32(b))) }},
	{"sqrt.rn.f32 %rd, %ra;", "f", singles, unary(math.Sqrt)},
	{"sqrt.approx.f32 %rd, %ra;", "f", singles, unary(math.Sqrt)},
	{"rsqrt.approx.f32 %rd, %ra;", "f", singles, unary(func(x float64) float64 { return 1 / math.Sqrt(x) })},
	{"rcp.rn.f32 %rd, %ra;", "f", singles, unary(func(x float64) float64 { return 1 / x })},
	{"ex2.approx.f32 %rd, %ra;", "f", singles, unary(math.Exp2)},
	{"ex2.approx.ftz.f32 %rd, %ra;", "f", singles, func(a, _, _ uint64) uint64 { return b32(flush(float32(math.Exp2(float64(flush(f32(a))))))) }},
	{"lg2.approx.f32 %rd, %ra;", "f", singles, unary(math.Log2)},
	{"sin.approx.f32 %rd, %ra;", "f", singles, unary(math.Sin)},
	{"cos.approx.f32 %rd, %ra;", "f", singles, unary(math.Cos)},
	{"tanh.approx.f32 %rd, %ra;", "f", singles, unary(math.Tanh)},
	{"copysign.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return a&0x80000000 | b&0x7fffffff }},
	{"testp.finite.f32 %pd, %ra;", "p", singles, func(a, _, _ uint64) uint64 { return boolean(u32(a)&0x7f800000 != 0x7f800000) }},
	{"testp.notanumber.f32 %pd, %ra;", "p", singles, func(a, _, _ uint64) uint64 { return boolean(f32(a) != f32(a)) }},
	{"testp.subnormal.f32 %pd, %ra;", "p", singles, func(a, _, _ uint64) uint64 { return boolean(u32(a)&0x7f800000 == 0 && u32(a)<<1 != 0) }},

	{"add.f64 %ld, %la, %lb;", "F", doubles, func(a, b, _ uint64) uint64 { return b64(f64(a) + f64(b)) }},
	{"sub.rn.f64 %ld, %la, %lb;", "F", doubles, func(a, b, _ uint64) uint64 { return b64(f64(a) - f64(b)) }},
	{"mul.f64 %ld, %la, %lb;", "F", doubles, func(a, b, _ uint64) uint64 { return b64(f64(a) * f64(b)) }},
	{"mul.f64 %ld, %la, 0d4008000000000000;", "F", doubles, func(a, _, _ uint64) uint64 { return b64(f64(a) * 3) }},
	{"fma.rn.f64 %ld, %la, %lb, %lc;", "F", doubles, func(a, b, c uint64) uint64 { return b64(exactFMA(f64(a), f64(b), f64(c), toDouble)) }},
	{"div.rn.f64 %ld, %la, %lb;", "F", doubles, func(a, b, _ uint64) uint64 { return b64(f64(a) / f64(b)) }},
	{"sqrt.rn.f64 %ld, %la;", "F", doubles, func(a, _, _ uint64) uint64 { return b64(math.Sqrt(f64(a))) }},
	{"rcp.rn.f64 %ld, %la;", "F", doubles, func(a, _, _ uint64) uint64 { return b64(1 / f64(a)) }},
	{"abs.f64 %ld, %la;", "F", doubles, func(a, _, _ uint64) uint64 { return b64(math.Abs(f64(a))) }},
	{"neg.f64 %ld, %la;", "F", doubles, func(a, _, _ uint64) uint64 { return b64(-f64(a)) }},
	{"max.f64 %ld, %la, %lb;", "F", doubles, func(a, b, _ uint64) uint64 {
		switch {
		case f64(a) != f64(a):
			return b
		case f64(b) != f64(b):
			return a
		}
		return b64(max(f64(a), f64(b)))
	}},

	{"setp.lt.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(f32(a) < f32(b)) }},
	{"setp.leu.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(!(f32(a) > f32(b))) }},
	{"setp.gtu.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(!(f32(a) <= f32(b))) }},
	{"setp.equ.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 {
		return boolean(f32(a) == f32(b) || f32(a) != f32(a) || f32(b) != f32(b))
	}},
	{"setp.neu.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(f32(a) != f32(b)) }},
	{"setp.ne.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(f32(a) < f32(b) || f32(a) > f32(b)) }},
	{"setp.nan.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(f32(a) != f32(a) || f32(b) != f32(b)) }},
	{"setp.num.f64 %pd, %la, %lb;", "p", doubles, func(a, b, _ uint64) uint64 { return boolean(f64(a) == f64(a) && f64(b) == f64(b)) }},
	{"setp.ge.f64 %pd, %la, %lb;", "p", doubles, func(a, b, _ uint64) uint64 { return boolean(f64(a) >= f64(b)) }},
	{"setp.eq.ftz.f32 %pd, %ra, %rb;", "p", singles, func(a, b, _ uint64) uint64 { return boolean(flush(f32(a)) == flush(f32(b))) }},
	{"setp.lt.f16 %pd, %ha, %hb;", "p", halves, func(a, b, _ uint64) uint64 { return boolean(half(a) < half(b)) }},
	{"set.gt.f32.f32 %rd, %ra, %rb;", "f", singles, func(a, b, _ uint64) uint64 { return b32(float32(boolean(f32(a) > f32(b)))) }},

	{"add.f16 %hd, %ha, %hb;", "H", halves, func(a, b, _ uint64) uint64 { return nearestHalf(half(a) + half(b)) }},
	{"mul.rn.f16 %hd, %ha, %hb;", "H", halves, func(a, b, _ uint64) uint64 { return nearestHalf(half(a) * half(b)) }},
	{"fma.rn.f16 %hd, %ha, %hb, %hc;", "H", halves, func(a, b, c uint64) uint64 { return nearestHalf(math.FMA(half(a), half(b), half(c))) }},
	{"fma.rn.relu.f16 %hd, %ha, %hb, %hc;", "H", halves, func(a, b, c uint64) uint64 {
		if x := math.FMA(half(a), half(b), half(c)); !(x <= 0) {
			return nearestHalf(x)
		}
		return 0
	}},
	{"neg.f16 %hd, %ha;", "H", halves, func(a, _, _ uint64) uint64 { return a ^ 0x8000 }},
	{"max.f16 %hd, %ha, %hb;", "H", halves, func(a, b, _ uint64) uint64 {
		switch {
		case math.IsNaN(half(a)):
			return b
		case math.IsNaN(half(b)):
			return a
		}
		return nearestHalf(max(half(a), half(b)))
	}},
	{"add.f16x2 %rd, %ra, %rb; mov.b32 {%hd, %ha}, %rd;", "H", halves, func(a, b, _ uint64) uint64 { return nearestHalf(half(a) + half(b)) }},
	{"mov.b32 %ra, {%hb, %ha}; mul.f16x2 %rd, %ra, %ra; mov.b32 {%hb, %hd}, %rd;", "H", halves, func(a, _, _ uint64) uint64 { return nearestHalf(half(a) * half(a)) }},
	{"ex2.approx.f16 %hd, %ha;", "H", halves, func(a, _, _ uint64) uint64 { return nearestHalf(math.Exp2(half(a))) }},
	{"tanh.approx.f16 %hd, %ha;", "H", halves, func(a, _, _ uint64) uint64 { return nearestHalf(math.Tanh(half(a))) }},
	{"cvt.f32.f16 %rd, %ha;", "f", halves, func(a, _, _ uint64) uint64 { return b32(float32(half(a))) }},
}

func TestFloatInstructions(t *testing.T) {
	for _, x := range floatOps {
		t.Run(strings.Fields(x.body)[0], x.check)
	}
}

// truncated returns a float as a whole number of a type's range.
func truncated(x, lo, hi float64) float64 {
	if x != x {
		return 0
	}
	return min(max(math.Trunc(x), lo), hi)
}

// brain rounds to bfloat16 by searching the two neighbours.
func brain(v uint64) uint64 {
	x := f32(v)
	if x != x {
		return 0x7fff
	}
	lo := u32(v) >> 16
	if u32(v)&0xffff > 0x8000 || u32(v)&0xffff == 0x8000 && lo&1 == 1 {
		lo++
	}
	return uint64(lo)
}

var conversions = []op{
	{"cvt.s64.s32 %ld, %ra;", "l", integers, func(a, _, _ uint64) uint64 { return uint64(int64(s32(a))) }},
	{"cvt.u64.u32 %ld, %ra;", "l", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a)) }},
	{"cvt.u32.u64 %rd, %la;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a)) }},
	{"cvt.s32.s16 %rd, %ha;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(s16(a))) }},
	{"cvt.u32.u16 %rd, %ha;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u16(a)) }},
	{"cvt.u16.u32 %hd, %ra;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(u16(a)) }},
	{"cvt.s16.s8 %hd, %ha;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(uint16(int8(a))) }},
	{"cvt.s32.s8 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(int8(a))) }},
	{"cvt.u32.u8 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return a & 255 }},
	{"cvt.sat.s8.s32 %rd, %ra; and.b32 %rd, %rd, 255;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint8(int8(min(max(s32(a), -128), 127)))) }},
	{"cvt.sat.u16.s32 %hd, %ra;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(min(max(s32(a), 0), 65535)) }},
	{"cvt.sat.s32.s64 %rd, %la;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(min(max(int64(a), math.MinInt32), math.MaxInt32))) }},
	{"cvt.rn.f32.s32 %rd, %ra;", "f", integers, func(a, _, _ uint64) uint64 { return b32(float32(s32(a))) }},
	{"cvt.rn.f32.u32 %rd, %ra;", "f", integers, func(a, _, _ uint64) uint64 { return b32(float32(u32(a))) }},
	{"cvt.rn.f32.s64 %rd, %la;", "f", integers, func(a, _, _ uint64) uint64 { return b32(float32(int64(a))) }},
	{"cvt.rn.f32.u64 %rd, %la;", "f", integers, func(a, _, _ uint64) uint64 { return b32(float32(a)) }},
	{"cvt.rn.f64.s32 %ld, %ra;", "F", integers, func(a, _, _ uint64) uint64 { return b64(float64(s32(a))) }},
	{"cvt.rn.f64.u64 %ld, %la;", "F", integers, func(a, _, _ uint64) uint64 { return b64(float64(a)) }},
	{"cvt.rz.f32.u32 %rd, %ra;", "f", integers, func(a, _, _ uint64) uint64 {
		x := float32(u32(a))
		if uint64(x) > uint64(u32(a)) {
			x = math.Nextafter32(x, 0)
		}
		return b32(x)
	}},
	{"cvt.rn.f16.s32 %hd, %ra;", "H", integers, func(a, _, _ uint64) uint64 { return nearestHalf(float64(s32(a))) }},
	{"cvt.rzi.s32.f32 %rd, %ra;", "r", singles, func(a, _, _ uint64) uint64 {
		return uint64(uint32(int32(truncated(float64(f32(a)), math.MinInt32, math.MaxInt32))))
	}},
	{"cvt.rzi.u32.f32 %rd, %ra;", "r", singles, func(a, _, _ uint64) uint64 { return uint64(truncated(float64(f32(a)), 0, math.MaxUint32)) }},
	{"cvt.rni.s32.f32 %rd, %ra;", "r", singles, func(a, _, _ uint64) uint64 {
		return uint64(uint32(int32(truncated(math.RoundToEven(float64(f32(a))), math.MinInt32, math.MaxInt32))))
	}},
	{"cvt.rmi.s32.f32 %rd, %ra;", "r", singles, func(a, _, _ uint64) uint64 {
		return uint64(uint32(int32(truncated(math.Floor(float64(f32(a))), math.MinInt32, math.MaxInt32))))
	}},
	{"cvt.rzi.s64.f64 %ld, %la;", "l", doubles, func(a, _, _ uint64) uint64 {
		if f64(a) >= 0x1p63 {
			return math.MaxInt64
		}
		return uint64(int64(truncated(f64(a), -0x1p63, 0x1p63)))
	}},
	{"cvt.rzi.u16.f32 %hd, %ra;", "h", singles, func(a, _, _ uint64) uint64 { return uint64(truncated(float64(f32(a)), 0, 65535)) }},
	{"cvt.rmi.f32.f32 %rd, %ra;", "f", singles, unary(math.Floor)},
	{"cvt.rpi.f32.f32 %rd, %ra;", "f", singles, unary(math.Ceil)},
	{"cvt.rni.f32.f32 %rd, %ra;", "f", singles, unary(math.RoundToEven)},
	{"cvt.rzi.f64.f64 %ld, %la;", "F", doubles, func(a, _, _ uint64) uint64 { return b64(math.Trunc(f64(a))) }},
	{"cvt.sat.f32.f32 %rd, %ra;", "f", singles, func(a, _, _ uint64) uint64 {
		if x := f32(a); x > 0 {
			return b32(min(x, 1))
		}
		return 0
	}},
	{"cvt.f64.f32 %ld, %ra;", "F", singles, func(a, _, _ uint64) uint64 { return b64(float64(f32(a))) }},
	{"cvt.rn.f32.f64 %rd, %la;", "f", doubles, func(a, _, _ uint64) uint64 { return b32(float32(f64(a))) }},
	{"cvt.rz.f32.f64 %rd, %la;", "f", doubles, func(a, _, _ uint64) uint64 {
		x := float32(f64(a))
		if math.Abs(float64(x)) > math.Abs(f64(a)) {
			x = math.Nextafter32(x, 0)
		}
		return b32(x)
	}},
	{"cvt.rn.f16.f32 %hd, %ra;", "H", singles, func(a, _, _ uint64) uint64 { return nearestHalf(float64(f32(a))) }},
	{"cvt.rz.f16.f32 %hd, %ra;", "H", singles, func(a, _, _ uint64) uint64 {
		x := float64(f32(a))
		h := nearestHalf(x)
		if math.Abs(half(h)) > math.Abs(x) {
			h--
		}
		return h
	}},
	{"cvt.rn.f16.f64 %hd, %la;", "H", doubles, func(a, _, _ uint64) uint64 { return nearestHalf(f64(a)) }},
	{"cvt.rn.bf16.f32 %hd, %ra;", "h", singles, func(a, _, _ uint64) uint64 { return brain(a) }},
	{"cvt.rn.bf16x2.f32 %rd, %ra, %rb;", "r", singles, func(a, b, _ uint64) uint64 { return brain(a)<<16 | brain(b) }},
	{"cvt.rn.f16x2.f32 %rd, %ra, %rb;", "r", singles, func(a, b, _ uint64) uint64 {
		return nearestHalf(float64(f32(a)))<<16 | nearestHalf(float64(f32(b)))
	}},
	{"cvt.rn.relu.bf16x2.f32 %rd, %ra, %rb; and.b32 %rd, %rd, 0xffff;", "r", singles, func(_, b, _ uint64) uint64 {
		if f32(b) <= 0 {
			return 0
		}
		return brain(b)
	}},
	{"cvt.f32.bf16 %rd, %ha;", "f", halves, func(a, _, _ uint64) uint64 { return a << 16 }},
	{"cvt.rna.tf32.f32 %rd, %ra;", "f", singles, func(a, _, _ uint64) uint64 {
		if f32(a) != f32(a) || u32(a)&0x7fffffff == 0x7f800000 {
			return a
		}
		return (a + 0x1000) &^ 0x1fff
	}},
}

func TestConversions(t *testing.T) {
	for _, x := range conversions {
		t.Run(strings.Fields(x.body)[0], x.check)
	}
}

// Random bits find what chosen operands miss.
func TestRandomFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var operands [][3]uint64
	for range 20000 {
		a, b := r.Uint32(), r.Uint32()
		// c is near −a·b or at the edge of its last bit, where double rounding would show.
		p := float64(math.Float32frombits(a)) * float64(math.Float32frombits(b))
		c := float32(p) * float32(math.Ldexp(1, r.IntN(60)-30))
		if r.IntN(2) == 0 {
			c = -c
		}
		operands = append(operands, [3]uint64{uint64(a), uint64(b), b32(c)})
	}
	x := op{"fma.rn.f32 %rd, %ra, %rb, %rc;", "f", nil, floatOps[6].want}
	for i, got := range evaluate(t, x.body, "r", operands) {
		o := operands[i]
		if want := x.want(o[0], o[1], o[2]); got != want && !(f32(got) != f32(got) && f32(want) != f32(want)) {
			t.Fatalf("%v·%v + %v = %v, want %v", f32(o[0]), f32(o[1]), f32(o[2]), f32(got), f32(want))
		}
	}
}

func TestUnsupportedInstructionsAreNamed(t *testing.T) {
	for _, body := range []string{"atom.global.add.f32 %ra, [%la], %rb;", "tex.2d.v4.f32.f32 %ra, %rb;", "add.cc.u32 %rd, %ra, %rb;",
		"add.rz.f64 %ld, %la, %lb;", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 %ra, %rb, %rc, %rd;", "add.f32 %rd, %ra, %lb;"} {
		text := kernelText(body, "r")
		_, err := ptx.Parse([]byte(text))
		opcode, _, _ := strings.Cut(body, " ")
		want := fmt.Sprintf("line %d: %s", 1+strings.Count(text[:strings.Index(text, body)], "\n"), opcode)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}
