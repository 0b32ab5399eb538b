// Ptychography: fields from amplitude and phase, patches and their sums, probes, intensities, and the loss of counts
// (spec/ptycho-cyto.md §A1.3–A1.5). Functions are computed in float64: there are few elements beside the products of the network.
#include "complex.h"
#include "loss.h"

DEVICE double bits64(u64 x) { return __builtin_bit_cast(double, x); }

// sin x and cos x by Taylor's series of what is left of x beside the nearest multiple of π/2, a constant in two parts.
DEVICE void sineCosine(float phase, double &sin, double &cos) {
	double x = phase, n = __builtin_rint(x * 0.63661977236758134);
	double r = __builtin_fma(n, -1.5707963267948966, x);
	r = __builtin_fma(n, -6.123233995736766e-17, r);
	double t = r * r;
	double s = __builtin_fma(t, 1.0 / 6227020800, -1.0 / 39916800);
	s = __builtin_fma(t, s, 1.0 / 362880);
	s = __builtin_fma(t, s, -1.0 / 5040);
	s = __builtin_fma(t, s, 1.0 / 120);
	s = __builtin_fma(t, s, -1.0 / 6);
	s = __builtin_fma(t * r, s, r);
	double c = __builtin_fma(t, 1.0 / 479001600, -1.0 / 3628800);
	c = __builtin_fma(t, c, 1.0 / 40320);
	c = __builtin_fma(t, c, -1.0 / 720);
	c = __builtin_fma(t, c, 1.0 / 24);
	c = __builtin_fma(t, c, -0.5);
	c = __builtin_fma(t, c, 1);
	int quadrant = (int)(n - 4 * __builtin_floor(n / 4));
	bool odd = quadrant & 1;
	sin = odd ? c : s;
	cos = odd ? s : c;
	if (quadrant & 2) sin = -sin;
	if (quadrant + 1 & 2) cos = -cos;
}

// e^x; beyond the range of float32, 0 or infinity once it is rounded to that.
DEVICE double exponential(double x) {
	x = x < -200 ? -200 : x > 200 ? 200 : x;
	double n = __builtin_rint(x * 1.4426950408889634);
	double r = __builtin_fma(n, -0.69314718055994531, x);
	r = __builtin_fma(n, -2.3190468138462996e-17, r);
	double p = 1.0 / 479001600;
	p = __builtin_fma(p, r, 1.0 / 39916800);
	p = __builtin_fma(p, r, 1.0 / 3628800);
	p = __builtin_fma(p, r, 1.0 / 362880);
	p = __builtin_fma(p, r, 1.0 / 40320);
	p = __builtin_fma(p, r, 1.0 / 5040);
	p = __builtin_fma(p, r, 1.0 / 720);
	p = __builtin_fma(p, r, 1.0 / 120);
	p = __builtin_fma(p, r, 1.0 / 24);
	p = __builtin_fma(p, r, 1.0 / 6);
	p = __builtin_fma(p, r, 0.5);
	p = __builtin_fma(p, r, 1);
	p = __builtin_fma(p, r, 1);
	return p * bits64((u64)((int)n + 1023) << 52);
}

// ln x: of x = 2^n·m with m in [√½, √2), n·ln 2 + 2·artanh((m − 1)/(m + 1)) by its series, to about 1e-13.
DEVICE double logarithm(double x) {
	if (!(x > 0)) return x == 0 ? bits64(0xfff0000000000000) : bits64(0x7ff8000000000000);
	u64 b = __builtin_bit_cast(u64, x);
	if (b >= 0x7ff0000000000000) return x; // infinite
	int n = (int)(b >> 52) - 1023;
	double m = bits64((b & 0xfffffffffffff) | 0x3ff0000000000000);
	if (m > 1.4142135623730951) m /= 2, n++;
	double s = (m - 1) / (m + 1), t = s * s;
	double p = 1.0 / 15;
	p = __builtin_fma(p, t, 1.0 / 13);
	p = __builtin_fma(p, t, 1.0 / 11);
	p = __builtin_fma(p, t, 1.0 / 9);
	p = __builtin_fma(p, t, 1.0 / 7);
	p = __builtin_fma(p, t, 1.0 / 5);
	p = __builtin_fma(p, t, 1.0 / 3);
	p = __builtin_fma(p * t, s, s);
	return __builtin_fma((double)n, 0.69314718055994531, 2 * p);
}

