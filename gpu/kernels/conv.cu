// Convolutions of any kernel, stride and padding: a thread for each element of the result, or a warp.
#include "conv.h"

struct ConvAnyP {
	const void *x, *w, *bias;
	void *y;
	ConvG g;
	u32 count; // elements of y, below 2³¹
	i32 type, wType, outType, biasType, products, relu, up, pool;
};

// y[n,s,i,j] = Σ x[n,l, i·stride−pad+ky, j·stride−pad+kx] · w[s,l,ky,kx] + bias[s]. With up, x is half as large and has
// each pixel twice in each direction; with pool, y is half as large, of the largest of four.
KERNEL BOUNDS(256, 4) conv_gather_any(ConvAnyP p) {
	ConvG g = p.g;
	int hs = g.hs >> p.pool, ws = g.ws >> p.pool, hl = g.hl >> p.up, wl = g.wl >> p.up;
	for (u32 at = bx() * 256 + tx(); at < p.count; at += gdx() * 256) {
		int j = (int)(at % ws), i = (int)(at / (u32)ws % hs);
		u32 channel = at / ((u32)ws * hs);
		int s = (int)(channel % g.cs), n = (int)(channel / g.cs);
		float most = 0;
#pragma unroll 1
		for (int q = 0; q < 1 << 2 * p.pool; q++) {
			int row = ((i << p.pool) + (q >> 1)) * g.stride - g.pad, column = ((j << p.pool) + (q & 1)) * g.stride - g.pad;
			float sum = 0;
			for (int l = 0; l < g.cl; l++) {
				i64 x = ((i64)n * g.cl + l) * hl, w = ((i64)s * g.cl + l) * g.kh;
				for (int ky = 0; ky < g.kh; ky++) {
					int r = row + ky;
					if (r < 0 || r >= g.hl) continue;
					for (int kx = 0; kx < g.kw; kx++) {
						int c = column + kx;
						if (c < 0 || c >= g.wl) continue;
						sum = multiply(load(p.x, (x + (r >> p.up)) * wl + (c >> p.up), p.type), load(p.w, (w + ky) * g.kw + kx, p.wType), sum, p.products);
					}
				}
			}
			most = q == 0 || exceeds(sum, most) ? sum : most;
		}
		if (p.bias) most += load(p.bias, s, p.biasType);
		store(p.y, at, p.outType, p.relu && most < 0 ? 0.f : most);
	}
}

// y[n,l,r,c] = Σ x[n,s,i,j] · w[s,l,ky,kx] + bias[l], over stride·i − pad + ky = r and stride·j − pad + kx = c.
KERNEL BOUNDS(256) conv_scatter_any(ConvAnyP p) {
	ConvG g = p.g;
	for (u32 at = bx() * 256 + tx(); at < p.count; at += gdx() * 256) {
		int c = (int)(at % g.wl), r = (int)(at / (u32)g.wl % g.hl);
		u32 channel = at / ((u32)g.wl * g.hl);
		int l = (int)(channel % g.cl), n = (int)(channel / g.cl);
		int row = (r + g.pad) / g.stride, column = (c + g.pad) / g.stride;
		int firstY = (r + g.pad) % g.stride, firstX = (c + g.pad) % g.stride;
		float sum = 0;
		for (int s = 0; s < g.cs; s++) {
			i64 x = ((i64)n * g.cs + s) * g.hs, w = ((i64)s * g.cl + l) * g.kh;
			for (int ky = firstY, i = row; ky < g.kh && i >= 0; ky += g.stride, i--) {
				if (i >= g.hs) continue;
				for (int kx = firstX, j = column; kx < g.kw && j >= 0; kx += g.stride, j--) {
					if (j >= g.ws) continue;
					sum = multiply(load(p.x, (x + i) * g.ws + j, p.type), load(p.w, (w + ky) * g.kw + kx, p.wType), sum, p.products);
				}
			}
		}
		if (p.bias) sum += load(p.bias, l, p.biasType);
		store(p.y, at, p.outType, p.relu && sum < 0 ? 0.f : sum);
	}
}

