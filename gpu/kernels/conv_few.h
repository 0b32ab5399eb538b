// Convolutions of many pixels and few channels: every thread computes all channels of some pixels, with the weights in
// shared memory.
#pragma once
#include "conv.h"

struct ConvFewP {
	const void *x, *w, *bias;
	void *y;
	float *partial; // of conv_few_weights
	i32 images, in, out; // channels
	i32 hx, wx, hy, wy;
	i32 pad;     // of x: y[i,j] uses x from [i−pad, j−pad] on
	i32 flipped; // the weights are w[in][out] with their taps from the last to the first, not w[out][in]
	i32 rows;    // of conv_few_weights: rows of a block
	i32 type, biasType, relu; // type is that of x, w and y, but of the sums of weights
};

enum { MOST_IN = 64, MOST_DOWN = 16 };

// y[o,i,j] = bias[o] + Σ x[c, i−pad+ky, j−pad+kx] · w[o,c,ky,kx] of 3×3 taps, stride 1: a thread has PX pixels of a column
// and OUT channels.
template <class Store, int OUT, int PX> DEVICE void few3(const ConvFewP &p) {
	typedef typename Store::T T;
	SHARED __attribute__((aligned(16))) float weights[MOST_IN * 9 * OUT];
	int channel = (int)by() * OUT, image = (int)bz();
	int across = (p.wy + 127) / 128, strip = (int)bx() / across;
	int i = strip * PX, j = ((int)bx() - strip * across) * 128 + (int)tx();
	float sum[PX][OUT];
#pragma unroll
	for (int q = 0; q < PX; q++)
#pragma unroll
		for (int o = 0; o < OUT; o++) sum[q][o] = 0;
	int row = i - p.pad, column = j - p.pad;
	const T *x = (const T *)p.x + (i64)image * p.in * p.hx * p.wx;
	bool inside[3];
#pragma unroll
	for (int kx = 0; kx < 3; kx++) inside[kx] = (u32)(column + kx) < (u32)p.wx;
	T v[PX + 2][3], next[PX + 2][3];
	auto fetch = [&](int c) __attribute__((always_inline)) {
		const T *from = x + ((i64)c * p.hx + row) * p.wx + column;
#pragma unroll
		for (int y = 0; y < PX + 2; y++)
#pragma unroll
			for (int kx = 0; kx < 3; kx++) next[y][kx] = inside[kx] && (u32)(row + y) < (u32)p.hx ? from[y * p.wx + kx] : (T)0;
	};
	fetch(0);
	const T *w = (const T *)p.w;
	for (int e = (int)tx(); e < p.in * 9 * OUT; e += 128) {
		int o = channel + e % OUT, t = e / OUT % 9, c = e / OUT / 9;
		int at = p.flipped ? (c * p.out + o) * 9 + 8 - t : (o * p.in + c) * 9 + t;
		weights[e] = o < p.out ? Store::widen(w[at], p.type) : 0;
	}
	sync();
	if (j >= p.wy) return;
#pragma unroll 1
	for (int c = 0; c < p.in; c++) {
#pragma unroll
		for (int y = 0; y < PX + 2; y++)
#pragma unroll
			for (int kx = 0; kx < 3; kx++) v[y][kx] = next[y][kx];
		if (c + 1 < p.in) fetch(c + 1); // while this channel is multiplied
#pragma unroll
		for (int t = 0; t < 9; t++) {
			float k[OUT];
#pragma unroll
			for (int o = 0; o < OUT; o++) k[o] = weights[(c * 9 + t) * OUT + o];
#pragma unroll
			for (int q = 0; q < PX; q++) {
				float value = Store::widen(v[q + t / 3][t % 3], p.type);
#pragma unroll
				for (int o = 0; o < OUT; o++) sum[q][o] += value * k[o];
			}
		}
	}
#pragma unroll
	for (int o = 0; o < OUT; o++) {
		if (channel + o >= p.out) continue;
		float bias = p.bias ? load(p.bias, channel + o, p.biasType) : 0;
		i64 at = ((i64)(image * p.out + channel + o) * p.hy + i) * p.wy + j;
#pragma unroll
		for (int q = 0; q < PX; q++) {
			if (i + q >= p.hy) continue;
			float v = sum[q][o] + bias;
			((T *)p.y)[at + (i64)q * p.wy] = Store::narrow(p.relu && v < 0 ? 0.f : v, p.type);
		}
	}
}
#define FEW3(SIZE, OUT) \
	KERNEL BOUNDS(128) conv_few3_##SIZE##_##OUT##_1(ConvFewP p) { few3<Store##SIZE, OUT, 1>(p); } \
	KERNEL BOUNDS(128) conv_few3_##SIZE##_##OUT##_4(ConvFewP p) { few3<Store##SIZE, OUT, 4>(p); }

