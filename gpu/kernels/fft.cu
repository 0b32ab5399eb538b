#include "fft.h"

// The orthonormal transform of planes of h×w, origin at [h/2, w/2], along one axis. Elements of x and y are real where
// realIn and realOut say so. Lines of a power of two of at least 16 elements have their origin moved by alternating
// signs.
struct FftP {
	const void *x; void *y; const F2 *twiddles;
	i32 log, shift, lines, width, realIn, realOut, inverse; float scale;
};

DEVICE F2 fftLoad(const FftP &p, i64 i, float sign) {
	F2 z = p.realIn ? F2{((const float *)p.x)[i], 0} : ((const F2 *)p.x)[i];
	return (p.inverse ? swapped(z) : z) * sign;
}
DEVICE void fftStore(const FftP &p, i64 i, F2 z, float sign) {
	if (p.inverse) z = swapped(z);
	if (p.realOut) ((float *)p.y)[i] = z.x * sign;
	else ((F2 *)p.y)[i] = z * sign;
}

// Of lines rows, one after the other in memory.
KERNEL BOUNDS(512) fft_rows(FftP p) {
	Line l = lineOfRow(p.twiddles, p.log);
	i64 row = (i64)bx() * (bdx() >> (p.log - 3)) + (tx() >> (p.log - 3));
	int n = l.threads();
	float sign = l.t & 1 ? -1 : 1;
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = row < p.lines ? fftLoad(p, (row << p.log) + l.t + m * n, sign) : F2{0, 0};
	fft(v, l);
	for (int m = 0; m < 8; m++)
		if (row < p.lines) fftStore(p, (row << p.log) + l.t + m * n, v[m], sign * p.scale);
}

// Of the columns of planes of width columns; grid: columns, planes.
KERNEL BOUNDS(512) fft_columns(FftP p) {
	Line l = lineOfColumn(p.twiddles, p.log, p.shift);
	int column = (int)(bx() << p.shift) + ((int)tx() & ((1 << p.shift) - 1)), n = l.threads();
	i64 plane = ((i64)by() << p.log) * p.width + column;
	float sign = l.t & 1 ? -1 : 1;
	F2 v[8];
	for (int m = 0; m < 8; m++) v[m] = column < p.width ? fftLoad(p, plane + (i64)(l.t + m * n) * p.width, sign) : F2{0, 0};
	fft(v, l);
	for (int m = 0; m < 8; m++)
		if (column < p.width) fftStore(p, plane + (i64)(l.t + m * n) * p.width, v[m], sign * p.scale);
}

// Of lines of any length n by the definition, one per block. Line i starts at i/per·plane + i%per·step and has elements
// stride apart.
struct DftP {
	const void *x; void *y; const F2 *twiddles;
	i64 plane; i32 n, stride, per, step, realIn, realOut, inverse; float scale;
};
KERNEL BOUNDS(128) fft_any(DftP p) {
	i64 start = (i64)(bx() / p.per) * p.plane + (i64)(bx() % p.per) * p.step;
	for (int i = (int)tx(); i < p.n; i += 128) {
		i64 at = start + (i64)i * p.stride;
		F2 z = p.realIn ? F2{((const float *)p.x)[at], 0} : ((const F2 *)p.x)[at];
		space[i] = p.inverse ? swapped(z) : z;
	}
	sync();
	for (int u = (int)tx(); u < p.n; u += 128) {
		int step = (u - p.n / 2 + p.n) % p.n;                 // n-ths of a turn from one element to the next
		int turn = (int)((i64)step * (p.n - p.n / 2) % p.n);  // of element 0
		F2 sum = F2{0, 0};
		for (int i = 0; i < p.n; i++) {
			sum += times(space[i], tabled(p.twiddles + turn));
			turn += step;
			if (turn >= p.n) turn -= p.n;
		}
		if (p.inverse) sum = swapped(sum);
		i64 at = start + (i64)u * p.stride;
		if (p.realOut) ((float *)p.y)[at] = sum.x * p.scale;
		else ((F2 *)p.y)[at] = sum * p.scale;
	}
}

// y[i] = z[i]·mask[i mod plane].
struct MaskP { const F2 *z; const float *mask; F2 *y; i64 n, plane; };
KERNEL BOUNDS(256) mask_multiply(MaskP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) p.y[i] = p.z[i] * p.mask[i % p.plane];
}

// Element i of planes whose elements are in reverse order.
DEVICE i64 flipped(i64 i, i64 plane) { return i / plane * plane + (plane - 1 - i % plane); }

// y = |z|, flipped.
struct ModulusP { const F2 *z; float *y; i64 n, plane; };
KERNEL BOUNDS(256) modulus_flip(ModulusP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		F2 direction;
		p.y[flipped(i, p.plane)] = modulus(p.z[i], direction);
	}
}

// gz = z/|z| times gy, flipped.
struct ModulusGradP { const F2 *z; const float *gy; F2 *gz; i64 n, plane; };
KERNEL BOUNDS(256) modulus_flip_grad(ModulusGradP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		F2 direction;
		modulus(p.z[i], direction);
		p.gz[i] = direction * p.gy[flipped(i, p.plane)];
	}
}
