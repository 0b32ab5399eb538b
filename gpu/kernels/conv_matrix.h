// The ways of tile.h to multiply by matrix instructions. Instructions may take k in any order that is the same for
// both operands: a lane takes neighbours in memory.
#pragma once
#include "conv_mma.h"
#include "tile.h"

// Sums of a warp's part of a tile: 16×8 numbers in each instruction.
template <class Tile_> struct Fragments {
	typedef Tile_ T;
	enum { MI = T::WTM / 16, NI = T::WTN / 8 };
	float c[MI][NI][4];
	DEVICE Fragments() {
#pragma unroll
		for (int i = 0; i < MI; i++)
#pragma unroll
			for (int j = 0; j < NI; j++)
#pragma unroll
				for (int q = 0; q < 4; q++) c[i][j][q] = 0;
	}
	// to[n·pitch + m] = c
	DEVICE void put(float *to, int pitch, int m, int n) {
		int g = (int)lane() >> 2, t = (int)lane() & 3;
#pragma unroll
		for (int i = 0; i < MI; i++)
#pragma unroll
			for (int j = 0; j < NI; j++)
#pragma unroll
				for (int q = 0; q < 4; q++) to[(n + 8 * j + 2 * t + (q & 1)) * pitch + m + 16 * i + g + 8 * (q >> 1)] = c[i][j][q];
	}
};

// Numbers of 16 bits. Memory: A as [m][k], B as [n][k].
template <class Tile_> struct Half : Fragments<Tile_> {
	typedef Store2 S;
	typedef Tile_ T;
	typedef Fragments<T> F;
	enum { BK = T::BK, PITCH = BK + 16, WORDS = (T::BM + T::BN) * PITCH / 2 };
	template <class P> static DEVICE int kind(const P &p) { return p.type; }
	static DEVICE void putA(float *s, int m, int k, u16 v, int) { ((u16 *)s)[m * PITCH + k] = v; }
	static DEVICE void putB(float *s, int n, int k, u16 v, int) { ((u16 *)s)[(T::BM + n) * PITCH + k] = v; }
	// Words of k, k+1 and of k+2, k+3 with k = 4t.
	static DEVICE void pair(u32 *lo, u32 *hi, const float *s, int row, int k) {
		u64 v = *(const u64 *)((const u16 *)s + (row + ((int)lane() >> 2)) * PITCH + k + 4 * ((int)lane() & 3));
		*lo = (u32)v, *hi = (u32)(v >> 32);
	}
	DEVICE void multiply(const float *s, int m, int n, int group, int kind) {
#pragma unroll
		for (int q = 0; q < BK / 16 / T::KG; q++) {
			int k = (q * T::KG + group) * 16;
			u32 a[F::MI][4], b[F::NI][2];
#pragma unroll
			for (int i = 0; i < F::MI; i++) {
				pair(&a[i][0], &a[i][2], s, m + 16 * i, k);
				pair(&a[i][1], &a[i][3], s, m + 16 * i + 8, k);
			}
#pragma unroll
			for (int j = 0; j < F::NI; j++) pair(&b[j][0], &b[j][1], s, T::BM + n + 8 * j, k);
#if __CUDA_ARCH__ >= 800
			if (kind == BF16) {
#pragma unroll
				for (int i = 0; i < F::MI; i++)
#pragma unroll
					for (int j = 0; j < F::NI; j++) mmaBF16(this->c[i][j], a[i], b[j]);
				continue;
			}
#endif
#pragma unroll
			for (int i = 0; i < F::MI; i++)
#pragma unroll
				for (int j = 0; j < F::NI; j++) mmaFP16(this->c[i][j], a[i], b[j]);
		}
	}
};

#if __CUDA_ARCH__ >= 800
// Numbers of float32, as TF32 or as sums of two bf16. Memory: A as [m][k], B as [n][k].
template <class Tile_> struct Rounded : Fragments<Tile_> {
	typedef Store4 S;
	typedef Tile_ T;
	typedef Fragments<T> F;
	enum { BK = T::BK, PITCH = BK + 8, WORDS = (T::BM + T::BN) * PITCH };
	template <class P> static DEVICE int kind(const P &p) { return p.products; }
	static DEVICE void putA(float *s, int m, int k, float v, int) { s[m * PITCH + k] = v; }
	static DEVICE void putB(float *s, int n, int k, float v, int) { s[(T::BM + n) * PITCH + k] = v; }
	struct __attribute__((aligned(8))) Two { float x, y; };
	// The numbers of k and k+1 with k = 2t.
	static DEVICE Two pair(const float *s, int row, int k) {
		return *(const Two *)(s + (row + ((int)lane() >> 2)) * PITCH + k + 2 * ((int)lane() & 3));
	}
	static DEVICE void parts(u32 *high, u32 *low, Two v) {
		float x = nearBF16(v.x), y = nearBF16(v.y);
		*high = bits(x) >> 16 | bits(y);
		*low = bits(nearBF16(v.x - x)) >> 16 | bits(nearBF16(v.y - y));
	}
	DEVICE void multiply(const float *s, int m, int n, int group, int kind) {
#pragma unroll 1
		for (int q = 0; q < BK / 8 / T::KG; q++) {
			int k = (q * T::KG + group) * 8;
			if (kind == TF32) {
				u32 a[F::MI][4], b[F::NI][2];
#pragma unroll
				for (int i = 0; i < F::MI; i++) {
					Two x = pair(s, m + 16 * i, k), y = pair(s, m + 16 * i + 8, k);
					a[i][0] = toTF32(x.x), a[i][1] = toTF32(y.x), a[i][2] = toTF32(x.y), a[i][3] = toTF32(y.y);
				}
#pragma unroll
				for (int j = 0; j < F::NI; j++) {
					Two x = pair(s, T::BM + n + 8 * j, k);
					b[j][0] = toTF32(x.x), b[j][1] = toTF32(x.y);
				}
#pragma unroll
				for (int i = 0; i < F::MI; i++)
#pragma unroll
					for (int j = 0; j < F::NI; j++) mmaTF32(this->c[i][j], a[i], b[j]);
				continue;
			}
			u32 high[F::MI][2], low[F::MI][2];
#pragma unroll
			for (int i = 0; i < F::MI; i++)
#pragma unroll
				for (int h = 0; h < 2; h++) parts(&high[i][h], &low[i][h], pair(s, m + 16 * i + 8 * h, k));
#pragma unroll
			for (int j = 0; j < F::NI; j++) {
				u32 bh, bl;
				parts(&bh, &bl, pair(s, T::BM + n + 8 * j, k));
#pragma unroll
				for (int i = 0; i < F::MI; i++) {
					mmaBF16of8(this->c[i][j], low[i], bh);
					mmaBF16of8(this->c[i][j], high[i], bl);
					mmaBF16of8(this->c[i][j], high[i], bh);
				}
			}
		}
	}
};
#endif
