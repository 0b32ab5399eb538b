// Products of matrices by tiles, C[m,n] = Σ A[m,k]·B[k,n]. A block computes a tile of C. Its warps divide the tile, and k in KG
// parts whose sums they add at the end. The blocks may divide k as well; then a second kernel adds their sums.
#pragma once
#include "conv.h"

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
	template <class P> static DEVICE int kind(const P &) { return 0; }
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

// The sums of a tile over k from begin to end, left in memory as KG parts of BN rows of PITCH numbers; tileSum adds the parts.
// The view has the operands: its types A and B are the thread's Share of each, in which k is the columns if A_BY_K or
// B_BY_K, else the rows; fetch reads them from k0 on, and prepare, which other threads may wait for, comes a step before.
template <class E> struct TileMemory {
	enum { PITCH = E::T::BM + 4, WORDS = most(E::WORDS, E::T::KG * E::T::BN * PITCH) };
};
template <class E, class View> DEVICE void tileProduct(View &view, float *memory, int begin, int end, int type, int kind) {
	typedef typename E::T Tile;
	typedef typename E::S::T T;
	typedef typename View::A A;
	typedef typename View::B B;
	enum { BM = Tile::BM, BN = Tile::BN, BK = E::BK, KG = Tile::KG, PITCH = TileMemory<E>::PITCH };
	int t = (int)tx(), warp = t >> 5, group = warp % KG, wm = warp / KG % Tile::WM * Tile::WTM, wn = warp / KG / Tile::WM * Tile::WTN;
	T a[A::N], b[B::N];
	E sums;
	for (int k0 = begin;; k0 += BK) {
		bool more = k0 < end;
		if (more) view.fetch(k0, a, b); // while the numbers before are multiplied
		if (k0 > begin) sums.multiply(memory, wm, wn, group, kind);
		if (!more) break;
		sync();
#pragma unroll
		for (int q = 0; q < A::N; q++) {
			if (View::A_BY_K) E::putA(memory, t / BK + q * A::STEP, t % BK, a[q], type);
			else E::putA(memory, t % BM, t / BM + q * A::STEP, a[q], type);
		}
#pragma unroll
		for (int q = 0; q < B::N; q++) {
			if (View::B_BY_K) E::putB(memory, t / BK + q * B::STEP, t % BK, b[q], type);
			else E::putB(memory, t % BN, t / BN + q * B::STEP, b[q], type);
		}
		view.prepare(k0 + BK);
		sync();
	}
	sync();
	sums.put(memory + group * BN * PITCH, PITCH, wm, wn);
	sync();
}
template <class E> DEVICE float tileSum(const float *memory, int i, int j) {
	float v = 0;
	for (int q = 0; q < E::T::KG; q++) v += memory[(q * E::T::BN + j) * TileMemory<E>::PITCH + i];
	return v;
}
