// Convolutions. Let the small grid be a Conv2D's output or a ConvTranspose2D's input, the large grid the other one. The
// weights are w[s][l][ky][kx], with s a channel of the small grid and l one of the large, and every product is
//
//	small[s, i] · large[l, stride·i − pad + k] · w[s][l][k]
//
//	gather:  small from large and w   (Conv2D, ConvTranspose2DGradInput)
//	scatter: large from small and w   (ConvTranspose2D, Conv2DGradInput)
//	weights: w from small and large   (both weight gradients)
#pragma once
#include "dev.h"

// Both grids and the kernel between them: images, channels, rows and columns.
struct ConvG { i32 n, cs, cl, hs, ws, hl, wl, kh, kw, stride, pad; };

// The kinds of products, as nn.Products.
enum { EXACT, BF16X3, WINOGRAD, TF32 };

// The nearest bf16, and the nearest number with the 10 bits of mantissa of TF32, halves away from 0. A NaN stays one.
DEVICE float nearBF16(float x) {
	u32 b = bits(x), near = (b + 0x7fff + (b >> 16 & 1)) & 0xffff0000;
	return bits((b & 0x7fffffff) > 0x7f800000 ? b | 0x400000 : near);
}
DEVICE float nearTF32(float x) {
	u32 b = bits(x);
	return bits((b & 0x7fffffff) > 0x7f800000 ? b | 0x400000 : (b + 0x1000) & 0xffffe000);
}

// a·b + c by the products of the parts of a and b.
DEVICE float split(float a, float b, float c) {
	float ah = nearBF16(a), bh = nearBF16(b);
	float al = nearBF16(a - ah), bl = nearBF16(b - bh);
	return ah * bh + (ah * bl + (al * bh + c));
}
DEVICE float multiply(float a, float b, float c, int products) {
	if (products == BF16X3) return split(a, b, c);
	if (products == TF32) return nearTF32(a) * nearTF32(b) + c;
	return a * b + c;
}

// Storage of 4 and of 2 bytes, widened to float. type selects between the types of 2 bytes.
struct Store4 {
	typedef float T;
	static DEVICE float widen(float v, int) { return v; }
	static DEVICE float narrow(float v, int) { return v; }
};
struct Store2 {
	typedef u16 T;
	static DEVICE float widen(u16 v, int type) {
		float h = from16(v, FP16), b = from16(v, BF16);
		return type == BF16 ? b : h;
	}
	static DEVICE u16 narrow(float v, int type) { return to16(v, type); }
};

// Four numbers from an address that is a multiple of 16 bytes.
struct __attribute__((aligned(16))) Four { float v[4]; };
DEVICE void load4(float *to, const float *from) {
	Four f = *(const Four *)from;
	for (int i = 0; i < 4; i++) to[i] = f.v[i];
}
