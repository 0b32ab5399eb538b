// Batch normalisation: statistics of each channel over images and pixels, the normalised values and their gradient. A
// channel of up to 16,384 values is one block, which keeps them in registers between the statistics and the results. A
// larger one is divided into parts of whole tiles: a first launch sums the parts, and every block of the second adds up
// the sums of its channel before it computes results.
#include "vector.h"

// Images [N, C, plane]. count is N·plane.
struct ImageP { i32 images, channels, plane, count; };

// A thread holds 16 values of a channel, as units of 4 consecutive ones at these offsets.
enum { UNITS = 4, HELD = 4 * UNITS, TILE = HELD * 256, NOWHERE = -1 };

// The offset of value e of channel c.
DEVICE u32 offsetOf(const ImageP &m, u32 c, u32 e) {
	if (m.images == 1) return c * m.plane + e;
	u32 image = e / (u32)m.plane;
	return (image * m.channels + c) * m.plane + (e - image * m.plane);
}

// The offsets of this thread's units among the values first to end of channel c.
DEVICE void unitsOf(u32 *at, const ImageP &m, u32 c, u32 first, u32 end) {
#pragma unroll
	for (int k = 0; k < UNITS; k++) {
		u32 e = first + 4 * (k * bdx() + tx());
		at[k] = e < end ? offsetOf(m, c, e) : (u32)NOWHERE;
	}
}

// Reads the units, 0 for those that are nowhere.
template <int T> DEVICE void readAs(float *v, const void *x, const u32 *at) {
	U2 raw[UNITS];
#pragma unroll
	for (int k = 0; k < UNITS; k++) {
		F4 u = {0, 0, 0, 0};
		raw[k] = U2{0, 0};
		if (at[k] != (u32)NOWHERE) {
			if constexpr (T == F32) u = *(const F4 *)((const float *)x + at[k]);
			else raw[k] = *(const U2 *)((const u16 *)x + at[k]);
		}
#pragma unroll
		for (int j = 0; j < 4; j++) v[4 * k + j] = u[j];
	}
	if constexpr (T != F32) {
#pragma unroll
		for (int k = 0; k < UNITS; k++) {
			F4 u = widen(raw[k], T);
#pragma unroll
			for (int j = 0; j < 4; j++) v[4 * k + j] = u[j];
		}
	}
}
DEVICE void read(float *v, const void *x, int dtype, const u32 *at) {
	if (dtype == F32) readAs<F32>(v, x, at);
	else if (dtype == BF16) readAs<BF16>(v, x, at);
	else readAs<FP16>(v, x, at);
}

// Values that a convolution left as sums over parts of its products, each like the image. They are
// rounded to the image's type, and stored there if keep is set.
struct PartsP { const float *sums; i32 count, total, keep, pad; };

template <int T> DEVICE void writeAs(const float *v, void *y, const u32 *at) {
#pragma unroll
	for (int k = 0; k < UNITS; k++)
		if (at[k] != (u32)NOWHERE) store4(y, at[k], T, F4{v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]});
}
DEVICE void write(const float *v, void *y, int dtype, const u32 *at) {
	if (dtype == F32) writeAs<F32>(v, y, at);
	else if (dtype == BF16) writeAs<BF16>(v, y, at);
	else writeAs<FP16>(v, y, at);
}

// Reads the units of image x from what a convolution left.
DEVICE void finish(const PartsP &parts, float *v, const void *x, int dtype, const u32 *at) {
#pragma unroll
	for (int k = 0; k < UNITS; k++) {
		F4 u = {0, 0, 0, 0};
		if (at[k] != (u32)NOWHERE) {
			const float *from = parts.sums + at[k];
#pragma unroll 8
			for (int q = 0; q < parts.count; q++) u += *(const F4 *)(from + (i64)q * parts.total);
			if (dtype != F32) u = widen(narrow(u, dtype), dtype);
		}
#pragma unroll
		for (int j = 0; j < 4; j++) v[4 * k + j] = u[j];
	}
	if (parts.keep) write(v, (void *)x, dtype, at);
}

