#include "dev.h"

// What a device can do at most, for comparison with the kernels of plans: copies, multiplications on the registers of
// threads, and those of matrix instructions. y receives results that are never read, so that the compiler keeps them.
struct RoofP {
	float *y;
	const float *x;
	i64 n;    // numbers to copy, a multiple of 4
	i32 turns;
	float a, b;
};

KERNEL BOUNDS(256) roof_nothing(RoofP p) {}

struct alignas(16) Four { float x, y, z, w; };

KERNEL BOUNDS(256) roof_copy(RoofP p) {
	const Four *x = (const Four *)p.x;
	Four *y = (Four *)p.y;
	for (i64 i = (i64)bx() * 256 + tx(); i < p.n / 4; i += (i64)gdx() * 256) y[i] = x[i];
}

// 2·8·16 operations a thread and turn.
KERNEL BOUNDS(256) roof_fma(RoofP p) {
	float v[8];
	for (int k = 0; k < 8; k++) v[k] = (float)(tx() + k);
	for (int i = 0; i < p.turns; i++) {
#pragma unroll
		for (int j = 0; j < 16; j++) {
#pragma unroll
			for (int k = 0; k < 8; k++) v[k] = __builtin_fmaf(v[k], p.a, p.b);
		}
	}
	float s = 0;
	for (int k = 0; k < 8; k++) s += v[k];
	p.y[bx() * 256 + tx()] = s;
}

#if __CUDA_ARCH__ >= 800
// The sum of a warp's accumulators, so that every product is needed.
DEVICE void finish(const RoofP &p, float (&c)[4][4]) {
	float s = 0;
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < 4; i++) s += c[k][i];
	}
	p.y[bx() * 256 + tx()] = s;
}

DEVICE void clear(float (&c)[4][4]) {
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < 4; i++) c[k][i] = 0;
	}
}

// The kernels of 16 bit compute 4·4·2·16·8·16 operations a warp and turn.
KERNEL BOUNDS(256) roof_fp16(RoofP p) {
	float c[4][4];
	clear(c);
	u32 a0 = 0x3c003c00, b0 = tx() & 0x03ff03ff;
	for (int i = 0; i < p.turns; i++) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
#pragma unroll
			for (int k = 0; k < 4; k++) {
				asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
					: "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3]) : "r"(a0), "r"(b0));
			}
		}
	}
	finish(p, c);
}

KERNEL BOUNDS(256) roof_bf16(RoofP p) {
	float c[4][4];
	clear(c);
	u32 a0 = 0x3f803f80, b0 = tx() & 0x007f007f;
	for (int i = 0; i < p.turns; i++) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
#pragma unroll
			for (int k = 0; k < 4; k++) {
				asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
					: "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3]) : "r"(a0), "r"(b0));
			}
		}
	}
	finish(p, c);
}

// 4·4·2·16·8·8 operations a warp and turn.
KERNEL BOUNDS(256) roof_tf32(RoofP p) {
	float c[4][4];
	clear(c);
	u32 a0 = 0x3f800000, b0 = tx() << 13;
	for (int i = 0; i < p.turns; i++) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
#pragma unroll
			for (int k = 0; k < 4; k++) {
				asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
					: "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3]) : "r"(a0), "r"(b0));
			}
		}
	}
	finish(p, c);
}
#endif
