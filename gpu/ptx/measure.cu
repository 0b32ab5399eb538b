#include "fft.h"
#include "loss.h"

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

// The spectrum of the window's rows. Grid: rows, spectra.
struct MeasureRowsP {
	const float *x; F2 *rows; const F2 *twiddles;
	i32 log, top, bottom, left, right;
};
KERNEL BOUNDS(512) measure_rows(MeasureRowsP p) {
	Line l = lineOfRow(p.twiddles, p.log);
	int row = p.top + (int)(bx() * (bdx() >> (p.log - 3)) + (tx() >> (p.log - 3))), n = l.threads();
	float sign = (row + l.t) & 1 ? -1 : 1;
	F2 v[8];
	for (int m = 0; m < 8; m++) {
		int j = l.t + m * n;
		v[m] = F2{0, 0};
		if (row < p.bottom && j >= p.left && j < p.right) v[m].x = sign * p.x[(row << p.log) + j];
	}
	fft(v, l);
	if (row >= p.bottom) return;
	F2 *to = p.rows + ((((i64)by() * (p.bottom - p.top)) + (row - p.top)) << p.log);
	for (int m = 0; m < 8; m++) to[l.t + m * n] = v[m];
}

// The columns of the masked fields. Grid: groups of columns, masks. Masks share a spectrum if spectrum is 0; it is the
// distance of their rows.
struct MeasureColumnsP {
	const F2 *rows; F2 *fields; i32 *used; const F2 *twiddles; const float *masks[MASKS];
	i64 spectrum, field; i32 log, shift, top, bottom, first, all; float scale;
};

// The lanes of a warp whose bit is set.
DEVICE u32 ballot(u32 bit) {
	u32 r;
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(bit));
	return r;
}

// masked loads the elements of the mask in a thread's column, and reports whether the block's columns have any that is
// not 0.
DEVICE bool masked(float (&mask)[8], const float *from, const Line &l, int column, u32 (&scratch)[32]) {
	u32 any = 0;
	for (int m = 0; m < 8; m++) {
		mask[m] = from[((l.t + m * l.threads()) << l.log) + column];
		any |= mask[m] != 0;
	}
	any = ballot(any);
	if (lane() == 0) scratch[tx() >> 5] = any;
	sync();
	for (u32 w = 0; w < bdx() >> 5; w++) any |= scratch[w];
	return any != 0;
}
template <int N> DEVICE const float *chosen(const float *const (&from)[N], int i) {
	const float *p = from[0];
	for (int k = 1; k < N; k++)
		if (k == i) p = from[k];
	return p;
}
KERNEL BOUNDS(512) measure_columns(MeasureColumnsP p) {
	SHARED static u32 scratch[32];
	Line l = lineOfColumn(p.twiddles, p.log, p.shift);
	int column = (int)(bx() << p.shift) + ((int)tx() & ((1 << p.shift) - 1)), k = p.first + (int)by(), n = l.threads();
	const F2 *from = p.rows + k * p.spectrum + column;
	F2 v[8];
	for (int m = 0; m < 8; m++) {
		int row = l.t + m * n;
		v[m] = F2{0, 0};
		if (row >= p.top && row < p.bottom) v[m] = from[(row - p.top) << p.log];
	}
	float mask[8];
	bool use = masked(mask, chosen(p.masks, (int)by()), l, column, scratch) || p.all;
	if (tx() == 0) p.used[k * gdx() + bx()] = use;
	if (!use) return;
#pragma unroll 1
	for (int pass = 0;; pass++) {
		fft(v, l);
		if (pass == 1) break;
		for (int m = 0; m < 8; m++) v[m] *= mask[m] * p.scale;
		sync();
	}
	F2 *to = p.fields + k * p.field + column;
	for (int m = 0; m < 8; m++) to[(l.t + m * n) << p.log] = v[m];
}

