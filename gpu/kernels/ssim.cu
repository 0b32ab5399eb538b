#include "loss.h"

// SSIM with a Gaussian window of 11 taps and reflecting borders (spec/prism.md §5.5) of two planes at up to five scales.
// With bars denoting blurred planes, σp² = (p²)‾ − p̄·p̄ and so on,
//
//	SSIM = (2·p̄·t̄ + C1)(2·σpt + C2) / ((p̄² + t̄² + C1)(σp² + σt² + C2))
//
// and the contrast-structure part is the second factor over the fourth. The maps are the derivatives of each pixel's
// value with respect to p̄, p²‾ (doubled) and pt‾. The gradient blurs them with the adjoint of the blur. As the blur
// reflects at the borders, an inner pixel counts once more per reflection, a border pixel does not: A = B·D with B
// symmetric and D halving the border, and Aᵀ = D·A·D⁻¹. The maps are stored with D⁻¹ applied.

enum { SCALES = 5, PAD = 5, TAPS = 2 * PAD + 1, WIDE = 32, HIGH = 16, SPAN = WIDE + 2 * PAD, REACH = HIGH + 2 * PAD };

// Scale is planes of h×w and the number of the first of their tiles of 32×16 pixels; full is for SSIM, else the
// contrast-structure part.
struct Scale { const float *p, *t; float *maps, *gradient; i32 h, w, first, full; };

// The scale of a tile. Dynamic indices into a parameter would copy it to memory.
DEVICE Scale scaleOf(const Scale (&scales)[SCALES], int count, int tile, int &index) {
	Scale s = scales[0];
	index = 0;
#pragma unroll
	for (int i = 1; i < SCALES; i++)
		if (i < count && tile >= scales[i].first) {
			s = scales[i];
			index = i;
		}
	return s;
}

// Position i continued beyond the ends without repeating the edge; positions that no pixel of the plane needs are moved
// onto it.
DEVICE int reflected(int i, int n) {
	if (i < 0) i = -i;
	if (i >= n) i = 2 * (n - 1) - i;
	return i < 0 ? 0 : i;
}

// The weight of a tap.
DEVICE float tap(const float (&window)[PAD + 1], int k) { return window[k < PAD ? PAD - k : k - PAD]; }

DEVICE bool border(int i, int n) { return i == 0 || i == n - 1; }

// The maps, and for each tile the sum of 2·(1 − value). Grid: tiles.
struct SsimMapsP { Scale scales[SCALES]; float *sums; float window[PAD + 1]; i32 count; };
KERNEL BOUNDS(256) ssim_maps(SsimMapsP p) {
	SHARED static float planes[2][REACH][SPAN], rows[4][REACH][WIDE], scratch[32];
	int index;
	Scale s = scaleOf(p.scales, p.count, (int)bx(), index);
	int tile = (int)bx() - s.first, across = (s.w + WIDE - 1) / WIDE, top = tile / across * HIGH, left = tile % across * WIDE;
	for (int i = (int)tx(); i < REACH * SPAN; i += 256) {
		int r = i / SPAN, c = i % SPAN, at = reflected(top + r - PAD, s.h) * s.w + reflected(left + c - PAD, s.w);
		planes[0][r][c] = s.p[at];
		planes[1][r][c] = s.t[at];
	}
	sync();
	for (int i = (int)tx(); i < REACH * WIDE; i += 256) {
		int r = i / WIDE, c = i % WIDE;
		float sums[4] = {0, 0, 0, 0};
#pragma unroll
		for (int k = 0; k < TAPS; k++) {
			float w = tap(p.window, k), a = planes[0][r][c + k], b = planes[1][r][c + k];
			sums[0] += w * a;
			sums[1] += w * b;
			sums[2] += w * ((a - b) * (a - b));
			sums[3] += w * (a * b);
		}
		for (int m = 0; m < 4; m++) rows[m][r][c] = sums[m];
	}
	sync();
	float sum = 0;
	int c = (int)tx() % WIDE, x = left + c;
	for (int r = (int)tx() / WIDE; r < HIGH; r += 8) {
		int y = top + r;
		if (y >= s.h || x >= s.w) continue;
		float moments[4] = {0, 0, 0, 0};
#pragma unroll
		for (int k = 0; k < TAPS; k++)
			for (int m = 0; m < 4; m++) moments[m] += tap(p.window, k) * rows[m][r + k][c];
		// 1−S = (A1·σd² + B2·(p̄−t̄)²)/(B1·B2) with σd² the variance of p − t: accurate for nearly equal planes.
		const float c1 = 1e-4f, c2 = 9e-4f;
		float a = moments[0], b = moments[1], mean, square, product;
		float d = (a - b) * (a - b), variance = moments[2] - d, a2 = 2 * (moments[3] - a * b) + c2, b2 = a2 + variance;
		if (s.full) {
			float a1 = 2 * a * b + c1, b1 = a1 + d, inverse = 2 / (b1 * b2);
			product = a1 * inverse;
			float half = -a2 * product / 2;
			sum += (a1 * variance + b2 * d) * inverse;
			mean = inverse * (b * (a2 - a1) - a * half * (b1 - b2));
			square = half * b1 * inverse;
		} else {
			product = 2 / b2;
			float half = -a2 * product / 2;
			sum += variance * product;
			mean = (-a * half - b) * product;
			square = half * product;
		}
		float weight = (border(y, s.h) ? 2.f : 1.f) * (border(x, s.w) ? 2.f : 1.f);
		float *to = s.maps + y * s.w + x;
		to[0] = weight * mean;
		to[s.h * s.w] = weight * square;
		to[2 * s.h * s.w] = weight * product;
	}
	sum = blockSum(sum, scratch);
	if (tx() == 0) p.sums[bx()] = sum;
}

