// Convolutions as products of matrices, C[m,n] = Σ A[m,k]·B[k,n], whose operands are gathered from the images. A block
// computes a tile of C. Its warps divide the tile, and k in KG parts whose sums they add at the end. The blocks may divide
// k as well; then a second kernel adds their sums.
//
//	gather:  m = pixels of the small grid, n = s, k = (l, ky, kx)
//	scatter: m = pixels of the large grid of one parity, n = l, k = (s, the taps that reach this parity)
//	weights: m = s, n = (l, ky, kx), k = pixels of the small grid
//
// The kernels are 3×3 with stride 1, or 4×4 with stride 2, of any padding.
#pragma once
#include "conv.h"

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

// A tile of BM×BN of WM×WN×KG warps of 32 = LM×LN threads.
template <int BM_, int BN_, int WM_, int WN_, int KG_, int LM_, int BK_> struct Tile {
	enum {
		BM = BM_, BN = BN_, WM = WM_, WN = WN_, KG = KG_, LM = LM_, LN = 32 / LM_, BK = BK_,
		WTM = BM / WM, WTN = BN / WN, TM = WTM / LM, TN = WTN / LN
	};
	static_assert(WM_ * WN_ * KG_ == 8, "a block has 256 threads");
};

constexpr int most(int a, int b) { return a > b ? a : b; }

// Products of float32 by fused multiply-add. Memory: A as [k][m], B as [n][k].
template <class Store, class Tile_> struct FMA {
	typedef Store S;
	typedef Tile_ T;
	enum { BK = T::BK, AP = T::BM + 4, BP = BK + 1, WORDS = BK * AP + T::BN * BP };
	float c[T::TM][T::TN];
	static DEVICE int kind(const ConvTileP &) { return 0; }
	DEVICE FMA() {
		for (int i = 0; i < T::TM; i++)
			for (int j = 0; j < T::TN; j++) c[i][j] = 0;
	}
	static DEVICE void putA(float *s, int m, int k, typename S::T v, int type) { s[k * AP + m] = S::widen(v, type); }
	static DEVICE void putB(float *s, int n, int k, typename S::T v, int type) { s[BK * AP + n * BP + k] = S::widen(v, type); }
	DEVICE void multiply(const float *s, int m, int n, int group, int) {
		const float *a = s + m + lane() % T::LM * T::TM, *b = s + BK * AP + (n + lane() / T::LM * T::TN) * BP;
#pragma unroll 2
		for (int q = 0; q < BK / T::KG; q++) {
			int k = q * T::KG + group;
			float x[T::TM], y[T::TN];
			for (int i = 0; i < T::TM; i += 4) load4(x + i, a + k * AP + i);
			for (int j = 0; j < T::TN; j++) y[j] = b[j * BP + k];
			for (int i = 0; i < T::TM; i++)
				for (int j = 0; j < T::TN; j++) c[i][j] += x[i] * y[j];
		}
	}
	// to[n·pitch + m] = c
	DEVICE void put(float *to, int pitch, int m, int n) {
		to += (n + lane() / T::LM * T::TN) * pitch + m + lane() % T::LM * T::TM;
		for (int j = 0; j < T::TN; j++)
			for (int i = 0; i < T::TM; i++) to[j * pitch + i] = c[i][j];
	}
};

// The element of a thread's fetch in a matrix of ROWS×COLUMNS, of which threads take consecutive columns first.
template <int ROWS, int COLUMNS> struct Share {
	enum { STEP = 256 / COLUMNS, N = ROWS / STEP };
	static_assert(256 % COLUMNS == 0 && ROWS % STEP == 0, "threads take whole rows");
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
