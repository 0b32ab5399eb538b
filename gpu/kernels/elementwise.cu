// Kernels of elements: functions, sums, and copies that move them.
#include "functions.h"
#include "vector.h"

// y[i] = value, of the type of y.
struct FillP { void *y; i64 n; i32 type; float value; };
KERNEL BOUNDS(256) fill(FillP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) store(p.y, i, p.type, p.value);
}

// to[i] = *from[i] where there is one: scalars for the host, which reads them without a copy of its own.
struct GatherP { const float *from[16]; float *to; i32 n; };
KERNEL BOUNDS(32) gather(GatherP p) {
	int i = (int)tx();
	if (i < p.n && p.from[i]) p.to[i] = *p.from[i];
}

// Functions of an element; the first six are nn.ActivationKind.
enum { RELU, LEAKY, SIGMOID, HARD, SCALED, TANH, SWISH, SCALE, COPY, SOFTPLUS };

DEVICE float apply(int op, float x, float factor) {
	float y;
	switch (op) {
	case RELU: return x < 0 ? 0 : x; // a NaN stays one
	case LEAKY: return x < 0 ? 0.2f * x : x;
	case SIGMOID: return logistic(x);
	case HARD:
		y = x / 6 + 0.5f;
		return y < 0 ? 0 : y > 1 ? 1 : y;
	case SCALED: return __builtin_fmaf(logistic(x), 1.02f, -0.01f);
	case TANH: return hyperbolic(x);
	case SWISH: return x * logistic(x);
	case SCALE: return factor * x;
	case SOFTPLUS: return softplus(x);
	}
	return x;
}

// y[i] = f(x[i]).
struct UnaryP { const void *x; void *y; i64 n; i32 op, xType, yType; float factor; };
KERNEL BOUNDS(256) unary(UnaryP p) {
	i64 whole = p.n / 4, step = (i64)gdx() * 256, at = bx() * 256 + tx();
	for (i64 i = at; i < whole; i += step) {
		F4 v = load4(p.x, 4 * i, p.xType);
#pragma unroll 1
		for (int j = 0; j < 4; j++) {
			v.x = apply(p.op, v.x, p.factor);
			v = v.yzwx;
		}
		store4(p.y, 4 * i, p.yType, v);
	}
	if (at < p.n - 4 * whole) store(p.y, 4 * whole + at, p.yType, apply(p.op, load(p.x, 4 * whole + at, p.xType), p.factor));
}

// The gradient of a function: of an activation from its result y, of Swish and softplus from their operand.
DEVICE float slope(int op, float y, float g) {
	switch (op) {
	case RELU: return y <= 0 ? 0 : g;
	case LEAKY: return y <= 0 ? 0.2f * g : g;
	case SIGMOID: return g * y * (1 - y);
	case HARD: return y > 0 && y < 1 ? g / 6 : 0;
	case SCALED: return g * (y + 0.01f) * (1.01f - y) / 1.02f;
	case TANH: return g * (1 - y * y);
	}
	float u = exponential(y < 0 ? y : -y), most = 1 / (1 + u), least = u * most;
	float s = y < 0 ? least : most, rest = y < 0 ? most : least; // σ(y) and 1 − σ(y)
	if (op == SOFTPLUS) return g * s;
	return g * __builtin_fmaf(y * s, rest, s);
}

// gx[i] = gy[i]·f′, from y or x as slope needs it.
struct SlopeP { const void *y, *gy; void *gx; i64 n; i32 op, yType, gyType, gxType; };
KERNEL BOUNDS(256) slopes(SlopeP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256)
		store(p.gx, i, p.gxType, slope(p.op, load(p.y, i, p.yType), load(p.gy, i, p.gyType)));
}

// y[i] = Σ x[j][i]. A sum of more operands continues from y.
struct SumP { const void *x[32]; void *y; i64 n; i32 types[32]; i32 count, yType; };
KERNEL BOUNDS(256) sum(SumP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		float s = load(p.x[0], i, p.types[0]);
#pragma unroll 1
		for (int j = 1; j < p.count; j++) s += load(p.x[j], i, p.types[j]);
		store(p.y, i, p.yType, s);
	}
}

