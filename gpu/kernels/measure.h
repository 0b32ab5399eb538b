// The passes of the telescope, compiled for planes of a side that is known, and for any.
#pragma once
#include "fft.h"

// The telescope y = flip|Fc(M·Fc(x))|, Fc the centred orthonormal transform (spec/prism.md §2.2), for several masks M
// in the same launches. With D the alternating signs (−1)^(i+j), Fc = D·F·D; inside, the signs cancel, so only x and its
// gradient get them. The passes:
//
//	rows of x → columns, mask, columns again → rows, compared with the targets, and back → columns back, mask,
//	columns back again → rows of the gradient
//
// Only the window's rows of x have values; only groups of columns that a mask touches are used, of which used has a
// number each. Fields on the way back have real and imaginary parts swapped, so that all transforms are forward ones.

enum { MASKS = 8 }; // in one launch

// Of the columns that a block transforms side by side: 32 bytes, the cache's sector, unless those are too few for a warp
// or too many for a block.
DEVICE int groupShift(int log) { return log < 6 ? 8 - log : log > 10 ? 12 - log : 2; }
DEVICE int rowsOfBlock(int log) { return log < 8 ? 1 << (8 - log) : 1; }

// The spectrum of the window's rows. Grid: rows, spectra.
struct MeasureRowsP {
	const float *x; F2 *rows; const F2 *twiddles;
	i32 log, top, bottom, left, right;
};
template <int LOG> DEVICE void measureRows(const MeasureRowsP &p) {
	const int log = LOG ? LOG : p.log;
	Line l = lineOfRow(p.twiddles, log);
	int row = p.top + (int)(bx() * rowsOfBlock(log) + (tx() >> (log - 3))), n = l.threads();
	float sign = (row + l.t) & 1 ? -1 : 1;
	const float *from = p.x + ((i64)row << log) + l.t;
	F2 v[8];
	for (int m = 0; m < 8; m++) {
		int j = l.t + m * n;
		v[m] = F2{0, 0};
		if (row < p.bottom && j >= p.left && j < p.right) v[m].x = sign * from[m * n];
	}
	fft<LOG>(v, l);
	if (row >= p.bottom) return;
	F2 *to = p.rows + ((((i64)by() * (p.bottom - p.top)) + (row - p.top)) << log) + l.t;
	for (int m = 0; m < 8; m++) to[m * n] = v[m];
}

// The lanes of a warp whose bit is set.
DEVICE u32 ballot(u32 bit) {
	u32 r;
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(bit));
	return r;
}
// masked loads the elements of a thread's column of the mask, and reports whether the block's columns have any that is
// not 0.
template <int LOG> DEVICE bool masked(float (&mask)[8], const float *from, const Line &l, int column, u32 (&scratch)[32]) {
	u32 any = 0;
	from += ((i64)l.t << l.log) + column;
	for (int m = 0; m < 8; m++) {
		mask[m] = from[(i64)(m * l.threads()) << l.log];
		any |= mask[m] != 0;
	}
	any = ballot(any);
	if (lane() == 0) scratch[tx() >> 5] = any;
	sync();
	if constexpr (LOG) {
		for (int w = 0; w < l.threads() << l.shift >> 5; w++) any |= scratch[w];
	} else {
#pragma unroll 1
		for (u32 w = 0; w < bdx() >> 5; w++) any |= scratch[w];
	}
	return any != 0;
}
template <typename T, int N> DEVICE T chosen(const T (&from)[N], int i) {
	T v = from[0];
	for (int k = 1; k < N; k++)
		if (k == i) v = from[k];
	return v;
}

