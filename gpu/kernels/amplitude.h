// The telescope's rows for losses of other kernels, beside the passes of measure.h.
#pragma once
#include "measure.h"

// The amplitudes of views: the mean over the masks from first[i] to before last[i] of flip|z|, z the transformed rows of
// their fields, which take the fields' place. Grid: rows, views.
struct AmplitudeRowsP {
	F2 *fields; const i32 *used; const F2 *twiddles; float *planes[MASKS]; i32 first[MASKS], last[MASKS];
	i64 field; i32 log;
};
template <int LOG> DEVICE void amplitudeRows(const AmplitudeRowsP &p) {
	const int log = LOG ? LOG : p.log, shift = groupShift(log);
	Line l = lineOfRow(p.twiddles, log);
	int row = (int)(bx() * rowsOfBlock(log) + (tx() >> (log - 3))), n = l.threads();
	int first = chosen(p.first, (int)by()), last = chosen(p.last, (int)by());
	float sums[8];
	for (int m = 0; m < 8; m++) sums[m] = 0;
#pragma unroll 1
	for (int k = first; k < last; k++) {
		F2 *field = p.fields + k * p.field + ((i64)row << log) + l.t;
		const i32 *used = p.used + (k << (log - shift));
		u32 use = 0;
		F2 v[8];
		for (int m = 0; m < 8; m++) use |= (u32)used[(l.t + m * n) >> shift] << m;
		for (int m = 0; m < 8; m++) {
			v[m] = F2{0, 0};
			if (use >> m & 1) v[m] = field[m * n];
		}
		fft<LOG>(v, l);
#pragma unroll
		for (int m = 0; m < 8; m++) {
			F2 z;
			field[m * n] = v[m];
			sums[m] += modulus(v[m], z);
		}
		sync();
	}
	float *plane = chosen(p.planes, (int)by()) + ((1 << 2 * log) - 1 - (row << log) - l.t), mean = 1 / (float)(last - first);
	for (int m = 0; m < 8; m++) plane[-m * n] = sums[m] * mean;
}

// The gradients of amplitudes times z/|z|, transformed back; measure_back_columns goes on from them. Grid: rows, masks.
struct AmplitudeBackP {
	const F2 *directions; F2 *fields; const F2 *twiddles; const float *planes[MASKS];
	i64 direction; i32 log, first;
};
template <int LOG> DEVICE void amplitudeBackRows(const AmplitudeBackP &p) {
	const int log = LOG ? LOG : p.log;
	Line l = lineOfRow(p.twiddles, log);
	int row = (int)(bx() * rowsOfBlock(log) + (tx() >> (log - 3))), k = p.first + (int)by(), n = l.threads();
	const F2 *from = p.directions + k * p.direction + ((i64)row << log) + l.t;
	const float *plane = chosen(p.planes, (int)by()) + ((1 << 2 * log) - 1 - (row << log) - l.t);
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = from[m * n];
#pragma unroll
	for (int m = 0; m < 8; m++) {
		F2 z;
		modulus(v[m], z);
		v[m] = swapped(z) * plane[-m * n];
	}
	fft<LOG>(v, l);
	F2 *to = p.fields + ((((i64)k << log) + row) << log) + l.t;
	for (int m = 0; m < 8; m++) to[m * n] = v[m];
}

// The kernels for planes of a side of 2^LOG, any if 0, named with an ending, and the bounds of their blocks.
#define AMPLITUDE(LOG, ENDING, ROWS) \
	KERNEL ROWS amplitude_rows##ENDING(AmplitudeRowsP p) { amplitudeRows<LOG>(p); } \
	KERNEL ROWS amplitude_back_rows##ENDING(AmplitudeBackP p) { amplitudeBackRows<LOG>(p); }
