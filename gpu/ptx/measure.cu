#include "measure.h"

MEASURE(0, , BOUNDS(512), BOUNDS(512))

// The amplitudes of views: the mean over the masks from first[i] to before last[i] of flip|z|, z the transformed rows of
// their fields, which take the fields' place. Grid: rows, views.
struct AmplitudeRowsP {
	F2 *fields; const i32 *used; const F2 *twiddles; float *planes[MASKS]; i32 first[MASKS], last[MASKS];
	i64 field; i32 log;
};
KERNEL BOUNDS(512) amplitude_rows(AmplitudeRowsP p) {
	Line l = lineOfRow(p.twiddles, p.log);
	int row = (int)(bx() * (bdx() >> (p.log - 3)) + (tx() >> (p.log - 3))), n = l.threads();
	int shift = groupShift(p.log), first = chosen(p.first, (int)by()), last = chosen(p.last, (int)by());
	float *plane = chosen(p.planes, (int)by()) + ((1 << 2 * p.log) - 1 - (row << p.log));
	float sums[8];
	for (int m = 0; m < 8; m++) sums[m] = 0;
#pragma unroll 1
	for (int k = first; k < last; k++) {
		F2 *field = p.fields + k * p.field + (row << p.log);
		const i32 *used = p.used + (k << (p.log - shift));
		F2 v[8];
		for (int m = 0; m < 8; m++) {
			int j = l.t + m * n;
			v[m] = F2{0, 0};
			if (used[j >> shift]) v[m] = field[j];
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