// The rows of the fields compared with the targets: for each block Σ|d| and Σ|t| or Σd² and Σt², d = |z| − t, and in
// place the rows of sgn(d)·z/|z| or d·z/|z| transformed back. Grid: rows, masks.
struct MeasureLossP {
	F2 *fields; const i32 *used; float *sums; const F2 *twiddles; const float *targets[MASKS];
	i64 field; i32 log, shift, first, squares;
};
KERNEL BOUNDS(512) measure_loss(MeasureLossP p) {
	SHARED static float scratch[32];
	Line l = lineOfRow(p.twiddles, p.log);
	int row = (int)(bx() * (bdx() >> (p.log - 3)) + (tx() >> (p.log - 3))), k = p.first + (int)by(), n = l.threads();
	F2 *field = p.fields + k * p.field + (row << p.log);
	const i32 *used = p.used + (k << (p.log - p.shift));
	const float *target = chosen(p.targets, (int)by()) + ((1 << 2 * p.log) - 1 - (row << p.log));
	F2 v[8];
	float t[8];
	u32 use = 0;
	for (int m = 0; m < 8; m++) {
		int j = l.t + m * n;
		use |= (u32)used[j >> p.shift] << m;
		t[m] = target[-j];
	}
	for (int m = 0; m < 8; m++) {
		v[m] = F2{0, 0};
		if (use >> m & 1) v[m] = field[l.t + m * n];
	}
	float sum = 0, norm = 0;
#pragma unroll 1
	for (int pass = 0;; pass++) {
		fft(v, l);
		if (pass == 1) break;
#pragma unroll
		for (int m = 0; m < 8; m++) {
			F2 z;
			float d = modulus(v[m], z) - t[m];
			if (p.squares) {
				sum += d * d;
				norm += t[m] * t[m];
			} else {
				sum += d < 0 ? -d : d;
				norm += t[m] < 0 ? -t[m] : t[m];
				d = d > 0 ? 1 : d < 0 ? -1 : 0;
			}
			v[m] = swapped(z) * d;
		}
		sync();
	}
	for (int m = 0; m < 8; m++)
		if (use >> m & 1) field[l.t + m * n] = v[m];
	sum = blockSum(sum, scratch);
	norm = blockSum(norm, scratch);
	if (tx() == 0) {
		float *to = p.sums + 2 * (k * gdx() + bx());
		to[0] = sum;
		to[1] = norm;
	}
}

// The losses and their gradients' factors; see loss_total. Grid: masks.
struct MeasureTotalP { const float *sums; float *losses, *factors; double elements; i32 blocks, normalize, squares; };
KERNEL BOUNDS(256) measure_total(MeasureTotalP p) {
	SHARED static double scratch[2][8];
	double sum = 0, norm = 0;
	for (int i = (int)tx(); i < p.blocks; i += 256) {
		const float *from = p.sums + 2 * (bx() * p.blocks + i);
		sum += from[0];
		norm += from[1];
	}
	blockTotals(sum, norm, scratch);
	if (tx() == 0) lossTotal(p.losses + bx(), p.factors + bx(), sum, norm, p.elements, p.normalize, p.squares);
}

// The fields' columns transformed back, through the mask, and back again to the window's rows, times the mask's weight:
// weights[k], or factors[k]·upstream[k] if there are factors. Grid: groups of columns, masks.
struct MeasureBackP {
	const F2 *fields; F2 *rows; i32 *used; const F2 *twiddles; const float *masks[MASKS]; float weights[MASKS];
	const float *factors, *upstream;
	i64 field; i32 log, shift, top, bottom, first, all; float scale;
};
KERNEL BOUNDS(512) measure_back_columns(MeasureBackP p) {
	SHARED static u32 scratch[32];
	Line l = lineOfColumn(p.twiddles, p.log, p.shift);
	int column = (int)(bx() << p.shift) + ((int)tx() & ((1 << p.shift) - 1)), k = p.first + (int)by(), n = l.threads();
	float mask[8];
	bool use = masked(mask, chosen(p.masks, (int)by()), l, column, scratch) || p.all;
	if (tx() == 0) p.used[k * gdx() + bx()] = use;
	if (!use) return;
	float weight = p.weights[0];
	for (int i = 1; i < MASKS; i++)
		if (i == (int)by()) weight = p.weights[i];
	if (p.factors) weight = p.factors[k] * p.upstream[k];
	weight *= p.scale;
	const F2 *from = p.fields + k * p.field + column;
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = from[(l.t + m * n) << p.log];
#pragma unroll 1
	for (int pass = 0;; pass++) {
		fft(v, l);
		if (pass == 1) break;
		for (int m = 0; m < 8; m++) v[m] *= mask[m] * weight;
		sync();
	}
	F2 *to = p.rows + (((i64)k * (p.bottom - p.top)) << p.log) + column;
	for (int m = 0; m < 8; m++) {
		int row = l.t + m * n;
		if (row >= p.top && row < p.bottom) to[(row - p.top) << p.log] = v[m];
	}
}