// The gradient at a scale, factor·(Aᵀmean + p·Aᵀsquare + t·Aᵀproduct). The first scale also adds the gradients of the
// coarser ones, spread over the pixels that were pooled. factor is upstream·constant, times factors[scale] if there are
// factors. Grid: tiles from first on.
struct SsimGradP { Scale scales[SCALES]; const float *factors, *upstream; float constant; float window[PAD + 1]; i32 count, first; };
KERNEL BOUNDS(256) ssim_grad(SsimGradP p) {
	SHARED static float maps[3][REACH][SPAN], rows[3][REACH][WIDE];
	int index;
	Scale s = scaleOf(p.scales, p.count, (int)bx() + p.first, index);
	int tile = (int)bx() + p.first - s.first, across = (s.w + WIDE - 1) / WIDE, top = tile / across * HIGH, left = tile % across * WIDE;
	for (int i = (int)tx(); i < REACH * SPAN; i += 256) {
		int r = i / SPAN, c = i % SPAN, at = reflected(top + r - PAD, s.h) * s.w + reflected(left + c - PAD, s.w);
		for (int m = 0; m < 3; m++) maps[m][r][c] = s.maps[m * s.h * s.w + at];
	}
	sync();
	for (int i = (int)tx(); i < REACH * WIDE; i += 256) {
		int r = i / WIDE, c = i % WIDE;
		float sums[3] = {0, 0, 0};
#pragma unroll
		for (int k = 0; k < TAPS; k++)
			for (int m = 0; m < 3; m++) sums[m] += tap(p.window, k) * maps[m][r][c + k];
		for (int m = 0; m < 3; m++) rows[m][r][c] = sums[m];
	}
	sync();
	float factor = *p.upstream * p.constant;
	if (p.factors) factor *= p.factors[index];
	int c = (int)tx() % WIDE, x = left + c;
	for (int r = (int)tx() / WIDE; r < HIGH; r += 8) {
		int y = top + r;
		if (y >= s.h || x >= s.w) continue;
		float sums[3] = {0, 0, 0};
#pragma unroll
		for (int k = 0; k < TAPS; k++)
			for (int m = 0; m < 3; m++) sums[m] += tap(p.window, k) * rows[m][r + k][c];
		int at = y * s.w + x;
		float g = factor * (sums[0] + s.p[at] * sums[1] + s.t[at] * sums[2]);
		g *= (border(y, s.h) ? 0.5f : 1.f) * (border(x, s.w) ? 0.5f : 1.f);
		if (index == 0) {
			float share = 1;
#pragma unroll
			for (int i = 1; i < SCALES; i++) {
				share *= 0.25f;
				if (i < p.count && y >> i < p.scales[i].h && x >> i < p.scales[i].w)
					g += share * p.scales[i].gradient[(y >> i) * p.scales[i].w + (x >> i)];
			}
		}
		s.gradient[at] = g;
	}
}

