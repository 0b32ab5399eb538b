// Convolutions of images as products of matrices by tiles, whose operands are gathered from the images.
//
//	gather:  m = pixels of the small grid, n = s, k = (l, ky, kx)
//	scatter: m = pixels of the large grid of one parity, n = l, k = (s, the taps that reach this parity)
//	weights: m = s, n = (l, ky, kx), k = pixels of the small grid
//
// The kernels are 3×3 with stride 1, or 4×4 with stride 2, of any padding.
#pragma once
#include "tile.h"

enum { GATHER, SCATTER, WEIGHTS };

struct ConvTileP {
	const void *x, *w, *bias; // the images and the weights; for weights the small and the large grid
	void *y;
	float *partial; // sums of the parts of k, each like y; null if there is one part
	ConvG g;
	i32 m, n, k;
	i32 depth, parts; // k of a part, a multiple of BK
	i32 total;        // elements of y
	i32 type, outType, biasType, relu, products;
};

template <class E, int MODE, int KS> DEVICE void convTile(const ConvTileP &p) {
	typedef typename E::T Tile;
	typedef typename E::S Store;
	typedef typename Store::T T;
	enum {
		BM = Tile::BM, BN = Tile::BN, BK = E::BK, KG = Tile::KG, STRIDE = KS == 4 ? 2 : 1, KK = KS * KS,
		WIDE = MODE == SCATTER && KS == 4 ? 2 : KS, TAPS = WIDE * WIDE, // of one parity
		PITCH = BM + 4, WORDS = most(E::WORDS, KG * BN * PITCH)
	};
	SHARED __attribute__((aligned(16))) float memory[WORDS];
	const ConvG &g = p.g;
	const T *px = (const T *)p.x, *pw = (const T *)p.w;
	int t = (int)tx(), m0 = (int)bx() * BM, n0 = (int)by() * BN;
	int part = (int)bz() % p.parts, parity = (int)bz() / p.parts, oddY = parity >> 1, oddX = parity & 1;
	int begin = part * p.depth, end = begin + p.depth < p.k ? begin + p.depth : p.k;

	// The pixel of this thread's column of A, and of the result.
	int m = m0 + t % BM, row = 0, column = 0, from = 0, to = 0;
	int height = MODE == GATHER ? g.hl : g.hs, width = MODE == GATHER ? g.wl : g.ws;
	bool in = m < p.m;
	if (MODE == GATHER) {
		int plane = g.hs * g.ws, image = m / plane, pixel = m - image * plane, i = pixel / g.ws;
		row = i * STRIDE - g.pad, column = (pixel - i * g.ws) * STRIDE - g.pad;
		from = image * g.cl * height * width, to = image * g.cs * plane + pixel;
	} else if (MODE == SCATTER) {
		int rows = (g.hl + STRIDE - 1) / STRIDE, columns = (g.wl + STRIDE - 1) / STRIDE, plane = rows * columns;
		int image = m / plane, pixel = m - image * plane, i = pixel / columns, j = pixel - i * columns;
		int r = i, c = j;
		row = i + g.pad, column = j + g.pad;
		if (STRIDE == 2) {
			int firstY = (oddY + g.pad) & 1, firstX = (oddX + g.pad) & 1;
			r = firstY + 2 * i, c = firstX + 2 * j;
			row = (firstY + g.pad - oddY) / 2 + i, column = (firstX + g.pad - oddX) / 2 + j;
		}
		in = in && r < g.hl && c < g.wl;
		from = image * g.cs * height * width, to = (image * g.cl * g.hl + r) * g.wl + c;
	}

	typedef Share<BK, BM> ByM;       // rows k, columns m
	typedef Share<BM, BK> ByKofA;    // rows m, columns k
	typedef Share<BN, BK> ByK;       // rows n, columns k
	enum { NA = MODE == WEIGHTS ? ByKofA::N : ByM::N, NB = ByK::N };
	T a[NA], b[NB];

	auto fetch = [&](int k0) __attribute__((always_inline)) {
		int k = k0 + t % BK;
		bool inK = k < end;
		int image = 0, pixel = k, i = 0, j = 0;
		if (MODE == WEIGHTS) {
			int plane = g.hs * g.ws;
			image = k / plane, pixel = k - image * plane, i = pixel / g.ws, j = pixel - i * g.ws;
#pragma unroll
			for (int q = 0; q < NA; q++) {
				int s = m0 + t / BK + q * ByKofA::STEP;
				a[q] = inK && s < p.m ? px[(image * g.cs + s) * plane + pixel] : (T)0;
			}
		} else {
#pragma unroll
			for (int q = 0; q < NA; q++) {
				int at = k0 + t / BM + q * ByM::STEP, channel = at / TAPS, tap = at % TAPS;
				int y = MODE == GATHER ? row + tap / WIDE : row - tap / WIDE, x = MODE == GATHER ? column + tap % WIDE : column - tap % WIDE;
				bool ok = in && at < end && (u32)y < (u32)height && (u32)x < (u32)width;
				a[q] = ok ? px[from + (channel * height + y) * width + x] : (T)0;
			}
		}
		int channel = k / TAPS, tap = k % TAPS;
		int weight = STRIDE == 2 ? (oddY + 2 * (tap / WIDE)) * KS + oddX + 2 * (tap % WIDE) : tap;
#pragma unroll
		for (int q = 0; q < NB; q++) {
			int n = n0 + t / BK + q * ByK::STEP;
			bool ok = inK && n < p.n;
			int at;
			if (MODE == GATHER) at = n * p.k + k;
			else if (MODE == SCATTER) at = (channel * g.cl + n) * KK + weight;
			else {
				int l = n / KK, tapN = n % KK, y = i * STRIDE - g.pad + tapN / KS, x = j * STRIDE - g.pad + tapN % KS;
				ok = ok && (u32)y < (u32)g.hl && (u32)x < (u32)g.wl;
				at = ((image * g.cl + l) * g.hl + y) * g.wl + x;
			}
			b[q] = ok ? pw[at] : (T)0;
		}
	};

	E sums;
	int kind = E::kind(p);
	int warp = t >> 5, group = warp % KG, wm = warp / KG % Tile::WM * Tile::WTM, wn = warp / KG / Tile::WM * Tile::WTN;
	for (int k0 = begin;; k0 += BK) {
		bool more = k0 < end;
		if (more) fetch(k0); // while the numbers before are multiplied
		if (k0 > begin) sums.multiply(memory, wm, wn, group, kind);
		if (!more) break;
		sync();
#pragma unroll
		for (int q = 0; q < NA; q++) {
			if (MODE == WEIGHTS) E::putA(memory, t / BK + q * ByKofA::STEP, t % BK, a[q], p.type);
			else E::putA(memory, t % BM, t / BM + q * ByM::STEP, a[q], p.type);
		}
#pragma unroll
		for (int q = 0; q < NB; q++) E::putB(memory, t / BK + q * ByK::STEP, t % BK, b[q], p.type);
		sync();
	}
	sync();
	sums.put(memory + group * BN * PITCH, PITCH, wm, wn);
	sync();
	for (int step = 0; step < BM * BN / 256; step++) {
		int e = step * 256 + t;
		int i = MODE == WEIGHTS ? e / BN : e % BM, j = MODE == WEIGHTS ? e % BN : e / BM, n = n0 + j;
		if (n >= p.n || (MODE == WEIGHTS ? m0 + i >= p.m : !in)) continue;
		float v = 0;
		for (int q = 0; q < KG; q++) v += memory[(q * BN + j) * PITCH + i];
		int at = MODE == WEIGHTS ? (m0 + i) * p.n + n : to + n * (MODE == GATHER ? g.hs * g.ws : g.hl * g.wl);
		if (p.partial) {
			p.partial[(i64)part * p.total + at] = v;
			continue;
		}
		if (p.bias) v += load(p.bias, n, p.biasType);
		store(p.y, at, p.outType, p.relu && v < 0 ? 0.f : v);
	}
}