// z = a·(cos φ + i·sin φ).
struct PolarP { const float *a, *phase; F2 *z; i64 n; };
KERNEL BOUNDS(256) polar(PolarP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		double a = p.a[i], sin, cos;
		sineCosine(p.phase[i], sin, cos);
		p.z[i] = F2{(float)(a * cos), (float)(a * sin)};
	}
}

// ga = Re gz·cos φ + Im gz·sin φ and gφ = a·(Im gz·cos φ − Re gz·sin φ).
struct PolarGradP { const float *a, *phase; const F2 *gz; float *ga, *gphase; i64 n; };
KERNEL BOUNDS(256) polar_grad(PolarGradP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		F2 g = p.gz[i];
		double a = p.a[i], sin, cos;
		sineCosine(p.phase[i], sin, cos);
		p.ga[i] = (float)(g.x * cos + g.y * sin);
		p.gphase[i] = (float)(a * (g.y * cos - g.x * sin));
	}
}

// A translation along one axis: y[i] = (1 − part)·x[i − whole] + part·x[i − whole − 1]. No plane has what one beyond FAR
// pixels, or by a NaN, moves into it.
struct Shift { i32 whole; float part; };
enum { FAR = 1 << 20 };
DEVICE Shift shiftBy(float by) {
	float whole = __builtin_floorf(by);
	if (!(whole > -FAR && whole < FAR)) return Shift{FAR, 0};
	return Shift{(i32)whole, by - whole};
}

// Pixel (i, j) of a plane of to×to pixels, onto which one of from×from with the same centre is translated. A pixel without
// weight is not read.
DEVICE F2 translated(const F2 *x, i32 from, i32 to, i32 i, i32 j, Shift rows, Shift columns) {
	i32 margin = (to - from) / 2;
	F2 v = 0;
#pragma unroll
	for (int down = 0; down < 2; down++) {
		i32 row = i - margin - rows.whole - down;
		float rowWeight = down ? rows.part : 1 - rows.part;
#pragma unroll
		for (int right = 0; right < 2; right++) {
			i32 column = j - margin - columns.whole - right;
			float weight = (right ? columns.part : 1 - columns.part) * rowWeight;
			if (weight != 0 && row >= 0 && row < from && column >= 0 && column < from) v += weight * x[row * from + column];
		}
	}
	return v;
}

// Groups of patches and the canvas of each: a patch of z[groups, channels, patch, patch], a canvas of o[groups, canvas, canvas],
// and offsets[groups, channels, 2], x before y. n counts the result's pixels.
struct PatchesP { const F2 *x; const float *offsets; F2 *y; i32 n, channels, patch, canvas; };

// Canvases: the sums of the patches, translated by −offset.
KERNEL BOUNDS(256) sum_patches(PatchesP p) {
	for (u32 e = bx() * 256 + tx(); e < (u32)p.n; e += gdx() * 256) {
		u32 row = e / (u32)p.canvas, group = row / (u32)p.canvas;
		i32 i = (i32)(row - group * p.canvas), j = (i32)(e - row * p.canvas);
		F2 sum = 0;
#pragma unroll 1
		for (i32 c = 0; c < p.channels; c++) {
			i32 at = group * p.channels + c;
			Shift columns = shiftBy(-p.offsets[2 * at]), rows = shiftBy(-p.offsets[2 * at + 1]);
			sum += translated(p.x + (i64)at * p.patch * p.patch, p.patch, p.canvas, i, j, rows, columns);
		}
		p.y[e] = sum;
	}
}

// Patches: the canvas of each, translated by the offset.
KERNEL BOUNDS(256) extract_patches(PatchesP p) {
	for (u32 e = bx() * 256 + tx(); e < (u32)p.n; e += gdx() * 256) {
		u32 row = e / (u32)p.patch, at = row / (u32)p.patch, group = at / (u32)p.channels;
		i32 i = (i32)(row - at * p.patch), j = (i32)(e - row * p.patch);
		Shift columns = shiftBy(p.offsets[2 * at]), rows = shiftBy(p.offsets[2 * at + 1]);
		p.y[e] = translated(p.x + (i64)group * p.canvas * p.canvas, p.canvas, p.patch, i, j, rows, columns);
	}
}