// The columns of the masked fields. Grid: groups of columns, masks. Masks share a spectrum if spectrum is 0; it is the
// distance of their rows.
struct MeasureColumnsP {
	const F2 *rows; F2 *fields; i32 *used; const F2 *twiddles; const float *masks[MASKS];
	i64 spectrum, field; i32 log, top, bottom, first, all; float scale;
};
template <int LOG> DEVICE void measureColumns(const MeasureColumnsP &p, u32 (&scratch)[32]) {
	const int log = LOG ? LOG : p.log, shift = groupShift(log);
	Line l = lineOfColumn(p.twiddles, log, shift);
	int column = (int)(bx() << shift) + ((int)tx() & ((1 << shift) - 1)), k = p.first + (int)by(), n = l.threads();
	const F2 *from = p.rows + k * p.spectrum + ((i64)(l.t - p.top) << log) + column;
	F2 v[8];
	for (int m = 0; m < 8; m++) {
		int row = l.t + m * n;
		v[m] = F2{0, 0};
		if (row >= p.top && row < p.bottom) v[m] = from[(i64)(m * n) << log];
	}
	float mask[8];
	bool use = masked<LOG>(mask, chosen(p.masks, (int)by()), l, column, scratch) || p.all;
	if (tx() == 0) p.used[k * gdx() + bx()] = use;
	if (!use) return;
	int pass = p.log >> 8; // 0, which the compiler must not know
#pragma unroll 1
	do {
		fft<LOG>(v, l);
		if (pass == 0) {
			for (int m = 0; m < 8; m++) v[m] *= mask[m] * p.scale;
			sync();
		}
	} while (++pass < 2);
	F2 *to = p.fields + k * p.field + ((i64)l.t << log) + column;
	for (int m = 0; m < 8; m++) to[(i64)(m * n) << log] = v[m];
}