// The mean of count values, of which this thread holds some, and the sum of their squared differences from it.
struct Moments { float mean, squares; };
DEVICE Moments momentsOf(const float *v, const u32 *at, u32 count, float *scratch) {
	float quarters[4] = {0, 0, 0, 0}, squares = 0;
#pragma unroll
	for (int i = 0; i < HELD; i++) quarters[i % 4] += v[i];
	float mean = totalOf(quarters[0] + quarters[1] + (quarters[2] + quarters[3]), scratch) / (float)count;
#pragma unroll
	for (int i = 0; i < HELD; i++) {
		float d = at[i / 4] != (u32)NOWHERE ? v[i] - mean : 0;
		squares = __builtin_fmaf(d, d, squares);
	}
	return Moments{mean, totalOf(squares, scratch + 32)};
}

// BatchNorm. Part i of channel c has the values from i·part on; its moments are at parts[c·count + i].
struct NormP {
	const void *x;
	void *y;
	const float *gamma, *beta;
	float *runningMean, *runningVar, *mean, *inverse;
	Moments *parts;
	PartsP unfinished; // x, of norm_finish
	ImageP image;
	i32 part, partCount;
	i32 xType, yType, relu;
	float eps, momentum, unbiased; // unbiased is count/(count−1)
};

DEVICE float normalised(float x, float mean, float factor, float beta) { return __builtin_fmaf(x - mean, factor, beta); }

// What a channel has before the step. It is read before the values, so that nothing waits for it after the statistics.
struct Before { float gamma, beta, runningMean, runningVar; };
DEVICE Before before(const NormP &p, u32 c, bool writes) {
	Before b = {p.gamma[c], p.beta[c], 0, 0};
	if (writes) {
		b.runningMean = p.runningMean[c];
		b.runningVar = p.runningVar[c];
	}
	return b;
}

// Writes what the channel's moments give, and returns its inverse standard deviation.
DEVICE float inverseOf(const NormP &p, Before b, Moments s, u32 c, bool writes) {
	float variance = s.squares / (float)p.image.count;
	float inverse = 1 / __builtin_sqrtf(variance + p.eps);
	if (writes) {
		p.mean[c] = s.mean;
		p.inverse[c] = inverse;
		p.runningMean[c] = (1 - p.momentum) * b.runningMean + p.momentum * s.mean;
		p.runningVar[c] = (1 - p.momentum) * b.runningVar + p.momentum * (variance * p.unbiased);
	}
	return inverse;
}

// Normalises this thread's values.
DEVICE void normalise(const NormP &p, Before b, float *v, const u32 *at, Moments s, u32 c, bool writes) {
	float factor = b.gamma * inverseOf(p, b, s, c, writes);
#pragma unroll
	for (int i = 0; i < HELD; i++) {
		v[i] = normalised(v[i], s.mean, factor, b.beta);
		if (p.relu) v[i] = v[i] < 0 ? 0 : v[i]; // a NaN stays one
	}
	write(v, p.y, p.yType, at);
}

// Normalises channel bx.
KERNEL BOUNDS(1024) norm_channel(NormP p) {
	SHARED float scratch[64];
	u32 at[UNITS];
	float v[HELD];
	Before b = before(p, bx(), tx() == 0);
	unitsOf(at, p.image, bx(), 0, p.image.count);
	read(v, p.x, p.xType, at);
	normalise(p, b, v, at, momentsOf(v, at, p.image.count, scratch), bx(), tx() == 0);
}

// The same for a channel of up to TILE values that a convolution left in parts.
KERNEL BOUNDS(256, 2) norm_finish(NormP p) {
	SHARED float scratch[64];
	u32 at[UNITS];
	float v[HELD];
	Before b = before(p, bx(), tx() == 0);
	unitsOf(at, p.image, bx(), 0, p.image.count);
	finish(p.unfinished, v, p.x, p.xType, at);
	normalise(p, b, v, at, momentsOf(v, at, p.image.count, scratch), bx(), tx() == 0);
}

// The same for planes of any size, which are read three times.
KERNEL BOUNDS(1024) norm_any(NormP p) {
	SHARED float scratch[64];
	u32 c = bx(), count = p.image.count;
	float sum = 0, squares = 0;
#pragma unroll 1
	for (u32 e = tx(); e < count; e += bdx()) sum += load(p.x, offsetOf(p.image, c, e), p.xType);
	float mean = totalOf(sum, scratch) / (float)count;
#pragma unroll 1
	for (u32 e = tx(); e < count; e += bdx()) {
		float d = load(p.x, offsetOf(p.image, c, e), p.xType) - mean;
		squares = __builtin_fmaf(d, d, squares);
	}
	Moments s = {mean, totalOf(squares, scratch + 32)};
	Before b = before(p, c, tx() == 0);
	float factor = b.gamma * inverseOf(p, b, s, c, tx() == 0);
#pragma unroll 1
	for (u32 e = tx(); e < count; e += bdx()) {
		u32 at = offsetOf(p.image, c, e);
		float y = normalised(load(p.x, at, p.xType), mean, factor, b.beta);
		store(p.y, at, p.yType, p.relu && y < 0 ? 0 : y);
	}
}