// The tiles: for few pixels, for a few hundred, and for whole batches.
typedef Tile<16, 16, 1, 1, 8, 4, 128> Small;
typedef Tile<32, 32, 2, 1, 4, 4, 64> Medium;
typedef Tile<64, 64, 2, 2, 2, 4, 32> Large;

#if __CUDA_ARCH__ >= 800
#define CONV_BOUNDS BOUNDS(256, 2)
#else
#define CONV_BOUNDS BOUNDS(256)
#endif

// The kernels of one way to multiply: NAME_gather3_16x16 and so on.
#define CONV_MEDIUM(NAME, E, MODE, MODENAME, KS) \
	KERNEL CONV_BOUNDS NAME##_##MODENAME##KS##_32x32(ConvTileP p) { convTile<E<Medium>, MODE, KS>(p); }
#define CONV_TILES(NAME, E, MODE, MODENAME, KS) \
	CONV_MEDIUM(NAME, E, MODE, MODENAME, KS) \
	KERNEL CONV_BOUNDS NAME##_##MODENAME##KS##_16x16(ConvTileP p) { convTile<E<Small>, MODE, KS>(p); } \
	KERNEL CONV_BOUNDS NAME##_##MODENAME##KS##_64x64(ConvTileP p) { convTile<E<Large>, MODE, KS>(p); }
#define CONV_KERNELS(EACH, NAME, E, KS) \
	EACH(NAME, E, GATHER, gather, KS) \
	EACH(NAME, E, SCATTER, scatter, KS) \
	EACH(NAME, E, WEIGHTS, weights, KS)
