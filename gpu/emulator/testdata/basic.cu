// Kernels for the tests of the emulator, in the style of gpu/kernels.
#include "../../kernels/dev.h"

struct SaxpyP { const float *x; float *y; i32 n; float a; };
KERNEL saxpy(SaxpyP p) {
	for (i32 i = bx() * bdx() + tx(); i < p.n; i += bdx() * gdx()) p.y[i] = p.a * p.x[i] + p.y[i];
}

struct TransposeP { const float *x; float *y; i32 w, h; };
KERNEL BOUNDS(256) transpose(TransposeP p) {
	SHARED float t[32][33];
	i32 x = bx() * 32 + tx(), y = by() * 32 + ty();
	for (i32 j = 0; j < 32; j += 8)
		if (x < p.w && y + j < p.h) t[ty() + j][tx()] = p.x[(y + j) * p.w + x];
	sync();
	x = by() * 32 + tx(), y = bx() * 32 + ty();
	for (i32 j = 0; j < 32; j += 8)
		if (x < p.h && y + j < p.w) p.y[(y + j) * p.h + x] = t[tx()][ty() + j];
}

struct SumP { const void *x; float *y; i32 n, dtype; };
KERNEL sum(SumP p) {
	SHARED float scratch[32];
	float s = 0;
	for (i32 i = tx(); i < p.n; i += bdx()) s += load(p.x, i, p.dtype);
	s = blockSum(s, scratch);
	if (tx() == 0) *p.y = s;
}

struct CastP { const float *x; void *y; i32 n, dtype; };
KERNEL cast(CastP p) {
	i32 i = bx() * bdx() + tx();
	if (i < p.n) store(p.y, i, p.dtype, p.x[i]);
}

// A loop whose count differs by lane, with a branch inside.
struct CollatzP { const u32 *x; u32 *y; i32 n; };
KERNEL collatz(CollatzP p) {
	i32 i = bx() * bdx() + tx();
	if (i >= p.n) return;
	u32 v = p.x[i], steps = 0;
	while (v != 1) {
		if (v & 1) v = 3 * v + 1;
		else v >>= 1;
		steps++;
	}
	p.y[i] = steps;
}

// Local memory with a dynamic index, and 64-bit division.
struct LocalP { const u32 *x; u64 *y; i32 n; };
KERNEL local(LocalP p) {
	u32 digits[20];
	i32 i = bx() * bdx() + tx();
	if (i >= p.n) return;
	u64 v = p.x[i] * 4294967291ull;
	i32 k = 0;
	for (; v; v /= 10) digits[k++] = v % 10;
	u64 r = 0;
	for (i32 j = 0; j < k; j++) r = r * 10 + digits[j];
	p.y[i] = r;
}