// The moments of part bx of channel by, tile by tile.
KERNEL BOUNDS(256) norm_parts(NormP p) {
	SHARED float scratch[64];
	u32 first = bx() * p.part, end = least(first + p.part, (u32)p.image.count);
	Moments all = {0, 0};
#pragma unroll 1
	for (u32 from = first; from < end; from += TILE) {
		u32 at[UNITS], to = least(from + TILE, end);
		float v[HELD];
		unitsOf(at, p.image, by(), from, to);
		read(v, p.x, p.xType, at);
		Moments s = momentsOf(v, at, to - from, scratch);
		float before = (float)(from - first), n = (float)(to - from), difference = s.mean - all.mean;
		all.mean += difference * (n / (before + n));
		all.squares += s.squares + difference * difference * (before * n / (before + n));
	}
	if (tx() == 0) p.parts[by() * p.partCount + bx()] = all;
}

// The number of values of part i of a channel.
DEVICE float partSize(const NormP &p, u32 i) { return (float)least(p.part, p.image.count - (i32)i * p.part); }

// The moments of channel c from those of its parts, in every thread.
DEVICE Moments mergeParts(const NormP &p, u32 c, float *scratch) {
	const Moments *parts = p.parts + c * p.partCount;
	float count = (float)p.image.count, sum = 0, squares = 0;
#pragma unroll 1
	for (u32 i = tx(); i < (u32)p.partCount; i += bdx()) sum += parts[i].mean * (partSize(p, i) / count);
	float mean = totalOf(sum, scratch);
#pragma unroll 1
	for (u32 i = tx(); i < (u32)p.partCount; i += bdx()) {
		float d = parts[i].mean - mean;
		squares += __builtin_fmaf(d * d, partSize(p, i), parts[i].squares);
	}
	return Moments{mean, totalOf(squares, scratch + 32)};
}

// Normalises tile bx of channel by.
KERNEL BOUNDS(256) norm_apply(NormP p) {
	SHARED float scratch[64];
	u32 at[UNITS], first = bx() * TILE;
	float v[HELD];
	bool writes = first == 0 && tx() == 0;
	Before b = before(p, by(), writes);
	unitsOf(at, p.image, by(), first, p.image.count);
	read(v, p.x, p.xType, at);
	normalise(p, b, v, at, mergeParts(p, by(), scratch), by(), writes);
}

// BatchNorm with the running statistics. Units of V values are counted over the whole image.
template <int V> DEVICE void normRunning(const NormP &p) {
	u32 plane = (u32)p.image.plane / V, units = plane * (u32)p.image.channels * (u32)p.image.images;
	for (u32 u = bx() * 256 + tx(); u < units; u += gdx() * 256) {
		u32 c = u / plane % (u32)p.image.channels;
		float factor = p.gamma[c] * (1 / __builtin_sqrtf(p.runningVar[c] + p.eps)), mean = p.runningMean[c], beta = p.beta[c];
		if constexpr (V == 4) {
			F4 v = load4(p.x, 4 * (i64)u, p.xType);
#pragma unroll
			for (int j = 0; j < 4; j++) {
				v[j] = normalised(v[j], mean, factor, beta);
				if (p.relu) v[j] = v[j] < 0 ? 0 : v[j];
			}
			store4(p.y, 4 * (i64)u, p.yType, v);
		} else {
			float v = normalised(load(p.x, u, p.xType), mean, factor, beta);
			if (p.relu) v = v < 0 ? 0 : v;
			store(p.y, u, p.yType, v);
		}
	}
}
KERNEL BOUNDS(256) norm_running1(NormP p) { normRunning<1>(p); }
KERNEL BOUNDS(256) norm_running4(NormP p) { normRunning<4>(p); }

