// Device code without NVIDIA's headers: clang's own builtins and inline PTX. Every kernel has exactly one parameter, a
// struct by value called P with the kernel's name in front, whose twin in Go has the same fields in the same order.
#pragma once

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device)) __attribute__((always_inline)) inline
#define SHARED __attribute__((shared))
#define BOUNDS(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

DEVICE u32 tx() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 ty() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE u32 bx() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 by() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE u32 bz() { return __nvvm_read_ptx_sreg_ctaid_z(); }
DEVICE u32 bdx() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 gdx() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE u32 gdy() { return __nvvm_read_ptx_sreg_nctaid_y(); }
DEVICE u32 lane() { return tx() & 31; }
DEVICE void sync() { __syncthreads(); }

// Element types, as in tensor.DType.
enum { F32, BF16, FP16, C64 };

DEVICE float bits(u32 x) { return __builtin_bit_cast(float, x); }
DEVICE u32 bits(float x) { return __builtin_bit_cast(u32, x); }
// Whether x is larger than y; a NaN is larger than any number.
DEVICE bool exceeds(float x, float y) { return x > y || (x != x && y == y); }
DEVICE float from16(u16 x, int dtype) {
	float r;
	if (dtype == BF16) return bits((u32)x << 16);
	asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
	return r;
}
// Rounds to the nearest, ties to even. A bf16 conversion in integers runs on every device and keeps NaN a NaN.
DEVICE u16 to16(float x, int dtype) {
	if (dtype == BF16) {
		u32 b = bits(x);
		if ((b & 0x7fffffff) > 0x7f800000) return (u16)(b >> 16 | 0x40);
		return (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
	}
	u16 r;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
	return r;
}
DEVICE float load(const void *p, i64 i, int dtype) {
	return dtype == F32 ? ((const float *)p)[i] : from16(((const u16 *)p)[i], dtype);
}
DEVICE void store(void *p, i64 i, int dtype, float x) {
	if (dtype == F32) ((float *)p)[i] = x;
	else ((u16 *)p)[i] = to16(x, dtype);
}

DEVICE float shuffleDown(float v, int d) {
	float r;
	asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, -1;" : "=f"(r) : "f"(v), "r"(d));
	return r;
}
DEVICE float shuffleXor(float v, int mask) {
	float r;
	asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(r) : "f"(v), "r"(mask));
	return r;
}
// The sum over a warp, in a fixed order, in every lane.
DEVICE float warpSum(float v) {
	for (int d = 16; d; d >>= 1) v += shuffleXor(v, d);
	return v;
}
// The sum over a block of a multiple of 32 threads, in a fixed order, in every thread. scratch holds 32 numbers.
DEVICE float blockSum(float v, float *scratch) {
	v = warpSum(v);
	u32 warps = (bdx() + 31) >> 5;
	sync();
	if (lane() == 0) scratch[tx() >> 5] = v;
	sync();
	float s = 0;
	for (u32 w = 0; w < warps; w++) s += scratch[w];
	return s;
}
