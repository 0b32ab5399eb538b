// Convolutions between one pixel and an image as large as the kernel: products of a vector and the matrix of weights
// w[s][(l, ky, kx)], and Adam with the outer product that is their gradient.
#include "adam.h"
#include "conv.h"

struct ConvDenseP {
	const void *x, *w, *bias;
	void *y;
	i32 rows, columns, taps; // columns is a multiple of 8
	i32 type, outType, biasType, relu, products;
};

// 16 bytes of numbers.
template <class T> struct __attribute__((aligned(16))) Vector { T v[16 / sizeof(T)]; };

// y[c] = Σ x[r]·w[r,c] + bias[c's channel]: a block has 32 columns, 16 bytes of a row in each thread.
template <class Store, int PRODUCTS> DEVICE void denseRow(const ConvDenseP &p) {
	typedef typename Store::T T;
	enum { N = 16 / sizeof(T), ACROSS = 32 / N, DOWN = 512 / ACROSS, HELD = 4 };
	SHARED float parts[16][32];
	int c = (int)bx() * 32 + (int)tx() % ACROSS * N;
	const T *x = (const T *)p.x, *w = (const T *)p.w + c;
	float sum[N];
	for (int i = 0; i < N; i++) sum[i] = 0;
	if (c < p.columns) {
		for (int first = (int)tx() / ACROSS; first < p.rows; first += HELD * DOWN) {
			Vector<T> v[HELD];
			T xs[HELD];
#pragma unroll
			for (int q = 0; q < HELD; q++) {
				int r = first + q * DOWN;
				xs[q] = 0, v[q] = {};
				if (r < p.rows) xs[q] = x[r], v[q] = *(const Vector<T> *)(w + (i64)r * p.columns);
			}
#pragma unroll
			for (int q = 0; q < HELD; q++)
#pragma unroll
				for (int i = 0; i < N; i++) sum[i] = multiply(Store::widen(xs[q], p.type), Store::widen(v[q].v[i], p.type), sum[i], PRODUCTS);
		}
	}
#pragma unroll
	for (int i = 0; i < N; i++)
#pragma unroll
		for (int d = ACROSS; d < 32; d <<= 1) sum[i] += shuffleXor(sum[i], d);
	if (lane() < ACROSS)
		for (int i = 0; i < N; i++) parts[tx() >> 5][lane() * N + i] = sum[i];
	sync();
	c = (int)bx() * 32 + (int)tx();
	if (tx() >= 32 || c >= p.columns) return;
	float v = 0;
	for (int i = 0; i < 16; i++) v += parts[i][tx()];
	if (p.bias) v += load(p.bias, c / p.taps, p.biasType);
	store(p.y, c, p.outType, p.relu && v < 0 ? 0.f : v);
}
KERNEL BOUNDS(512) conv_row4(ConvDenseP p) { denseRow<Store4, EXACT>(p); }
KERNEL BOUNDS(512) conv_row4_split(ConvDenseP p) { denseRow<Store4, BF16X3>(p); }
KERNEL BOUNDS(512) conv_row2(ConvDenseP p) { denseRow<Store2, EXACT>(p); }

// y[r] = Σ w[r,c]·x[c] + bias[r]: a block for each row.
template <class Store, int PRODUCTS> DEVICE void denseColumn(const ConvDenseP &p) {
	typedef typename Store::T T;
	enum { N = 16 / sizeof(T), HELD = 4 };
	SHARED float scratch[32];
	int r = (int)bx();
	const T *x = (const T *)p.x, *w = (const T *)p.w + (i64)r * p.columns;
	float sum = 0;
	for (int first = (int)tx() * N; first < p.columns; first += HELD * 256 * N) {
		Vector<T> a[HELD], b[HELD];
#pragma unroll
		for (int q = 0; q < HELD; q++) {
			int c = first + q * 256 * N;
			a[q] = {}, b[q] = {};
			if (c < p.columns) a[q] = *(const Vector<T> *)(w + c), b[q] = *(const Vector<T> *)(x + c);
		}
#pragma unroll
		for (int q = 0; q < HELD; q++)
#pragma unroll
			for (int i = 0; i < N; i++) sum = multiply(Store::widen(a[q].v[i], p.type), Store::widen(b[q].v[i], p.type), sum, PRODUCTS);
	}
	sum = blockSum(sum, scratch);
	if (tx() != 0) return;
	if (p.bias) sum += load(p.bias, r, p.biasType);
	store(p.y, r, p.outType, p.relu && sum < 0 ? 0.f : sum);
}
KERNEL BOUNDS(256) conv_column4(ConvDenseP p) { denseColumn<Store4, EXACT>(p); }
KERNEL BOUNDS(256) conv_column4_split(ConvDenseP p) { denseColumn<Store4, BF16X3>(p); }
KERNEL BOUNDS(256) conv_column2(ConvDenseP p) { denseColumn<Store2, EXACT>(p); }