// Partial sums of w[s,l,ky,kx] = Σ y[s,i,j] · x[l, i−pad+ky, j−pad+kx], of 3×3 taps, stride 1, with x the large grid and y
// the small one, of p.out channels: a block has some rows of 128 columns, one channel of x and SMALL of y.
template <class Store, int SMALL> DEVICE void fewWeights3(const ConvFewP &p) {
	typedef typename Store::T T;
	SHARED float parts[4][9 * SMALL];
	int across = (p.wy + 127) / 128, down = (p.hy + p.rows - 1) / p.rows, part = (int)bx();
	int image = part / (across * down), strip = part % (across * down) / across;
	int first = strip * p.rows, j = part % across * 128 + (int)tx(), end = first + p.rows < p.hy ? first + p.rows : p.hy;
	int l = (int)by(), s = (int)bz() * SMALL;
	float sum[SMALL][9];
#pragma unroll
	for (int q = 0; q < SMALL; q++)
#pragma unroll
		for (int t = 0; t < 9; t++) sum[q][t] = 0;
	if (j < p.wy) {
		const T *x = (const T *)p.x + (i64)(image * p.in + l) * p.hx * p.wx + j - p.pad;
		const T *y = (const T *)p.w + (i64)(image * p.out + s) * p.hy * p.wy + j;
		bool inside[3], has[SMALL];
#pragma unroll
		for (int kx = 0; kx < 3; kx++) inside[kx] = (u32)(j - p.pad + kx) < (u32)p.wx;
#pragma unroll
		for (int q = 0; q < SMALL; q++) has[q] = s + q < p.out;
		// Four rows of y at a time, with the six of x that they meet.
		for (int i = first; i < end; i += 4) {
			T v[6][3], g[4][SMALL];
#pragma unroll
			for (int r = 0; r < 6; r++)
#pragma unroll
				for (int kx = 0; kx < 3; kx++) {
					int at = i - p.pad + r;
					v[r][kx] = inside[kx] && (u32)at < (u32)p.hx ? x[(i64)at * p.wx + kx] : (T)0;
				}
#pragma unroll
			for (int r = 0; r < 4; r++)
#pragma unroll
				for (int q = 0; q < SMALL; q++) g[r][q] = has[q] && i + r < end ? y[((i64)q * p.hy + i + r) * p.wy] : (T)0;
#pragma unroll
			for (int r = 0; r < 4; r++)
#pragma unroll
				for (int q = 0; q < SMALL; q++)
#pragma unroll
					for (int t = 0; t < 9; t++) sum[q][t] += Store::widen(g[r][q], p.type) * Store::widen(v[r + t / 3][t % 3], p.type);
		}
	}
#pragma unroll
	for (int q = 0; q < SMALL; q++)
#pragma unroll
		for (int t = 0; t < 9; t++) {
			float v = warpSum(sum[q][t]);
			if (lane() == 0) parts[tx() >> 5][q * 9 + t] = v;
		}
	sync();
	int e = (int)tx(), q = e / 9;
	if (e >= 9 * SMALL || s + q >= p.out) return;
	float v = parts[0][e] + parts[1][e] + parts[2][e] + parts[3][e];
	p.partial[((i64)part * p.out + s + q) * p.in * 9 + l * 9 + e % 9] = v;
}
#define FEW_WEIGHTS3(SIZE, SMALL) \
	KERNEL BOUNDS(128) conv_few_weights3_##SIZE##_##SMALL(ConvFewP p) { fewWeights3<Store##SIZE, SMALL>(p); }

