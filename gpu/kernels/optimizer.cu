// Kernels over many arrays in one launch, for which a table in device memory lists the arrays and the chunk of one that
// each block has: Adam, the division by the gradient scaler's scale, and the conversion of weights.
#include "adam.h"

// Chunk n of an array holds its elements from n·CHUNK on.
enum { CHUNK = 2048 };
struct Chunk { i32 array, n; };

// An array that Adam updates: value, moments, and the largest second moment with AMSGrad.
struct Update {
	const float *gradient;
	float *value, *moment, *second, *most;
	i64 n;
};
// Chunks of vectors that a thread holds.
enum { VECTORS = CHUNK / 4 / 256 };

template <bool MOST> DEVICE void adam(const AdamP &p) {
	SHARED float corrections[2];
	Chunk chunk = p.chunks[bx()];
	const GLOBAL Update *u = global<Update>(p.updates) + chunk.array;
	i64 n = u->n, first = (i64)chunk.n * CHUNK + 4 * tx();
	const float *gradient = u->gradient;
	float *value = u->value, *moment = u->moment, *second = u->second, *most = u->most;
	F4 g[VECTORS], w[VECTORS], m[VECTORS], s[VECTORS], l[VECTORS];
#pragma unroll
	for (int k = 0; k < VECTORS; k++) {
		i64 i = first + 1024 * k;
		if (i + 4 > n) continue;
		g[k] = *global<F4>((const void *)(gradient + i));
		w[k] = *global<F4>((const void *)(value + i));
		m[k] = *global<F4>((const void *)(moment + i));
		s[k] = *global<F4>((const void *)(second + i));
		if (MOST) l[k] = *global<F4>((const void *)(most + i));
	}
	if (p.found && *p.found == 1) return;
	Corrections c = correct(p, corrections);
#pragma unroll
	for (int k = 0; k < VECTORS; k++) {
		i64 i = first + 1024 * k;
		if (i + 4 > n) {
#pragma unroll 1
			for (; i < n && i < first + 1024 * k + 4; i++) // the last, incomplete vector
				adamElement(p, c, *global<float>(gradient + i), *(float *)(value + i), moment[i], second[i], MOST ? most + i : 0);
			continue;
		}
#pragma unroll
		for (int j = 0; j < 4; j++) {
			float wj = w[k][j], mj = m[k][j], sj = s[k][j], lj = MOST ? l[k][j] : 0;
			adamElement(p, c, g[k][j], wj, mj, sj, MOST ? &lj : 0);
			w[k][j] = wj, m[k][j] = mj, s[k][j] = sj;
			if (MOST) l[k][j] = lj;
		}
		*global<F4>((void *)(value + i)) = w[k];
		*global<F4>((void *)(moment + i)) = m[k];
		*global<F4>((void *)(second + i)) = s[k];
		if (MOST) *global<F4>((void *)(most + i)) = l[k];
	}
}
KERNEL BOUNDS(256) adam_update(AdamP p) { adam<false>(p); }
KERNEL BOUNDS(256) adam_most(AdamP p) { adam<true>(p); }

// g /= scale, and found = 1 if a quotient is not finite.
struct Gradient { float *g; i64 n; };
struct UnscaleP {
	const Gradient *gradients;
	const Chunk *chunks;
	const float *scale;
	float *found;
};
DEVICE bool finite(float x) { return (bits(x) & 0x7f800000) != 0x7f800000; }
KERNEL BOUNDS(256) unscale(UnscaleP p) {
	Chunk chunk = p.chunks[bx()];
	const GLOBAL Gradient *of = global<Gradient>(p.gradients) + chunk.array;
	GLOBAL float *g = global<float>((void *)of->g);
	i64 n = of->n;
	float inverse = 1 / *p.scale;
	bool good = true;
#pragma unroll
	for (int k = 0; k < VECTORS; k++) {
		i64 i = (i64)chunk.n * CHUNK + 4 * tx() + 1024 * k;
		if (i + 4 <= n) {
			F4 v = *(GLOBAL F4 *)(g + i) * inverse;
			good = good && finite(v.x) && finite(v.y) && finite(v.z) && finite(v.w);
			*(GLOBAL F4 *)(g + i) = v;
			continue;
		}
		for (i64 end = least(i + 4, n); i < end; i++) good = finite(g[i] *= inverse) && good;
	}
	if (!good) *p.found = 1;
}

// y = x in another element type.
struct Conversion { const void *x; void *y; i64 n; i32 xType, yType; };
struct ConvertP { const Conversion *arrays; const Chunk *chunks; };
KERNEL BOUNDS(256) convert(ConvertP p) {
	Chunk chunk = p.chunks[bx()];
	const GLOBAL Conversion *c = global<Conversion>(p.arrays) + chunk.array;
	const float *x = (const float *)c->x;
	u16 *y = (u16 *)c->y;
	i64 n = c->n;
	int to = c->yType;
	F4 v[VECTORS];
#pragma unroll
	for (int k = 0; k < VECTORS; k++) {
		i64 i = (i64)chunk.n * CHUNK + 4 * tx() + 1024 * k;
		if (i + 4 <= n) v[k] = *global<F4>((const void *)(x + i));
	}
#pragma unroll
	for (int k = 0; k < VECTORS; k++) {
		i64 i = (i64)chunk.n * CHUNK + 4 * tx() + 1024 * k;
		if (i + 4 <= n) {
			*global<U2>((void *)(y + i)) = narrow(v[k], to);
			continue;
		}
#pragma unroll 1
		for (i64 end = least(i + 4, n); i < end; i++) *global<u16>((void *)(y + i)) = to16(*global<float>(x + i), to);
	}
}