// The gradient of BatchNorm in training. The sums of part i of channel c are at parts[c·count + i].
struct Sums { float gradient, product; }; // Σ gy and Σ gy·(x − mean)
struct NormGradP {
	const void *x, *gy;
	void *gx;
	const float *gamma, *beta, *mean, *inverse; // beta is 0 without a ReLU
	float *ggamma, *gbeta;
	Sums *parts;
	PartsP unfinished; // gy, of norm_grad_finish
	ImageP image;
	i32 part, partCount;
	i32 xType, gyType, gxType;
};

// What the forward step saved of a channel. It is read before the values, as above.
struct Saved { float mean, inverse, gamma, beta; };
DEVICE Saved saved(const NormGradP &p, u32 c) { return Saved{p.mean[c], p.inverse[c], p.gamma[c], p.beta ? p.beta[c] : 0}; }

// The gradient, or 0 where the ReLU gave 0; d is x − mean.
DEVICE float passed(const NormGradP &p, const Saved &s, float d, float g) {
	return p.beta && __builtin_fmaf(d, s.gamma * s.inverse, s.beta) <= 0 ? 0 : g;
}

// Turns x and gy into d = x − mean, and g = gy or 0 where the ReLU gave 0.
DEVICE void readied(const NormGradP &p, const Saved &s, float *d, float *g) {
#pragma unroll
	for (int i = 0; i < HELD; i++) {
		d[i] -= s.mean;
		g[i] = passed(p, s, d[i], g[i]);
	}
}

// Reads this thread's values so.
DEVICE void readGradient(const NormGradP &p, const Saved &s, float *d, float *g, const u32 *at) {
	read(d, p.x, p.xType, at);
	read(g, p.gy, p.gyType, at);
	readied(p, s, d, g);
}

// A sum whose rounding errors are kept: sum + rest.
struct Exact { float sum, rest; };
DEVICE void add(Exact &s, float x) {
	float y = x + s.rest, t = s.sum + y;
	s.rest = y - (t - s.sum);
	s.sum = t;
}
DEVICE Exact plus(Exact a, Exact b) {
	float t = a.sum + b.sum, z = t - a.sum;
	return Exact{t, (a.sum - (t - z)) + (b.sum - z) + (a.rest + b.rest)};
}
DEVICE Exact across(Exact s, int mask) { return Exact{shuffleXor(s.sum, mask), shuffleXor(s.rest, mask)}; }

// The sums of this thread's values.
struct ExactSums { Exact gradient, product; };
DEVICE void addTo(ExactSums &s, const float *d, const float *g) {
#pragma unroll
	for (int i = 0; i < HELD; i++) {
		add(s.gradient, g[i]);
		add(s.product, g[i] * d[i]);
	}
}

// The sums over a warp: that of the gradients in the first half, that of the products in the second.
DEVICE Exact halvesOf(ExactSums s) {
	bool second = lane() & 16;
	Exact keep = second ? s.product : s.gradient, give = second ? s.gradient : s.product;
	Exact all = plus(keep, across(give, 16));
	for (int i = 8; i; i >>= 1) all = plus(all, across(all, i));
	return all;
}

// The sums over the block, in every thread.
DEVICE Sums totalOf(ExactSums s, Exact *scratch) {
	Exact all = halvesOf(s);
	u32 warps = bdx() >> 5;
	if (warps > 1) {
		if ((lane() & 15) == 0) scratch[(tx() >> 5) + 2 * (lane() & 16)] = all;
		sync();
		ExactSums warp = {{0, 0}, {0, 0}};
		if (lane() < warps) warp = {scratch[lane()], scratch[32 + lane()]};
		all = halvesOf(warp);
	}
	float mine = all.sum + all.rest, other = shuffleXor(mine, 16);
	return lane() & 16 ? Sums{other, mine} : Sums{mine, other};
}

// The channel's gradient is gy·factor + (x − mean)·slope + add.
struct Line { float factor, slope, add; };
DEVICE Line lineOf(const NormGradP &p, const Saved &c, Sums s, u32 channel, bool writes) {
	float product = s.product * c.inverse;
	if (writes) {
		p.ggamma[channel] = product;
		p.gbeta[channel] = s.gradient;
	}
	float factor = c.inverse * c.gamma, scale = factor / (float)p.image.count;
	return Line{factor, -scale * product * c.inverse, -scale * s.gradient};
}
DEVICE float along(Line l, float d, float g) { return __builtin_fmaf(g, l.factor, __builtin_fmaf(d, l.slope, l.add)); }