// The rows of the gradient from those of all masks; 0 outside the window. Grid: rows.
struct MeasureBackRowsP {
	const F2 *rows; const i32 *used; float *gx; const F2 *twiddles;
	i32 log, shift, top, bottom, left, right, masks;
};
KERNEL BOUNDS(512) measure_back_rows(MeasureBackRowsP p) {
	Line l = lineOfRow(p.twiddles, p.log);
	int lines = (int)bdx() >> (p.log - 3), n = l.threads(), first = (int)bx() * lines, row = first + ((int)tx() >> (p.log - 3));
	bool within = row >= p.top && row < p.bottom;
	float *gx = p.gx + (row << p.log);
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = F2{0, 0};
	if (first + lines > p.top && first < p.bottom) {
		for (int k = 0; k < p.masks; k++) {
			const F2 *from = p.rows + (((i64)k * (p.bottom - p.top) + (row - p.top)) << p.log);
			const i32 *used = p.used + (k << (p.log - p.shift));
			for (int m = 0; m < 8; m++) {
				int j = l.t + m * n;
				if (within && used[j >> p.shift]) v[m] += from[j];
			}
		}
		fft(v, l);
	}
	float sign = (row + l.t) & 1 ? -1 : 1;
	for (int m = 0; m < 8; m++) {
		int j = l.t + m * n;
		gx[j] = within && j >= p.left && j < p.right ? sign * v[m].y : 0;
	}
}

// The amplitudes of views: the mean over the masks from first[i] to before last[i] of flip|z|, z the transformed rows of
// their fields, which take the fields' place. Grid: rows, views.
struct AmplitudeRowsP {
	F2 *fields; const i32 *used; const F2 *twiddles; float *planes[MASKS]; i32 first[MASKS], last[MASKS];
	i64 field; i32 log, shift;
};
template <int N> DEVICE int chosen(const i32 (&from)[N], int i) {
	int v = from[0];
	for (int k = 1; k < N; k++)
		if (k == i) v = from[k];
	return v;
}
KERNEL BOUNDS(512) amplitude_rows(AmplitudeRowsP p) {
	Line l = lineOfRow(p.twiddles, p.log);
	int row = (int)(bx() * (bdx() >> (p.log - 3)) + (tx() >> (p.log - 3))), n = l.threads();
	int first = chosen(p.first, (int)by()), last = chosen(p.last, (int)by());
	float *plane = (float *)chosen((const float *const(&)[MASKS])p.planes, (int)by()) + ((1 << 2 * p.log) - 1 - (row << p.log));
	float sums[8];
	for (int m = 0; m < 8; m++) sums[m] = 0;
#pragma unroll 1
	for (int k = first; k < last; k++) {
		F2 *field = p.fields + k * p.field + (row << p.log);
		const i32 *used = p.used + (k << (p.log - p.shift));
		F2 v[8];
		for (int m = 0; m < 8; m++) {
			int j = l.t + m * n;
			v[m] = F2{0, 0};
			if (used[j >> p.shift]) v[m] = field[j];
		}
		fft(v, l);
#pragma unroll
		for (int m = 0; m < 8; m++) {
			F2 z;
			field[l.t + m * n] = v[m];
			sums[m] += modulus(v[m], z);
		}
		sync();
	}
	float mean = 1 / (float)(last - first);
	for (int m = 0; m < 8; m++) plane[-(l.t + m * n)] = sums[m] * mean;
}

// The gradients of amplitudes times z/|z|, transformed back; measure_back_columns goes on from them. Grid: rows, masks.
struct AmplitudeBackP {
	const F2 *directions; F2 *fields; const F2 *twiddles; const float *planes[MASKS];
	i64 direction; i32 log, first;
};
KERNEL BOUNDS(512) amplitude_back_rows(AmplitudeBackP p) {
	Line l = lineOfRow(p.twiddles, p.log);
	int row = (int)(bx() * (bdx() >> (p.log - 3)) + (tx() >> (p.log - 3))), k = p.first + (int)by(), n = l.threads();
	const F2 *from = p.directions + k * p.direction + (row << p.log);
	const float *plane = chosen(p.planes, (int)by()) + ((1 << 2 * p.log) - 1 - (row << p.log));
	F2 v[8];
#pragma unroll
	for (int m = 0; m < 8; m++) {
		F2 z;
		modulus(from[l.t + m * n], z);
		v[m] = swapped(z) * plane[-(l.t + m * n)];
	}
	fft(v, l);
	F2 *to = p.fields + ((((i64)k << p.log) + row) << p.log);
	for (int m = 0; m < 8; m++) to[l.t + m * n] = v[m];
}
