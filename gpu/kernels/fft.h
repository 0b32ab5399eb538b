// Transforms of lines of 2^log complex numbers, 16 to 4096, by Stockham's algorithm: eight numbers in the registers of
// each thread, exchanged through shared memory between passes of radix 8. Before and after a transform thread t of a
// line has elements t + m·N/8 in v[m]. All are forward; an inverse one swaps real and imaginary parts before and after.
#pragma once
#include "complex.h"

DEVICE F2 swapped(F2 a) { return F2{a.y, a.x}; }
// Loads from a table, each time anew: held over a loop of transforms, the twiddles of all passes take too many registers.
DEVICE F2 tabled(const F2 *p) {
	F2 r;
	asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(r.x), "=f"(r.y) : "l"(p));
	return r;
}

extern SHARED F2 space[]; // of the lines of a block

// Line is a thread's place in its line and the line's in shared memory, where elements are 2^shift apart, padded after
// every 2^pad of them against bank conflicts.
struct Line {
	F2 *at;
	// The number (r << s) + k is e^(−2πi·k·r/2^(s+3)), for 0 < r < 8, k < 2^s and each pass, which begins with its
	// numbers in runs of 2^s: so a warp's loads are contiguous.
	const F2 *twiddles;
	int log, t, shift, pad;

	DEVICE int threads() const { return 1 << (log - 3); }
	// The place of element i. That of a sum whose terms have no bits in common is the sum of their places.
	DEVICE int place(int i) const { return (i + (i >> pad)) << shift; }
};

// Fetches the twiddles into the cache before they are needed.
DEVICE void fetch(const F2 *twiddles, int log) {
	if ((int)tx() < 1 << (log - 4)) asm volatile("prefetch.global.L1 [%0];" : : "l"(twiddles + 16 * tx()));
}

// The block's threads hold rows one after the other; thread / (N/8) is the row's number in the block.
DEVICE Line lineOfRow(const F2 *twiddles, int log) {
	fetch(twiddles, log);
	int t = (int)tx() & ((1 << (log - 3)) - 1), row = (int)tx() >> (log - 3), n = 1 << log;
	return Line{space + row * (n + (n >> 4)), twiddles, log, t, 0, 4};
}
// The block's threads hold 2^shift columns side by side; thread mod 2^shift is the column's number in the block.
DEVICE Line lineOfColumn(const F2 *twiddles, int log, int shift) {
	fetch(twiddles, log);
	int c = (int)tx() & ((1 << shift) - 1), t = (int)tx() >> shift;
	return Line{space + c, twiddles, log, t, shift, 3};
}

DEVICE void radix2(F2 &a, F2 &b) {
	F2 s = a + b;
	b = a - b;
	a = s;
}
DEVICE void radix4(F2 &a, F2 &b, F2 &c, F2 &d) {
	radix2(a, c);
	radix2(b, d);
	d = F2{d.y, -d.x};
	radix2(a, b);
	radix2(c, d);
	F2 s = b;
	b = c;
	c = s;
}
DEVICE void radix8(F2 (&v)[8]) {
	const float half = 0.70710678118654752f; // √½
	radix4(v[0], v[2], v[4], v[6]);
	radix4(v[1], v[3], v[5], v[7]);
	v[3] = F2{v[3].x + v[3].y, v[3].y - v[3].x} * half;
	v[5] = F2{v[5].y, -v[5].x};
	v[7] = F2{v[7].y - v[7].x, -v[7].x - v[7].y} * half;
	F2 a[4] = {v[0], v[2], v[4], v[6]}, b[4] = {v[1], v[3], v[5], v[7]};
	for (int k = 0; k < 4; k++) {
		v[k] = a[k] + b[k];
		v[k + 4] = a[k] - b[k];
	}
}

// The first pass, of radix 2, 4 or 8, such that those after it are of radix 8. Returns the logarithm of the radix.
DEVICE int firstPass(F2 (&v)[8], const Line &l) {
	int n = l.threads();
	if (l.log % 3 == 0) {
		radix8(v);
		F2 *to = l.at + l.place(8 * l.t);
		for (int r = 0; r < 8; r++) to[r << l.shift] = v[r];
		return 3;
	}
	if (l.log % 3 == 1) {
		F2 *to = l.at + l.place(2 * l.t);
		for (int q = 0; q < 4; q++) {
			radix2(v[q], v[q + 4]);
			for (int r = 0; r < 2; r++) to[l.place(2 * q * n) + (r << l.shift)] = v[q + 4 * r];
		}
		return 1;
	}
	F2 *to = l.at + l.place(4 * l.t);
	for (int q = 0; q < 2; q++) {
		radix4(v[q], v[q + 2], v[q + 4], v[q + 6]);
		for (int r = 0; r < 4; r++) to[l.place(4 * q * n) + (r << l.shift)] = v[q + 2 * r];
	}
	return 2;
}
// A pass of radix 8 after lines of 2^s numbers were transformed.
DEVICE void laterPass(F2 (&v)[8], const Line &l, int s) {
	int k = l.t & ((1 << s) - 1), n = l.threads();
	const F2 *twiddles = l.twiddles + k, *from = l.at + l.place(l.t);
	F2 w[8];
	for (int r = 1; r < 8; r++) w[r] = tabled(twiddles + (r << s));
	sync();
	for (int m = 0; m < 8; m++) v[m] = from[l.place(m * n)];
	for (int r = 1; r < 8; r++) v[r] = times(v[r], w[r]);
	radix8(v);
	if (s + 3 == l.log) return;
	sync();
	F2 *to = l.at + l.place(((l.t >> s) << (s + 3)) + k);
	for (int r = 0; r < 8; r++) to[l.place(r << s)] = v[r];
}
// fft transforms the lines of a block. All its threads take part; before shared memory is used again they must sync. LOG
// is log, or 0 if that is not known when compiling.
template <int LOG = 0> DEVICE void fft(F2 (&v)[8], const Line &l) {
	int s = firstPass(v, l);
	if constexpr (LOG) {
#pragma unroll
		for (int i = 0; i < (LOG - 1) / 3; i++) laterPass(v, l, s + 3 * i);
	} else {
#pragma unroll 1
		for (; s < l.log; s += 3) laterPass(v, l, s);
	}
}

// |z|, and in direction z/|z|, 0 for 0, where squares may overflow or underflow: z is scaled by 2^±100 then. 2^−126 added to
// a scaled square changes no modulus, as 2^−63·2^−100 is 0, but keeps 1/√0 finite.
DEVICE float modulus(F2 z, F2 &direction) {
	float s = z.x * z.x + z.y * z.y, y, up = s > 1e-30f ? s < 1e30f ? 1.f : 0x1p-100f : 0x1p100f;
	z *= up;
	s = z.x * z.x + (z.y * z.y + 0x1p-126f);
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(s));
	float r = s * y; // a step of Newton's method for √s and for 1/√s
	r += 0.5f * y * (s - r * r);
	y += 0.5f * y * (1 - r * y);
	direction = z * y;
	return r * bits(0x7f000000 - bits(up));
}