// What a translation makes at i of the indicator of the central support of side pixels.
DEVICE float cover(i32 i, i32 side, i32 support, Shift by) {
	i32 k = i - by.whole - (side - support) / 2;
	float v = 0;
	if (k >= 0 && k < support) v = 1 - by.part;
	if (k >= 1 && k <= support) v += by.part;
	return v;
}

// y = z/(Σ of what the patches' supports cover + epsilon).
struct CoverageP { const F2 *z; const float *offsets; F2 *y; i32 n, channels, side, support; float epsilon; i32 pad; };
KERNEL BOUNDS(256) divide_by_coverage(CoverageP p) {
	for (u32 e = bx() * 256 + tx(); e < (u32)p.n; e += gdx() * 256) {
		u32 row = e / (u32)p.side, group = row / (u32)p.side;
		i32 i = (i32)(row - group * p.side), j = (i32)(e - row * p.side);
		float total = p.epsilon;
#pragma unroll 1
		for (i32 c = 0; c < p.channels; c++) {
			i32 at = group * p.channels + c;
			total += cover(i, p.side, p.support, shiftBy(-p.offsets[2 * at + 1])) * cover(j, p.side, p.support, shiftBy(-p.offsets[2 * at]));
		}
		F2 z = p.z[e];
		p.y[e] = F2{z.x / total, z.y / total};
	}
}

// y = z·probe, or z times its conjugate: of each plane, by the probe's real parts and then its imaginary ones.
struct ProbeP { const F2 *z; const float *probe; F2 *y; i64 n, plane; i32 conjugate, pad; };
KERNEL BOUNDS(256) probe_multiply(ProbeP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		i64 at = i % p.plane;
		float imaginary = p.probe[p.plane + at];
		p.y[i] = times(p.z[i], F2{p.probe[at], p.conjugate ? -imaginary : imaginary});
	}
}

// y = |z|², and its gradient gz = 2·gy·z.
struct IntensityP { const F2 *z; const float *gy; float *y; F2 *gz; i64 n; };
KERNEL BOUNDS(256) intensity(IntensityP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		F2 z = p.z[i];
		p.y[i] = z.x * z.x + z.y * z.y;
	}
}
KERNEL BOUNDS(256) intensity_grad(IntensityP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) p.gz[i] = 2 * p.gy[i] * p.z[i];
}

// y = x·e^(power·s).
struct ExpScaleP { const void *x; const float *s; void *y; i64 n; float power; i32 xType, yType, pad; };
KERNEL BOUNDS(256) exp_scale(ExpScaleP p) {
	SHARED static float factor;
	if (tx() == 0) factor = (float)exponential((double)p.power * *p.s);
	sync();
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) store(p.y, i, p.yType, factor * load(p.x, i, p.xType));
}

// Sums of a block: Σ x·y, or Σ x − y·ln(x + epsilon) for an epsilon above 0.
struct TermsP { const void *x, *y; double *sums; i64 n; double epsilon; i32 xType, yType; };
KERNEL BOUNDS(256) terms(TermsP p) {
	SHARED static double scratch[2][8];
	double sum = 0, none = 0;
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		double x = load(p.x, i, p.xType), y = load(p.y, i, p.yType);
		sum += p.epsilon > 0 ? x - y * logarithm(x + p.epsilon) : x * y;
	}
	blockTotals(sum, none, scratch);
	if (tx() == 0) p.sums[bx()] = sum;
}

// y = factor·Σ sums.
struct TermsTotalP { const double *sums; float *y; double factor; i32 blocks, pad; };
KERNEL BOUNDS(256) terms_total(TermsTotalP p) {
	SHARED static double scratch[2][8];
	double sum = 0, none = 0;
	for (int i = (int)tx(); i < p.blocks; i += 256) sum += p.sums[i];
	blockTotals(sum, none, scratch);
	if (tx() == 0) *p.y = (float)(p.factor * sum);
}

// gp = g/n·(1 − t/(p + epsilon)).
struct PoissonGradP { const void *p, *t; const float *g; void *gp; i64 n; double epsilon; i32 pType, tType, gpType, pad; };
KERNEL BOUNDS(256) poisson_grad(PoissonGradP p) {
	double factor = (double)*p.g / (double)p.n;
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		double expected = load(p.p, i, p.pType), count = load(p.t, i, p.tType);
		store(p.gp, i, p.gpType, (float)(factor * (1 - count / (expected + p.epsilon))));
	}
}