// Planes of one array are placed in those of up to two others: y[i, j] = x[i − top, j − left] for i in [firstRow, endRow)
// and j in [firstColumn, endColumn), which x has; else 0. A thread has four elements of y, counted over all planes and
// then over both results.
struct Placed {
	void *y;
	i32 h, w, top, left;
	i32 firstRow, endRow, firstColumn, endColumn;
	i32 yType, vectors; // whether rows of y are whole vectors of 4
	i32 n, pad;
};
struct PlaceP { const void *x; i32 h, w, xType, count; Placed to[2]; };
KERNEL BOUNDS(256) place(PlaceP p) {
	u32 first = 4 * (bx() * 256 + tx());
	int which = 0;
	if (p.count > 1) {
		u32 one = ((u32)p.to[0].n + 3) / 4 * 4;
		if (first >= one) which = 1, first -= one;
	}
	const Placed &t = p.to[which];
	if (first >= (u32)t.n) return;
	u32 row = first / (u32)t.w, plane = row / (u32)t.h;
	i32 j = (i32)(first - row * t.w), i = (i32)(row - plane * t.h);
	F4 v;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		bool inside = first + k < (u32)t.n && i >= t.firstRow && i < t.endRow && j >= t.firstColumn && j < t.endColumn;
		v[k] = inside ? load(p.x, (plane * p.h + (u32)(i - t.top)) * p.w + (u32)(j - t.left), p.xType) : 0;
		if (!t.vectors && first + k < (u32)t.n) store(t.y, first + k, t.yType, v[k]);
		if (++j < t.w) continue;
		j = 0;
		if (++i == t.h) i = 0, plane++;
	}
	if (t.vectors) store4(t.y, first, t.yType, v);
}

// Blocks of size elements, each a distance from the last: y[n, i] = x[n, i]. Channels of images are such blocks.
struct BlocksP { const void *x; void *y; i32 size, xStride, yStride, n, xType, yType; };
KERNEL BOUNDS(256) blocks(BlocksP p) {
	u32 all = (u32)(p.n * p.size);
	for (u32 e = bx() * 256 + tx(); e < all; e += gdx() * 256) {
		u32 n = e / (u32)p.size, i = e - n * p.size;
		store(p.y, (i64)n * p.yStride + i, p.yType, load(p.x, (i64)n * p.xStride + i, p.xType));
	}
}

// y is outer with a rectangle of its planes replaced by inner, or by 0 if inner is 0.
struct InsetP {
	const void *outer, *inner;
	void *y;
	i32 n, h, w, top, left, innerH, innerW, outerType, innerType, yType;
};
KERNEL BOUNDS(256) inset(InsetP p) {
	for (u32 e = bx() * 256 + tx(); e < (u32)p.n; e += gdx() * 256) {
		u32 row = e / (u32)p.w, plane = row / (u32)p.h;
		i32 i = (i32)(row - plane * p.h) - p.top, j = (i32)(e - row * p.w) - p.left;
		float v;
		if (i < 0 || i >= p.innerH || j < 0 || j >= p.innerW) v = load(p.outer, e, p.outerType);
		else v = p.inner ? load(p.inner, (plane * p.innerH + i) * p.innerW + j, p.innerType) : 0;
		store(p.y, e, p.yType, v);
	}
}

// The four elements of the 2×2 block of planes of width 2w that element e of planes of width w belongs to.
DEVICE u32 corner(u32 e, u32 w) {
	u32 row = e / w;
	return 4 * row * w + 2 * (e - row * w);
}

// Between planes of h×w, with n elements, and planes of twice their sides. gy is 0 but in a pooling's gradient.
enum { POOL, POOLGRAD, REPEAT, REPEATGRAD };
struct HalvesP { const void *x, *gy; void *y; i32 n, w, op, xType, gyType, yType; };
KERNEL BOUNDS(256) halves(HalvesP p) {
	for (u32 e = bx() * 256 + tx(); e < (u32)p.n; e += gdx() * 256) {
		u32 at = corner(e, p.w), below = at + 2 * p.w;
		if (p.op == REPEAT) {
			float v = load(p.x, e, p.xType);
			store(p.y, at, p.yType, v);
			store(p.y, at + 1, p.yType, v);
			store(p.y, below, p.yType, v);
			store(p.y, below + 1, p.yType, v);
			continue;
		}
		float a = load(p.x, at, p.xType), b = load(p.x, at + 1, p.xType);
		float c = load(p.x, below, p.xType), d = load(p.x, below + 1, p.xType);
		if (p.op == REPEATGRAD) {
			store(p.y, e, p.yType, (a + b) + (c + d));
			continue;
		}
		int largest = 0; // the first of equal ones
		float most = a;
		if (exceeds(b, most)) most = b, largest = 1;
		if (exceeds(c, most)) most = c, largest = 2;
		if (exceeds(d, most)) most = d, largest = 3;
		if (p.op == POOL) {
			store(p.y, e, p.yType, most);
			continue;
		}
		float g = load(p.gy, e, p.gyType);
		store(p.y, at, p.yType, largest == 0 ? g : 0);
		store(p.y, at + 1, p.yType, largest == 1 ? g : 0);
		store(p.y, below, p.yType, largest == 2 ? g : 0);
		store(p.y, below + 1, p.yType, largest == 3 ? g : 0);
	}
}