// The sign of x, x itself for a zero or a NaN.
DEVICE float sign(float x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// The rows of the fields compared with the targets: for each block Σ|d| and Σ|t| or Σd² and Σt², d = |z| − t, and in
// place the rows of sgn(d)·z/|z| or d·z/|z| transformed back. Grid: rows, masks.
struct MeasureLossP {
	F2 *fields; const i32 *used; float *sums; const F2 *twiddles; const float *targets[MASKS];
	i64 field; i32 log, first, squares;
};
template <int LOG> DEVICE void measureLoss(const MeasureLossP &p, float (&scratch)[32]) {
	const int log = LOG ? LOG : p.log, shift = groupShift(log);
	Line l = lineOfRow(p.twiddles, log);
	int row = (int)(bx() * rowsOfBlock(log) + (tx() >> (log - 3))), k = p.first + (int)by(), n = l.threads();
	F2 *field = p.fields + k * p.field + ((i64)row << log) + l.t;
	const i32 *used = p.used + (k << (log - shift));
	const float *target = chosen(p.targets, (int)by()) + ((1 << 2 * log) - 1 - (row << log) - l.t);
	F2 v[8];
	float t[8];
	u32 use = 0;
	for (int m = 0; m < 8; m++) {
		use |= (u32)used[(l.t + m * n) >> shift] << m;
		t[m] = target[-m * n];
	}
	for (int m = 0; m < 8; m++) {
		v[m] = F2{0, 0};
		if (use >> m & 1) v[m] = field[m * n];
	}
	float sum = 0, norm = 0;
	int pass = p.log >> 8; // 0, which the compiler must not know
#pragma unroll 1
	do {
		fft<LOG>(v, l);
		if (pass == 0) {
#pragma unroll
			for (int m = 0; m < 8; m++) {
				F2 z;
				float d = modulus(v[m], z) - t[m], weight = p.squares ? d : sign(d);
				sum += d * weight;
				norm += t[m] * (p.squares ? t[m] : sign(t[m]));
				v[m] = swapped(z) * weight;
			}
			sync();
		}
	} while (++pass < 2);
	for (int m = 0; m < 8; m++)
		if (use >> m & 1) field[m * n] = v[m];
	sum = blockSum(sum, scratch);
	norm = blockSum(norm, scratch);
	if (tx() == 0) {
		float *to = p.sums + 2 * (k * gdx() + bx());
		to[0] = sum;
		to[1] = norm;
	}
}

// The fields' columns transformed back, through the mask, and back again to the window's rows, times the mask's weight:
// weights[k], or factors[k]·upstream[k] if there are factors. Grid: groups of columns, masks.
struct MeasureBackP {
	const F2 *fields; F2 *rows; i32 *used; const F2 *twiddles; const float *masks[MASKS]; float weights[MASKS];
	const float *factors, *upstream;
	i64 field; i32 log, top, bottom, first, all; float scale;
};
template <int LOG> DEVICE void measureBackColumns(const MeasureBackP &p, u32 (&scratch)[32]) {
	const int log = LOG ? LOG : p.log, shift = groupShift(log);
	Line l = lineOfColumn(p.twiddles, log, shift);
	int column = (int)(bx() << shift) + ((int)tx() & ((1 << shift) - 1)), k = p.first + (int)by(), n = l.threads();
	float weight = p.factors ? p.factors[k] * p.upstream[k] : chosen(p.weights, (int)by());
	float mask[8];
	bool use = masked<LOG>(mask, chosen(p.masks, (int)by()), l, column, scratch) || p.all;
	if (tx() == 0) p.used[k * gdx() + bx()] = use;
	if (!use) return;
	weight *= p.scale;
	const F2 *from = p.fields + k * p.field + ((i64)l.t << log) + column;
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = from[(i64)(m * n) << log];
	int pass = p.log >> 8; // 0, which the compiler must not know
#pragma unroll 1
	do {
		fft<LOG>(v, l);
		if (pass == 0) {
			for (int m = 0; m < 8; m++) v[m] *= mask[m] * weight;
			sync();
		}
	} while (++pass < 2);
	F2 *to = p.rows + (((i64)k * (p.bottom - p.top) + (l.t - p.top)) << log) + column;
	for (int m = 0; m < 8; m++) {
		int row = l.t + m * n;
		if (row >= p.top && row < p.bottom) to[(i64)(m * n) << log] = v[m];
	}
}

// The rows of the gradient from those of all masks; 0 outside the window. Grid: rows.
struct MeasureBackRowsP {
	const F2 *rows; const i32 *used; float *gx; const F2 *twiddles;
	i32 log, top, bottom, left, right, masks;
};
template <int LOG> DEVICE void measureBackRows(const MeasureBackRowsP &p) {
	const int log = LOG ? LOG : p.log, shift = groupShift(log);
	Line l = lineOfRow(p.twiddles, log);
	int lines = rowsOfBlock(log), n = l.threads(), first = (int)bx() * lines, row = first + ((int)tx() >> (log - 3));
	bool within = row >= p.top && row < p.bottom;
	float *gx = p.gx + ((i64)row << log) + l.t;
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = F2{0, 0};
	if (first + lines > p.top && first < p.bottom) {
#pragma unroll 1
		for (int k = 0; k < p.masks; k++) {
			const F2 *from = p.rows + (((i64)k * (p.bottom - p.top) + (row - p.top)) << log) + l.t;
			const i32 *used = p.used + (k << (log - shift));
			u32 use = 0;
			for (int m = 0; m < 8; m++) use |= (u32)used[(l.t + m * n) >> shift] << m;
			for (int m = 0; m < 8; m++)
				if (within && use >> m & 1) v[m] += from[m * n];
		}
		fft<LOG>(v, l);
	}
	float sign = (row + l.t) & 1 ? -1 : 1;
	for (int m = 0; m < 8; m++) {
		int j = l.t + m * n;
		gx[m * n] = within && j >= p.left && j < p.right ? sign * v[m].y : 0;
	}
}

// The kernels for planes of a side of 2^LOG, any if 0, named with an ending; ROWS and COLUMNS are the bounds of their
// blocks.
#define MEASURE(LOG, ENDING, ROWS, COLUMNS) \
	KERNEL ROWS measure_rows##ENDING(MeasureRowsP p) { measureRows<LOG>(p); } \
	KERNEL COLUMNS measure_columns##ENDING(MeasureColumnsP p) { \
		SHARED static u32 scratch[32]; \
		measureColumns<LOG>(p, scratch); \
	} \
	KERNEL ROWS measure_loss##ENDING(MeasureLossP p) { \
		SHARED static float scratch[32]; \
		measureLoss<LOG>(p, scratch); \
	} \
	KERNEL COLUMNS measure_back_columns##ENDING(MeasureBackP p) { \
		SHARED static u32 scratch[32]; \
		measureBackColumns<LOG>(p, scratch); \
	} \
	KERNEL ROWS measure_back_rows##ENDING(MeasureBackRowsP p) { measureBackRows<LOG>(p); }