// y[r,c] = x[r]·w[c], four columns in each thread.
KERNEL BOUNDS(256) conv_outer(ConvDenseP p) {
	int c = ((int)bx() * 256 + (int)tx()) * 4;
	if (c >= p.columns) return;
	F4 v = load4(p.w, c, p.type);
	float x = load(p.x, by(), p.type);
#pragma unroll
	for (int i = 0; i < 4; i++) v[i] = multiply(x, v[i], 0, p.products);
	store4(p.y, (i64)by() * p.columns + c, p.outType, v);
}

// Adam with the gradient x[r]·gy[c], after gx[r] = Σ w[r,c]·gy[c] with the weights before their update, or with a copy of
// them in copyType: a block for each row.
struct ConvOuterAdamP {
	AdamP adam;
	const void *x, *gy, *copy; // copy is null if gx is computed from the values
	float *value, *moment, *second, *most;
	void *gx;
	i32 columns, type, copyType, outType; // columns is a multiple of 4
};
template <bool MOST> DEVICE void outerAdam(const ConvOuterAdamP &p) {
	enum { HELD = 2 };
	SHARED float scratch[32], corrections[2];
	int r = (int)bx();
	float x = load(p.x, r, p.type), sum = 0;
	Corrections k = correct(p.adam, corrections);
	for (int first = (int)tx() * 4; first < p.columns; first += 1024 * HELD) {
		F4 g[HELD], w[HELD], m[HELD], s[HELD], l[HELD], old[HELD];
#pragma unroll
		for (int i = 0; i < HELD; i++) {
			int c = first + 1024 * i;
			if (c >= p.columns) continue;
			i64 at = (i64)r * p.columns + c;
			w[i] = *(const F4 *)(p.value + at), m[i] = *(const F4 *)(p.moment + at), s[i] = *(const F4 *)(p.second + at);
			if (MOST) l[i] = *(const F4 *)(p.most + at);
			old[i] = p.copy ? load4(p.copy, at, p.copyType) : w[i];
			g[i] = load4(p.gy, c, p.type);
		}
#pragma unroll
		for (int i = 0; i < HELD; i++) {
			int c = first + 1024 * i;
			if (c >= p.columns) continue;
			i64 at = (i64)r * p.columns + c;
#pragma unroll
			for (int j = 0; j < 4; j++) {
				sum += old[i][j] * g[i][j];
				float wj = w[i][j], mj = m[i][j], sj = s[i][j], lj = MOST ? l[i][j] : 0;
				adamElement(p.adam, k, x * g[i][j], wj, mj, sj, MOST ? &lj : 0);
				w[i][j] = wj, m[i][j] = mj, s[i][j] = sj;
				if (MOST) l[i][j] = lj;
			}
			*(F4 *)(p.value + at) = w[i], *(F4 *)(p.moment + at) = m[i], *(F4 *)(p.second + at) = s[i];
			if (MOST) *(F4 *)(p.most + at) = l[i];
		}
	}
	sum = blockSum(sum, scratch);
	if (tx() == 0) store(p.gx, r, p.outType, sum);
}
KERNEL BOUNDS(256) conv_outer_adam(ConvOuterAdamP p) { outerAdam<false>(p); }
KERNEL BOUNDS(256) conv_outer_adam_most(ConvOuterAdamP p) { outerAdam<true>(p); }