// y[s,l,ky,kx] = Σ x[n,s,i,j] · w[n,l, i·stride−pad+ky, j·stride−pad+kx]: x is the small grid and w the large one. Each
// sum is that of a warp.
KERNEL BOUNDS(256) conv_weights_any(ConvAnyP p) {
	ConvG g = p.g;
	for (u32 at = bx() * 8 + (tx() >> 5); at < p.count; at += gdx() * 8) {
		int kx = (int)(at % g.kw), ky = (int)(at / (u32)g.kw % g.kh);
		u32 pair = at / ((u32)g.kw * g.kh);
		int l = (int)(pair % g.cl), s = (int)(pair / g.cl);
		i64 plane = (i64)g.hs * g.ws;
		float sum = 0;
		for (int n = 0; n < g.n; n++) {
			i64 small = ((i64)n * g.cs + s) * plane, large = ((i64)n * g.cl + l) * g.hl;
			for (int pixel = (int)lane(); pixel < plane; pixel += 32) {
				int i = pixel / g.ws, r = i * g.stride - g.pad + ky, c = (pixel - i * g.ws) * g.stride - g.pad + kx;
				if (r < 0 || r >= g.hl || c < 0 || c >= g.wl) continue;
				sum = multiply(load(p.x, small + pixel, p.type), load(p.w, (large + r) * g.wl + c, p.wType), sum, p.products);
			}
		}
		sum = warpSum(sum);
		if (lane() == 0) store(p.y, at, p.outType, sum);
	}
}

// sum[part, c] = Σ x[n,c,…] over part of the pixels: a block for each channel and part.
struct ConvBiasGradP { const void *x; float *sum; i32 n, channels, plane, part, type; };
template <class Store> DEVICE void biasGrad(const ConvBiasGradP &p) {
	enum { HELD = 8 };
	SHARED float scratch[32];
	int c = (int)bx(), first = (int)by() * p.part, end = first + p.part < p.plane ? first + p.part : p.plane;
	const typename Store::T *x = (const typename Store::T *)p.x;
	float sum = 0;
	for (int n = 0; n < p.n; n++) {
		i64 at = ((i64)n * p.channels + c) * p.plane;
		for (int i = first + (int)tx(); i < end; i += 256 * HELD) {
			typename Store::T v[HELD];
#pragma unroll
			for (int q = 0; q < HELD; q++) v[q] = i + 256 * q < end ? x[at + i + 256 * q] : (typename Store::T)0;
#pragma unroll
			for (int q = 0; q < HELD; q++) sum += Store::widen(v[q], p.type);
		}
	}
	sum = blockSum(sum, scratch);
	if (tx() == 0) p.sum[by() * p.channels + c] = sum;
}
KERNEL BOUNDS(256) conv_bias_grad4(ConvBiasGradP p) { biasGrad<Store4>(p); }
KERNEL BOUNDS(256) conv_bias_grad2(ConvBiasGradP p) { biasGrad<Store2>(p); }

// Σ partial[part, at] for 32 neighbours of a block of 128 threads, in the first warp: four groups of parts, each in order.
DEVICE float sumParts(const float *partial, u32 at, u32 total, int parts, float (*memory)[32]) {
	int group = (int)tx() >> 5;
	float sum = 0;
	if (at < total) {
		const float *from = partial + at;
#pragma unroll 8
		for (int part = group; part < parts; part += 4) sum += from[(i64)part * total];
	}
	memory[group][lane()] = sum;
	sync();
	return memory[0][lane()] + memory[1][lane()] + memory[2][lane()] + memory[3][lane()];
}

// y[i] = Σ partial[part, i] + bias[i's channel].
struct ConvFinishP {
	const float *partial;
	const void *bias;
	void *y;
	i32 total, parts, plane, channels, outType, biasType, relu;
};
KERNEL BOUNDS(128) conv_finish(ConvFinishP p) {
	SHARED float memory[4][32];
	u32 at = bx() * 32 + lane();
	float sum = sumParts(p.partial, at, p.total, p.parts, memory);
	if (tx() >= 32 || at >= p.total) return;
	if (p.bias) sum += load(p.bias, at / (u32)p.plane % (u32)p.channels, p.biasType);
	store(p.y, at, p.outType, p.relu && sum < 0 ? 0.f : sum);
}

// The sums of the parts of several arrays: a row of blocks for each.
struct ConvSum { const float *partial; float *sum; i32 total, parts; };
struct ConvSumsP { const ConvSum *each; };
KERNEL BOUNDS(128) conv_sums(ConvSumsP p) {
	SHARED float memory[4][32];
	ConvSum s = p.each[by()];
	u32 at = bx() * 32 + lane();
	if (bx() * 32 >= s.total) return;
	float sum = sumParts(s.partial, at, s.total, s.parts, memory);
	if (tx() < 32 && at < s.total) s.sum[at] = sum;
}