// y[o,r,c] = bias[o] + Σ x[s,i,j] · w[s,o,ky,kx] over 2i−1+ky = r and 2j−1+kx = c, of 4×4 taps, with y of twice the sides
// of x: a thread has the four pixels [2i..2i+1, 2j..2j+1] of OUT channels.
template <class Store, int OUT> DEVICE void few4(const ConvFewP &p) {
	typedef typename Store::T T;
	SHARED __attribute__((aligned(16))) float weights[MOST_IN * 16 * OUT];
	int channel = (int)by() * OUT, image = (int)bz();
	int pixel = (int)bx() * 128 + (int)tx(), i = pixel / p.wx, j = pixel - i * p.wx;
	float sum[OUT][2][2];
#pragma unroll
	for (int o = 0; o < OUT; o++)
#pragma unroll
		for (int q = 0; q < 4; q++) sum[o][q >> 1][q & 1] = 0;
	bool rows[3], columns[3];
#pragma unroll
	for (int d = 0; d < 3; d++) rows[d] = (u32)(i + d - 1) < (u32)p.hx, columns[d] = (u32)(j + d - 1) < (u32)p.wx;
	const T *x = (const T *)p.x + (i64)image * p.in * p.hx * p.wx + pixel - p.wx - 1;
	T next[9];
	auto fetch = [&](int c) __attribute__((always_inline)) {
		const T *from = x + (i64)c * p.hx * p.wx;
#pragma unroll
		for (int d = 0; d < 9; d++) next[d] = rows[d / 3] && columns[d % 3] ? from[d / 3 * p.wx + d % 3] : (T)0;
	};
	fetch(0);
	const T *w = (const T *)p.w;
	for (int e = (int)tx(); e < p.in * 16 * OUT; e += 128) {
		int t = e % 16, o = channel + e / 16 % OUT, c = e / 16 / OUT;
		weights[e] = o < p.out ? Store::widen(w[(c * p.out + o) * 16 + t], p.type) : 0;
	}
	sync();
	if (i >= p.hx) return;
#pragma unroll 1
	for (int c = 0; c < p.in; c++) {
		float v[3][3];
#pragma unroll
		for (int d = 0; d < 9; d++) v[d / 3][d % 3] = Store::widen(next[d], p.type);
		if (c + 1 < p.in) fetch(c + 1); // while this channel is multiplied
#pragma unroll
		for (int o = 0; o < OUT; o++) {
			float k[16];
#pragma unroll
			for (int t = 0; t < 16; t += 4) load4(k + t, weights + (c * OUT + o) * 16 + t);
			// Row 2i takes tap 1 of x[i] and 3 of x[i−1], row 2i+1 tap 2 of x[i] and 0 of x[i+1]; columns as well.
#pragma unroll
			for (int a = 0; a < 2; a++)
#pragma unroll
				for (int b = 0; b < 2; b++)
					sum[o][a][b] += v[1][1] * k[(1 + a) * 4 + 1 + b] + v[1][2 * b] * k[(1 + a) * 4 + 3 - 3 * b] +
						v[2 * a][1] * k[(3 - 3 * a) * 4 + 1 + b] + v[2 * a][2 * b] * k[(3 - 3 * a) * 4 + 3 - 3 * b];
		}
	}
#pragma unroll
	for (int o = 0; o < OUT; o++) {
		if (channel + o >= p.out) continue;
		float bias = p.bias ? load(p.bias, channel + o, p.biasType) : 0;
#pragma unroll
		for (int q = 0; q < 4; q++) {
			float v = sum[o][q >> 1][q & 1] + bias;
			i64 at = ((i64)(image * p.out + channel + o) * p.hy + 2 * i + (q >> 1)) * p.wy + 2 * j + (q & 1);
			((T *)p.y)[at] = Store::narrow(p.relu && v < 0 ? 0.f : v, p.type);
		}
	}
}
#define FEW4(SIZE, OUT) \
	KERNEL BOUNDS(128) conv_few4_##SIZE##_##OUT(ConvFewP p) { few4<Store##SIZE, OUT>(p); }