// Writes the gradients of this thread's values.
DEVICE void gradient(const NormGradP &p, Line l, float *d, const float *g, const u32 *at) {
#pragma unroll
	for (int i = 0; i < HELD; i++) d[i] = along(l, d[i], g[i]);
	write(d, p.gx, p.gxType, at);
}

// The gradient of channel bx.
KERNEL BOUNDS(1024) norm_grad_channel(NormGradP p) {
	SHARED Exact scratch[64];
	u32 at[UNITS];
	float d[HELD], g[HELD];
	Saved c = saved(p, bx());
	unitsOf(at, p.image, bx(), 0, p.image.count);
	readGradient(p, c, d, g, at);
	ExactSums s = {{0, 0}, {0, 0}};
	addTo(s, d, g);
	gradient(p, lineOf(p, c, totalOf(s, scratch), bx(), tx() == 0), d, g, at);
}

// The same for a channel of up to TILE values whose gradient a convolution left in parts.
KERNEL BOUNDS(256, 2) norm_grad_finish(NormGradP p) {
	SHARED Exact scratch[64];
	u32 at[UNITS];
	float d[HELD], g[HELD];
	Saved c = saved(p, bx());
	unitsOf(at, p.image, bx(), 0, p.image.count);
	read(d, p.x, p.xType, at);
	finish(p.unfinished, g, p.gy, p.gyType, at);
	readied(p, c, d, g);
	ExactSums s = {{0, 0}, {0, 0}};
	addTo(s, d, g);
	gradient(p, lineOf(p, c, totalOf(s, scratch), bx(), tx() == 0), d, g, at);
}

// The same for planes of any size, which are read twice.
KERNEL BOUNDS(1024) norm_grad_any(NormGradP p) {
	SHARED Exact scratch[64];
	u32 count = p.image.count;
	Saved c = saved(p, bx());
	ExactSums s = {{0, 0}, {0, 0}};
#pragma unroll 1
	for (u32 e = tx(); e < count; e += bdx()) {
		u32 at = offsetOf(p.image, bx(), e);
		float d = load(p.x, at, p.xType) - c.mean, g = passed(p, c, d, load(p.gy, at, p.gyType));
		add(s.gradient, g);
		add(s.product, g * d);
	}
	Line l = lineOf(p, c, totalOf(s, scratch), bx(), tx() == 0);
#pragma unroll 1
	for (u32 e = tx(); e < count; e += bdx()) {
		u32 at = offsetOf(p.image, bx(), e);
		float d = load(p.x, at, p.xType) - c.mean, g = passed(p, c, d, load(p.gy, at, p.gyType));
		store(p.gx, at, p.gxType, along(l, d, g));
	}
}

// The sums of part bx of channel by.
KERNEL BOUNDS(256) norm_grad_parts(NormGradP p) {
	SHARED Exact scratch[64];
	u32 first = bx() * p.part, end = least(first + p.part, (u32)p.image.count);
	Saved c = saved(p, by());
	ExactSums all = {{0, 0}, {0, 0}};
#pragma unroll 1
	for (u32 from = first; from < end; from += TILE) {
		u32 at[UNITS];
		float d[HELD], g[HELD];
		unitsOf(at, p.image, by(), from, end);
		readGradient(p, c, d, g, at);
		addTo(all, d, g);
	}
	Sums total = totalOf(all, scratch);
	if (tx() == 0) p.parts[by() * p.partCount + bx()] = total;
}

// The gradients of tile bx of channel by.
KERNEL BOUNDS(256) norm_grad_apply(NormGradP p) {
	SHARED Exact scratch[64];
	u32 at[UNITS], first = bx() * TILE;
	float d[HELD], g[HELD];
	Saved c = saved(p, by());
	unitsOf(at, p.image, by(), first, p.image.count);
	readGradient(p, c, d, g, at);
	ExactSums s = {{0, 0}, {0, 0}};
	const Sums *parts = p.parts + by() * p.partCount;
#pragma unroll 1
	for (u32 i = tx(); i < (u32)p.partCount; i += 256) {
		add(s.gradient, parts[i].gradient);
		add(s.product, parts[i].product);
	}
	gradient(p, lineOf(p, c, totalOf(s, scratch), by(), first == 0 && tx() == 0), d, g, at);
}
