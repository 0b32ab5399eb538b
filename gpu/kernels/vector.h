// Four elements at a time, and sums over blocks.
#pragma once
#include "dev.h"

typedef float F4 __attribute__((ext_vector_type(4)));
typedef u32 U2 __attribute__((ext_vector_type(2)));

// Pointers that were read from memory: the compiler knows the address space of a parameter's pointers only.
#define GLOBAL __attribute__((address_space(1)))
template <class T> DEVICE const GLOBAL T *global(const void *p) { return (const GLOBAL T *)p; }
template <class T> DEVICE GLOBAL T *global(void *p) { return (GLOBAL T *)p; }

template <class T> DEVICE T least(T a, T b) { return a < b ? a : b; }

// Four 16-bit elements as they are stored.
DEVICE F4 widen(U2 x, int dtype) {
	return F4{from16((u16)x.x, dtype), from16((u16)(x.x >> 16), dtype), from16((u16)x.y, dtype), from16((u16)(x.y >> 16), dtype)};
}
// Two numbers rounded to the nearest, the first in the lower half.
DEVICE u32 pairOf(float x, float y, int dtype) {
#if __CUDA_ARCH__ >= 800
	u32 r;
	if (dtype == BF16) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
	else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
	return r;
#else
	return (u32)to16(x, dtype) | (u32)to16(y, dtype) << 16;
#endif
}
DEVICE U2 narrow(F4 x, int dtype) { return U2{pairOf(x.x, x.y, dtype), pairOf(x.z, x.w, dtype)}; }

// Elements i to i+3, with i a multiple of 4.
DEVICE F4 load4(const void *p, i64 i, int dtype) {
	if (dtype == F32) return *(const F4 *)((const float *)p + i);
	return widen(*(const U2 *)((const u16 *)p + i), dtype);
}
DEVICE void store4(void *p, i64 i, int dtype, F4 x) {
	if (dtype == F32) *(F4 *)((float *)p + i) = x;
	else *(U2 *)((u16 *)p + i) = narrow(x, dtype);
}

// The sum over a block of a multiple of 32 threads, in a fixed order, in every thread. scratch holds 32 numbers that no
// other sum of the kernel uses.
DEVICE float totalOf(float v, float *scratch) {
	v = warpSum(v);
	u32 warps = bdx() >> 5;
	if (warps == 1) return v;
	if (lane() == 0) scratch[tx() >> 5] = v;
	sync();
	return warpSum(lane() < warps ? scratch[lane()] : 0);
}