// y[o,i,j] = bias[o] + Σ x[c, 2i−pad+ky, 2j−pad+kx] · w[o,c,ky,kx] of 4×4 taps: a thread has a pixel of OUT channels.
template <class Store, int OUT> DEVICE void fewDown4(const ConvFewP &p) {
	typedef typename Store::T T;
	SHARED __attribute__((aligned(16))) float weights[MOST_DOWN * 16 * OUT];
	int channel = (int)by() * OUT, image = (int)bz();
	int pixel = (int)bx() * 128 + (int)tx(), i = pixel / p.wy, j = pixel - i * p.wy;
	int row = 2 * i - p.pad, column = 2 * j - p.pad;
	bool rows[4], columns[4];
#pragma unroll
	for (int d = 0; d < 4; d++) rows[d] = (u32)(row + d) < (u32)p.hx, columns[d] = (u32)(column + d) < (u32)p.wx;
	const T *x = (const T *)p.x + ((i64)image * p.in * p.hx + row) * p.wx + column;
	T next[16];
	auto fetch = [&](int c) __attribute__((always_inline)) {
		const T *from = x + (i64)c * p.hx * p.wx;
#pragma unroll
		for (int t = 0; t < 16; t++) next[t] = rows[t / 4] && columns[t % 4] ? from[t / 4 * p.wx + t % 4] : (T)0;
	};
	fetch(0);
	const T *w = (const T *)p.w;
	for (int e = (int)tx(); e < p.in * 16 * OUT; e += 128) {
		int o = channel + e % OUT, t = e / OUT % 16, c = e / OUT / 16;
		weights[e] = o < p.out ? Store::widen(w[(o * p.in + c) * 16 + t], p.type) : 0;
	}
	sync();
	if (i >= p.hy) return;
	float sum[OUT];
#pragma unroll
	for (int o = 0; o < OUT; o++) sum[o] = 0;
#pragma unroll 1
	for (int c = 0; c < p.in; c++) {
		float v[16];
#pragma unroll
		for (int t = 0; t < 16; t++) v[t] = Store::widen(next[t], p.type);
		if (c + 1 < p.in) fetch(c + 1); // while this channel is multiplied
#pragma unroll
		for (int t = 0; t < 16; t++)
#pragma unroll
			for (int o = 0; o < OUT; o += 4) {
				float k[4];
				load4(k, weights + (c * 16 + t) * OUT + o);
#pragma unroll
				for (int q = 0; q < 4; q++) sum[o + q] += v[t] * k[q];
			}
	}
#pragma unroll
	for (int o = 0; o < OUT; o++) {
		if (channel + o >= p.out) continue;
		float v = sum[o] + (p.bias ? load(p.bias, channel + o, p.biasType) : 0);
		((T *)p.y)[(i64)(image * p.out + channel + o) * p.hy * p.wy + pixel] = Store::narrow(p.relu && v < 0 ? 0.f : v, p.type);
	}
}

// The kernels for numbers of SIZE bytes.
#define FEW_KERNELS(SIZE) \
	FEW3(SIZE, 1) FEW3(SIZE, 2) FEW3(SIZE, 4) FEW3(SIZE, 8) \
	FEW_WEIGHTS3(SIZE, 1) FEW_WEIGHTS3(SIZE, 2) FEW_WEIGHTS3(SIZE, 4) \
	FEW4(SIZE, 2) FEW4(SIZE, 8) \
	KERNEL BOUNDS(128) conv_few_down4_##SIZE##_4(ConvFewP p) { fewDown4<Store##SIZE, 4>(p); } \
	KERNEL BOUNDS(128) conv_few_down4_##SIZE##_8(ConvFewP p) { fewDown4<Store##SIZE, 8>(p); }
