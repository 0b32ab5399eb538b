package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"prismtop/gpu/emulator/memory"
	"prismtop/gpu/emulator/ptx"
)

// kernelText is a kernel that loads operands a, b and c of each thread in registers of 16, 32 and 64 bits (%ha, %ra, %la)
// and as predicates (%pa), runs a body, and stores d.
func kernelText(body, result string) string {
	var s strings.Builder
	s.WriteString(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry test(.param .align 8 .b8 p[24])\n{\n")
	for _, x := range "abcd" {
		fmt.Fprintf(&s, ".reg .b16 %%h%c, %%h%c2; .reg .b32 %%r%c, %%r%c2; .reg .b64 %%l%c, %%l%c2; .reg .pred %%p%c, %%p%c2;\n", x, x, x, x, x, x, x, x)
	}
	s.WriteString(".reg .b32 %tid; .reg .b64 %in, %out, %at;\n")
	s.WriteString("ld.param.u64 %in, [p];\nld.param.u64 %out, [p+8];\nmov.u32 %tid, %tid.x;\n")
	s.WriteString("mad.wide.u32 %at, %tid, 24, %in;\nmad.wide.u32 %out, %tid, 8, %out;\n")
	for i, x := range "abc" {
		fmt.Fprintf(&s, "ld.global.u64 %%l%c, [%%at+%d];\ncvt.u32.u64 %%r%c, %%l%c;\ncvt.u16.u64 %%h%c, %%l%c;\nsetp.ne.u64 %%p%c, %%l%c, 0;\n", x, 8*i, x, x, x, x, x, x)
	}
	s.WriteString("mov.u64 %ld, 0;\nmov.u32 %rd, 0;\nmov.u16 %hd, 0;\n" + body + "\n")
	switch result {
	case "h":
		s.WriteString("cvt.u64.u16 %ld, %hd;\n")
	case "r":
		s.WriteString("cvt.u64.u32 %ld, %rd;\n")
	case "p":
		s.WriteString("selp.u64 %ld, 1, 0, %pd;\n")
	}
	s.WriteString("st.global.u64 [%out], %ld;\nret;\n}\n")
	return s.String()
}

// launch runs a kernel of a text on one block. param holds addresses or numbers of 64 bits.
func launch(t testing.TB, text, name string, space *memory.Space, threads uint32, shared int, checks ptx.Checks, param ...uint64) error {
	t.Helper()
	m, err := ptx.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	loaded, err := m.Load(space)
	if err != nil {
		t.Fatal(err)
	}
	x := ptx.Launch{Kernel: m.Kernels[name], Module: loaded, Memory: space, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{threads, 1, 1}, Shared: shared, Checks: checks, Steps: 1e6}
	for _, p := range param {
		x.Param = binary.NativeEndian.AppendUint64(x.Param, p)
	}
	_, err = x.Run()
	return err
}

// evaluate runs a body for lists of operands.
func evaluate(t testing.TB, body, result string, operands [][3]uint64) []uint64 {
	t.Helper()
	const most = 1024
	var results []uint64
	for len(operands) > 0 {
		n := min(most, len(operands))
		space := memory.NewSpace(1 << 20)
		in, err := space.Alloc(int64(24*n), "")
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range operands[:n] {
			for j, v := range x {
				binary.NativeEndian.PutUint64(in.Data[24*i+8*j:], v)
			}
		}
		in.Mark(0, in.Size)
		out, err := space.Alloc(int64(8*n), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := launch(t, kernelText(body, result), "test", space, uint32(n), 0, ptx.Checks{Uninitialised: true}, in.Base, out.Base, 0); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			results = append(results, binary.NativeEndian.Uint64(out.Data[8*i:]))
		}
		operands = operands[n:]
	}
	return results
}

// Operands with the edges of each type.
var (
	integers = []uint64{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff, 0x100000000, 0x123456789abcdef0, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe, 0xffffffffffffffff}
	singles = floats(func(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }, 0x1p-149, 0x1.fffffcp-127, 0x1p-126, 0x1.fffffep127)
	doubles = floats(math.Float64bits, 0x1p-1074, 0x1p-1022, math.MaxFloat64)
	halves  = []uint64{0, 0x8000, 0x3c00, 0xbc00, 0x3c01, 0x4000, 0x0001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x5640, 0x6400, 0x6401, 0x1234, 0xc248}
)

func floats(bits func(float64) uint64, more ...float64) []uint64 {
	list := append(more, 0, math.Copysign(0, -1), 1, -1, 1.5, -2.5, 0.1, -0.3, 3, 1e-3, 1e5, 123456.789, 16777217, 2147483648, -2147483649, 4294967296, 9.3e18, 1e20,
		0.5, 2.5, 3.5, -0.5, math.Pi, 1+0x1p-12, 1+0x1p-23, 1-0x1p-24, math.Inf(1), math.Inf(-1), math.NaN())
	var out []uint64
	for _, x := range list {
		out = append(out, bits(x))
	}
	return out
}

// triples returns all pairs of a list, with a third operand that cycles through the list.
func triples(list []uint64) [][3]uint64 {
	var out [][3]uint64
	for i, a := range list {
		for j, b := range list {
			out = append(out, [3]uint64{a, b, list[(7*i+3*j+i*j)%len(list)]})
		}
	}
	return out
}

func f32(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64 { return math.Float64frombits(v) }
func b32(x float32) uint64 { return uint64(math.Float32bits(x)) }
func b64(x float64) uint64 { return math.Float64bits(x) }
func s32(v uint64) int32   { return int32(v) }
func u32(v uint64) uint32  { return uint32(v) }
func s16(v uint64) int16   { return int16(v) }
func u16(v uint64) uint16  { return uint16(v) }

// half returns the value of a float of 16 bits, computed the plain way.
func half(v uint64) float64 {
	sign, e, m := 1-2*float64(v>>15&1), int(v>>10&31), float64(v&1023)
	switch {
	case e == 31 && m == 0:
		return math.Inf(int(sign))
	case e == 31:
		return math.NaN()
	case e == 0:
		return sign * math.Ldexp(m, -24)
	}
	return sign * math.Ldexp(1024+m, e-25)
}

// nearestHalf searches the half next to a value; of two at the same distance the even one.
func nearestHalf(x float64) uint64 {
	switch {
	case math.IsNaN(x):
		return 0x7fff
	case math.Abs(x) >= 65520:
		return map[bool]uint64{false: 0x7c00, true: 0xfc00}[x < 0]
	}
	var sign uint64
	if math.Signbit(x) {
		sign = 0x8000
	}
	lo, hi := uint64(0), uint64(0x7bff)
	for lo < hi {
		if mid := (lo + hi + 1) / 2; half(mid) <= math.Abs(x) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if lo < 0x7bff {
		below, above := math.Abs(x)-half(lo), half(lo+1)-math.Abs(x)
		if above < below || above == below && lo&1 == 1 {
			lo++
		}
	} else if math.Abs(x) >= 65520 {
		lo = 0x7c00
	}
	return sign | lo
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// op is an instruction on operands of a list and its meaning in Go.
type op struct {
	body   string
	result string // kind of d: h, r, l, p; "f" and "F" are r and l that hold floats, "H" is h that holds one
	list   []uint64
	want   func(a, b, c uint64) uint64
}

var ops = []op{
	{"add.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a) + u32(b)) }},
	{"sub.u32 %rd, %ra, 5;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a) - 5) }},
	{"add.s64 %ld, %la, -9;", "l", integers, func(a, _, _ uint64) uint64 { return a - 9 }},
	{"add.s16 %hd, %ha, %hb;", "h", integers, func(a, b, _ uint64) uint64 { return uint64(u16(a) + u16(b)) }},
	{"mul.lo.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a) * u32(b)) }},
	{"mul.hi.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(uint64(int64(s32(a)) * int64(s32(b)) >> 32))) }},
	{"mul.hi.u32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a)) * uint64(u32(b)) >> 32 }},
	{"mul.hi.u64 %ld, %la, %lb;", "l", integers, func(a, b, _ uint64) uint64 { h, _ := bits.Mul64(a, b); return h }},
	{"mul.hi.s64 %ld, %la, %lb;", "l", integers, signedHigh},
	{"mul.wide.s32 %ld, %ra, %rb;", "l", integers, func(a, b, _ uint64) uint64 { return uint64(int64(s32(a)) * int64(s32(b))) }},
	{"mul.wide.u32 %ld, %ra, 12;", "l", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a)) * 12 }},
	{"mul.wide.s16 %rd, %ha, %hb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(uint32(int32(s16(a)) * int32(s16(b)))) }},
	{"mul.wide.u16 %rd, %ha, %hb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(uint32(u16(a)) * uint32(u16(b))) }},
	{"mad.lo.s32 %rd, %ra, %rb, %rc;", "r", integers, func(a, b, c uint64) uint64 { return uint64(u32(a)*u32(b) + u32(c)) }},
	{"mad.lo.u64 %ld, %la, %lb, %lc;", "l", integers, func(a, b, c uint64) uint64 { return a*b + c }},
	{"mad.wide.s32 %ld, %ra, %rb, %lc;", "l", integers, func(a, b, c uint64) uint64 { return uint64(int64(s32(a))*int64(s32(b))) + c }},
	{"mad.hi.u32 %rd, %ra, %rb, %rc;", "r", integers, func(a, b, c uint64) uint64 { return uint64(u32(uint64(u32(a))*uint64(u32(b))>>32) + u32(c)) }},
	{"div.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 {
		if s32(b) == 0 {
			return 0xffffffff
		}
		return uint64(uint32(s32(a) / s32(b)))
	}},
	{"div.u32 %rd, %ra, 7;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a) / 7) }},
	{"rem.u32 %rd, %ra, 10;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a) % 10) }},
	{"rem.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 {
		if s32(b) == 0 {
			return uint64(u32(a))
		}
		return uint64(uint32(s32(a) % s32(b)))
	}},
	{"div.s64 %ld, %la, %lb;", "l", integers, func(a, b, _ uint64) uint64 {
		if b == 0 {
			return ^uint64(0)
		}
		return uint64(int64(a) / int64(b))
	}},
	{"rem.u64 %ld, %la, 1000;", "l", integers, func(a, _, _ uint64) uint64 { return a % 1000 }},
	{"div.u16 %hd, %ha, 3;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(u16(a) / 3) }},
	{"min.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(uint32(min(s32(a), s32(b)))) }},
	{"max.u32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(max(u32(a), u32(b))) }},
	{"min.u64 %ld, %la, %lb;", "l", integers, func(a, b, _ uint64) uint64 { return min(a, b) }},
	{"max.s64 %ld, %la, %lb;", "l", integers, func(a, b, _ uint64) uint64 { return uint64(max(int64(a), int64(b))) }},
	{"min.s16 %hd, %ha, %hb;", "h", integers, func(a, b, _ uint64) uint64 { return uint64(uint16(min(s16(a), s16(b)))) }},
	{"abs.s32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(max(s32(a), -s32(a)))) &^ 0 }},
	{"neg.s64 %ld, %la;", "l", integers, func(a, _, _ uint64) uint64 { return -a }},
	{"neg.s16 %hd, %ha;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(-u16(a)) }},

	{"and.b32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a & b)) }},
	{"or.b64 %ld, %la, %lb;", "l", integers, func(a, b, _ uint64) uint64 { return a | b }},
	{"xor.b16 %hd, %ha, %hb;", "h", integers, func(a, b, _ uint64) uint64 { return uint64(u16(a ^ b)) }},
	{"not.b32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(^u32(a)) }},
	{"not.b16 %hd, %ha;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(^u16(a)) }},
	{"cnot.b32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return boolean(u32(a) == 0) }},
	{"and.pred %pd, %pa, %pb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(a != 0 && b != 0) }},
	{"xor.pred %pd, %pa, %pb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean((a != 0) != (b != 0)) }},
	{"not.pred %pd, %pa;", "p", integers, func(a, _, _ uint64) uint64 { return boolean(a == 0) }},
	{"mov.pred %pd, %pb;", "p", integers, func(_, b, _ uint64) uint64 { return boolean(b != 0) }},
	{"mov.pred %pd, 1;", "p", integers, func(_, _, _ uint64) uint64 { return 1 }},
	{"shl.b32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a) << u32(b)) }},
	{"shl.b64 %ld, %la, %rb;", "l", integers, func(a, b, _ uint64) uint64 { return a << u32(b) }},
	{"shr.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(uint32(s32(a) >> u32(b))) }},
	{"shr.u32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a) >> u32(b)) }},
	{"shr.s64 %ld, %la, %rb;", "l", integers, func(a, b, _ uint64) uint64 { return uint64(int64(a) >> u32(b)) }},
	{"shr.s16 %hd, %ha, %rb;", "h", integers, func(a, b, _ uint64) uint64 { return uint64(uint16(s16(a) >> u32(b))) }},
	{"shr.u16 %hd, %ha, 8;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(u16(a) >> 8) }},
	{"shl.b16 %hd, %ha, 3;", "h", integers, func(a, _, _ uint64) uint64 { return uint64(u16(a) << 3) }},
	{"shf.l.wrap.b32 %rd, %ra, %rb, %rc;", "r", integers, func(a, b, c uint64) uint64 { return uint64(u32((b<<32 | uint64(u32(a))) << (c & 31) >> 32)) }},
	{"shf.r.clamp.b32 %rd, %ra, %rb, %rc;", "r", integers, func(a, b, c uint64) uint64 {
		return uint64(u32((uint64(u32(b))<<32 | uint64(u32(a))) >> min(uint64(u32(c)), 32)))
	}},
	{"lop3.b32 %rd, %ra, %rb, %rc, 0x96;", "r", integers, func(a, b, c uint64) uint64 { return uint64(u32(a ^ b ^ c)) }},
	{"lop3.b32 %rd, %ra, %rb, %rc, 0xe2;", "r", integers, func(a, b, c uint64) uint64 { return uint64(u32(b&a | ^b&c)) }},
	{"bfe.u32 %rd, %ra, 5, 9;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a) >> 5 & 511) }},
	{"bfe.s32 %rd, %ra, 4, 8;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(int32(u32(a)<<20) >> 24)) }},
	{"bfe.s32 %rd, %ra, 28, 16;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(s32(a) >> 28)) }},
	{"bfe.u64 %ld, %la, 40, 12;", "l", integers, func(a, _, _ uint64) uint64 { return a >> 40 & 4095 }},
	{"bfe.u32 %rd, %ra, 0, 0;", "r", integers, func(_, _, _ uint64) uint64 { return 0 }},
	{"bfi.b32 %rd, %ra, %rb, 8, 4;", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u32(b)&^0xf00 | u32(a)&15<<8) }},
	{"bfi.b64 %ld, %la, %lb, 32, 32;", "l", integers, func(a, b, _ uint64) uint64 { return b&0xffffffff | a<<32 }},
	{"brev.b32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(u32(a))) }},
	{"clz.b32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros32(u32(a))) }},
	{"clz.b64 %rd, %la;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a)) }},
	{"popc.b32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount32(u32(a))) }},
	{"popc.b64 %rd, %la;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }},
	{"bfind.u32 %rd, %ra;", "r", integers, func(a, _, _ uint64) uint64 { return uint64(uint32(bits.Len32(u32(a)) - 1)) }},
	{"prmt.b32 %rd, %ra, %rb, 0x7410;", "r", integers, func(a, b, _ uint64) uint64 { return a&0xff | a&0xff00 | b&0xff<<16 | b>>24&0xff<<24 }},
	{"prmt.b32 %rd, %ra, %rb, 0x5432;", "r", integers, func(a, b, _ uint64) uint64 { return a>>16&0xffff | b&0xffff<<16 }},
	{"prmt.b32 %rd, %ra, 0, 0xbb33;", "r", integers, func(a, _, _ uint64) uint64 {
		top, sign := a>>24&255, -(a>>31&1)&0xffff
		return top | top<<8 | sign<<16
	}},

	{"setp.lt.s32 %pd, %ra, %rb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(s32(a) < s32(b)) }},
	{"setp.lt.u32 %pd, %ra, %rb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(u32(a) < u32(b)) }},
	{"setp.ge.s64 %pd, %la, %lb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(int64(a) >= int64(b)) }},
	{"setp.hi.u64 %pd, %la, %lb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(a > b) }},
	{"setp.eq.b32 %pd, %ra, %rb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(u32(a) == u32(b)) }},
	{"setp.ne.s16 %pd, %ha, %hb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(u16(a) != u16(b)) }},
	{"setp.le.s16 %pd, %ha, %hb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(s16(a) <= s16(b)) }},
	{"setp.gt.u16 %pd, %ha, %hb;", "p", integers, func(a, b, _ uint64) uint64 { return boolean(u16(a) > u16(b)) }},
	{"setp.lt.and.s32 %pd, %ra, %rb, %pc;", "p", integers, func(a, b, c uint64) uint64 { return boolean(s32(a) < s32(b) && c != 0) }},
	{"setp.lt.or.s32 %pd|%pa2, %ra, %rb, !%pc; selp.u32 %rd, 2, 0, %pa2; selp.u32 %ra, 1, 0, %pd; add.u32 %rd, %rd, %ra;", "r", integers, func(a, b, c uint64) uint64 {
		return boolean(s32(a) < s32(b) || c == 0) + 2*boolean(s32(a) >= s32(b) || c == 0)
	}},
	{"set.lt.u32.s32 %rd, %ra, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return -boolean(s32(a) < s32(b)) & 0xffffffff }},
	{"selp.b32 %rd, %ra, %rb, %pc;", "r", integers, func(a, b, c uint64) uint64 {
		if c != 0 {
			return uint64(u32(a))
		}
		return uint64(u32(b))
	}},
	{"slct.u32.s32 %rd, %ra, %rb, %rc;", "r", integers, func(a, b, c uint64) uint64 {
		if s32(c) >= 0 {
			return uint64(u32(a))
		}
		return uint64(u32(b))
	}},
	{"@%pa mov.u32 %rd, %rb;", "r", integers, func(a, b, _ uint64) uint64 { return boolean(a != 0) * uint64(u32(b)) }},
	{"@!%pa mov.u64 %ld, %lb;", "l", integers, func(a, b, _ uint64) uint64 { return boolean(a == 0) * b }},
	{"mov.b64 %ld, {%ra, %rb};", "l", integers, func(a, b, _ uint64) uint64 { return uint64(u32(a)) | b<<32 }},
	{"mov.b64 {%ra, %rd}, %lb;", "r", integers, func(_, b, _ uint64) uint64 { return b >> 32 }},
	{"mov.b64 {%rd, _}, %lb;", "r", integers, func(_, b, _ uint64) uint64 { return uint64(u32(b)) }},
	{"mov.b32 %rd, {%ha, %hb};", "r", integers, func(a, b, _ uint64) uint64 { return uint64(u16(a)) | uint64(u16(b))<<16 }},
	{"mov.b32 {%ha, %hd}, %rb;", "h", integers, func(_, b, _ uint64) uint64 { return uint64(u16(b >> 16)) }},
	{"{ .reg .b32 %rd2; mov.u32 %rd2, %ra; mov.u32 %rd, %rd2; }", "r", integers, func(a, _, _ uint64) uint64 { return uint64(u32(a)) }},
	{"mov.u32 %rd, %tid.x; mov.u32 %ra, %ntid.x; sub.u32 %rd, %rd, %ra; shr.u32 %rd, %rd, 31;", "r", integers, func(_, _, _ uint64) uint64 { return 1 }},
	{"mov.u32 %ra, %tid.x; mov.u32 %rb, %laneid; and.b32 %ra, %ra, 31; sub.u32 %rd, %ra, %rb;", "r", integers, func(_, _, _ uint64) uint64 { return 0 }},
	{"mov.u64 %la, %globaltimer; mov.u64 %lb, %clock64; setp.ge.u64 %pd, %lb, %la;", "p", integers, func(_, _, _ uint64) uint64 { return 1 }},
}

func signedHigh(a, b, _ uint64) uint64 {
	h, _ := bits.Mul64(a, b)
	if int64(a) < 0 {
		h -= b
	}
	if int64(b) < 0 {
		h -= a
	}
	return h
}

// check compares an instruction with its meaning on all operands.
func (x op) check(t *testing.T) {
	t.Helper()
	operands := triples(x.list)
	kind := strings.ToLower(x.result)
	if kind == "f" {
		kind = map[string]string{"f": "r", "F": "l"}[x.result]
	}
	failures := 0
	for i, got := range evaluate(t, x.body, kind, operands) {
		o := operands[i]
		want := x.want(o[0], o[1], o[2])
		same := got == want
		switch x.result {
		case "f":
			same = same || f32(got) != f32(got) && f32(want) != f32(want)
		case "F":
			same = same || f64(got) != f64(got) && f64(want) != f64(want)
		case "H":
			same = same || math.IsNaN(half(got)) && math.IsNaN(half(want))
		}
		if !same {
			if failures++; failures <= 3 {
				t.Errorf("%s of %#x, %#x, %#x: %#x, want %#x", x.body, o[0], o[1], o[2], got, want)
			}
		}
	}
}

func TestIntegerInstructions(t *testing.T) {
	for _, x := range ops {
		t.Run(strings.Fields(x.body)[0], x.check)
	}
}