// The planes of the coarser scales, means of 2×2 pixels. Grid: squares of 32×32 pixels; predictions, targets.
struct SsimPoolP { const float *p, *t; float *coarseP[SCALES - 1], *coarseT[SCALES - 1]; i32 h, w, count; };
KERNEL BOUNDS(256) ssim_pool(SsimPoolP p) {
	SHARED static float squares[2][32][33];
	int across = (p.w + 31) / 32, top = (int)bx() / across * 32, left = (int)bx() % across * 32;
	const float *from = by() ? p.t : p.p;
	for (int i = (int)tx(); i < 1024; i += 256) {
		int y = top + i / 32, x = left + i % 32;
		squares[0][i / 32][i % 32] = y < p.h && x < p.w ? from[y * p.w + x] : 0;
	}
	int h = p.h, w = p.w;
#pragma unroll
	for (int level = 1; level < SCALES; level++) {
		int side = 32 >> level;
		if (level >= p.count) break;
		top /= 2, left /= 2, h /= 2, w /= 2;
		sync();
		float *to = by() ? p.coarseT[level - 1] : p.coarseP[level - 1];
		int r = (int)tx() / side, c = (int)tx() % side;
		if (r >= side) continue;
		float (&x)[32][33] = squares[(level - 1) % 2];
		float v = 0.25f * ((x[2 * r][2 * c] + x[2 * r][2 * c + 1]) + (x[2 * r + 1][2 * c] + x[2 * r + 1][2 * c + 1]));
		squares[level % 2][r][c] = v;
		if (top + r < h && left + c < w) to[(top + r) * w + left + c] = v;
	}
}

// log x of a normal positive x, or of a NaN: twice the series of artanh((m−1)/(m+1)) for a mantissa m of √½ to √2.
DEVICE double logarithm(double x) {
	if (x != x) return x;
	const double ln2 = 0.693147180559945309;
	u64 b = __builtin_bit_cast(u64, x);
	int e = (int)(b >> 52) - 1023;
	double m = __builtin_bit_cast(double, (b & 0xfffffffffffffull) | 0x3ff0000000000000ull);
	if (m > 1.41421356) {
		m *= 0.5;
		e++;
	}
	double z = (m - 1) / (m + 1), q = z * z, sum = 0;
#pragma unroll
	for (int k = 10; k >= 0; k--) sum = sum * q + 1.0 / (2 * k + 1);
	return e * ln2 + 2 * z * sum;
}
// exp x of an x from −100 to 0, or of a NaN: the series of the part of x below ½·ln 2.
DEVICE double exponential(double x) {
	const double ln2 = 0.693147180559945309;
	int n = (int)(x / ln2 - 0.5);
	double r = x - n * ln2, sum = 0;
	const double inverse[] = {1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600};
#pragma unroll
	for (int k = 12; k >= 0; k--) sum = sum * r + inverse[k];
	return sum * __builtin_bit_cast(double, (u64)(n + 1023) << 52);
}

// The loss: (1 − SSIM)/2 of one scale without factors, else (1 − Π meanᵢ^weightᵢ)/2 and the factors ∂loss/∂(one pixel of
// scale i's map). Scale i has the tiles tiles[i] to tiles[i+1] − 1. One block.
struct SsimTotalP {
	const float *sums; float *loss, *factors; double weights[SCALES], pixels[SCALES]; i32 tiles[SCALES + 1], count;
};
KERNEL BOUNDS(256) ssim_total(SsimTotalP p) {
	SHARED static double scratch[2][8];
	double means[SCALES], exponent = 0, lack = 0;
#pragma unroll
	for (int i = 0; i < SCALES; i++) {
		means[i] = 0;
		if (i >= p.count) continue;
		double sum = 0, none = 0;
		for (int k = p.tiles[i] + (int)tx(); k < p.tiles[i + 1]; k += 256) sum += p.sums[k];
		blockTotals(sum, none, scratch);
		lack = sum / (2 * p.pixels[i]);
		means[i] = 1 - lack;
		if (p.factors) exponent += p.weights[i] * logarithm(means[i] < 1e-10 ? 1e-10 : means[i] > 1 ? 1 : means[i]);
	}
	if (tx() != 0) return;
	if (!p.factors) {
		*p.loss = (float)(lack / 2);
		return;
	}
	double product = exponential(exponent);
	*p.loss = (float)((1 - product) / 2);
#pragma unroll
	for (int i = 0; i < SCALES; i++) {
		if (i >= p.count) continue;
		bool inside = means[i] >= 1e-10 && means[i] <= 1; // the clamp is flat outside
		p.factors[i] = inside ? (float)(-0.5 * product * p.weights[i] / means[i] / p.pixels[i]) : 0;
	}
}
