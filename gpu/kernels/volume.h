// Convolutions of volumes [N, D, H, W, C], with channels last, as products of matrices by tiles. The grids are those of conv.h:
// the small grid is a Conv3D's output or a ConvTranspose3D's input, and the weights are w[s][l][kz][ky][kx].
//
//	gather:  m = voxels of the small grid, n = s, k = (tap, l)
//	scatter: m = voxels of the large grid of one parity, n = l, k = (a tap that reaches this parity, s)
//	weights: m = (tap, l), n = s, k = voxels of the small grid; a last m of ones makes the sums of the small grid
//
// A thread reads neighbours in memory: channels of a voxel.
#pragma once
#include "tile.h"

enum { GATHER, SCATTER, WEIGHTS };

struct Axes { i32 z, y, x; };
DEVICE int product(Axes a) { return a.z * a.y * a.x; }

// Both grids and the kernel between them; cl is the number of channels of the weights.
struct VolumeG { i32 n, cs, cl; Axes small, large, kernel, stride, pad; };

// A volume after the first of those that a gather reads as one: its channels end before end.
struct VolumePart { const void *x; i32 channels, end; };

struct VolumeP {
	const void *x, *w, *bias; // the volume and the weights; for weights the large and the small grid
	void *y;
	float *ones;             // for weights: the sums of the small grid, or null
	float *partial, *onesPartial; // sums of the parts of k, each like y and ones; null if there is one part
	const VolumePart *more;
	VolumeG g;
	i32 first, channels; // of x among those of the weights; for scatter of the result
	i32 m, n;
	i32 depth, parts; // k of a part, a multiple of BK
	i32 total;        // elements of y, or of all that parts of the sum of weights have
	i32 type, outType, biasType;
};

// A voxel of the grid that x is read from: the first voxel of its image, negative for none, and its place before a tap.
struct __attribute__((aligned(16))) Place { i32 image, z, y, x; };

// The indices of number i in a grid.
DEVICE Axes within(int i, Axes sides) {
	int row = i / sides.x, plane = row / sides.y;
	return Axes{plane, row - plane * sides.y, i - row * sides.x};
}
DEVICE int quotientUp(int a, int b) { return (a + b - 1) / b; }

template <class E, int MODE> struct VolumeView {
	typedef typename E::T Tile;
	typedef typename E::S Store;
	typedef typename Store::T T;
	enum { BM = Tile::BM, BN = Tile::BN, BK = E::BK, A_BY_K = MODE != WEIGHTS, B_BY_K = MODE != WEIGHTS };
	typedef Share<A_BY_K ? BM : BK, A_BY_K ? BK : BM> A;
	typedef Share<B_BY_K ? BN : BK, B_BY_K ? BK : BN> B;
	enum { PLACES = MODE == WEIGHTS ? 2 * BK : BM };

	const VolumeP &p;
	Place *places; // of the rows m, or for weights of the k of two steps
	int m0, n0, end, taps;
	Axes sides, reach, from; // of the grid that x has; the taps that reach this parity, and the first of them
	// For weights: the tap and the channel of this thread's m.
	Axes tap;
	int channel;

	DEVICE VolumeView(const VolumeP &p_, Place *places_, int parity, int part) : p(p_), places(places_) {
		const VolumeG &g = p.g;
		m0 = (int)bx() * BM, n0 = (int)by() * BN;
		taps = product(g.kernel), reach = g.kernel, from = Axes{0, 0, 0};
		sides = MODE == SCATTER ? g.small : g.large;
		int all = MODE == WEIGHTS ? g.n * product(g.small) : taps * g.cl;
		if (MODE == SCATTER) {
			Axes odd = within(parity, g.stride);
			from = Axes{(odd.z + g.pad.z) % g.stride.z, (odd.y + g.pad.y) % g.stride.y, (odd.x + g.pad.x) % g.stride.x};
			reach = Axes{reached(g.kernel.z, from.z, g.stride.z), reached(g.kernel.y, from.y, g.stride.y), reached(g.kernel.x, from.x, g.stride.x)};
			all = product(reach) * g.cs;
		}
		end = least((part + 1) * p.depth, all);
		if (MODE == WEIGHTS) {
			int m = m0 + (int)tx() % BM, at = m / p.channels;
			channel = m - at * p.channels, tap = within(at, g.kernel);
		}
	}
	static DEVICE int least(int a, int b) { return a < b ? a : b; }
	static DEVICE int reached(int kernel, int from, int stride) { return from < kernel ? quotientUp(kernel - from, stride) : 0; }

	// The place of a voxel of the small grid, before a tap.
	DEVICE Place placeOf(int voxel) {
		const VolumeG &g = p.g;
		int size = product(g.small), image = voxel / size;
		Axes at = within(voxel - image * size, g.small);
		return Place{image * product(g.large), at.z * g.stride.z - g.pad.z, at.y * g.stride.y - g.pad.y, at.x * g.stride.x - g.pad.x};
	}
	// The place from which taps of this parity reach voxel m of those of the parity, and that voxel.
	DEVICE Place reachedPlace(int m, int parity, int *voxel) {
		const VolumeG &g = p.g;
		Axes half = {quotientUp(g.large.z, g.stride.z), quotientUp(g.large.y, g.stride.y), quotientUp(g.large.x, g.stride.x)};
		Axes odd = within(parity, g.stride);
		int size = product(half), image = m / size;
		Axes at = within(m - image * size, half);
		Axes r = {odd.z + g.stride.z * at.z, odd.y + g.stride.y * at.y, odd.x + g.stride.x * at.x};
		*voxel = ((image * g.large.z + r.z) * g.large.y + r.y) * g.large.x + r.x;
		if (r.z >= g.large.z || r.y >= g.large.y || r.x >= g.large.x) return Place{-1, 0, 0, 0};
		return Place{image * product(g.small), (r.z + g.pad.z - from.z) / g.stride.z, (r.y + g.pad.y - from.y) / g.stride.y, (r.x + g.pad.x - from.x) / g.stride.x};
	}

	// The element of a channel at a place and tap; 0 outside the grid.
	DEVICE T at(const T *x, Place place, Axes tap, int channels, int c) {
		int z = place.z, y = place.y, i = place.x;
		if (MODE == SCATTER) z -= tap.z, y -= tap.y, i -= tap.x;
		else z += tap.z, y += tap.y, i += tap.x;
		bool ok = place.image >= 0 && (u32)z < (u32)sides.z && (u32)y < (u32)sides.y && (u32)i < (u32)sides.x;
		return ok ? x[(place.image + (z * sides.y + y) * sides.x + i) * channels + c] : (T)0;
	}

	// The places of the k of weights from k0 on, one for each of the first threads.
	DEVICE void prepare(int k0) {
		int t = (int)tx();
		if (MODE == WEIGHTS && t < BK) places[k0 / BK % 2 * BK + t] = k0 + t < end ? placeOf(k0 + t) : Place{-1, 0, 0, 0};
	}

	DEVICE void fetch(int k0, T *a, T *b) {
		const VolumeG &g = p.g;
		const T *px = (const T *)p.x, *pw = (const T *)p.w;
		int t = (int)tx();
		if (MODE == WEIGHTS) {
			int m = m0 + t % BM;
			const Place *place = places + k0 / BK % 2 * BK + t / BM;
#pragma unroll
			for (int q = 0; q < A::N; q++) {
				if (m < taps * p.channels) a[q] = at(px, place[q * A::STEP], tap, p.channels, channel);
				else a[q] = place[q * A::STEP].image >= 0 && m < p.m ? Store::narrow(1.f, p.type) : (T)0;
			}
			int n = n0 + t % BN;
#pragma unroll
			for (int q = 0; q < B::N; q++) {
				int k = k0 + t / BN + q * B::STEP;
				b[q] = k < end && n < p.n ? pw[k * g.cs + n] : (T)0;
			}
			return;
		}
		int k = k0 + t % BK, each = MODE == GATHER ? g.cl : g.cs, number = k / each, c = k - number * each, channels = each, inX = c;
		Axes tap = within(number, reach);
		if (MODE == GATHER) {
			channels = p.channels;
			if (c >= channels) {
				const VolumePart *part = p.more;
				while (c >= part->end) part++;
				px = (const T *)part->x, channels = part->channels, inX = c - (part->end - channels);
			}
		}
#pragma unroll
		for (int q = 0; q < A::N; q++) a[q] = k < end ? at(px, places[t / BK + q * A::STEP], tap, channels, inX) : (T)0;
		int weight = ((from.z + g.stride.z * tap.z) * g.kernel.y + from.y + g.stride.y * tap.y) * g.kernel.x + from.x + g.stride.x * tap.x;
		if (MODE == GATHER) weight = number;
#pragma unroll
		for (int q = 0; q < B::N; q++) {
			int n = n0 + t / BK + q * B::STEP;
			int s = MODE == GATHER ? n : c, l = MODE == GATHER ? c : p.first + n;
			b[q] = k < end && n < p.n ? pw[(s * g.cl + l) * taps + weight] : (T)0;
		}
	}
};

template <class E, int MODE> DEVICE void volumeTile(const VolumeP &p) {
	typedef VolumeView<E, MODE> View;
	enum { BM = E::T::BM, BN = E::T::BN };
	SHARED __attribute__((aligned(16))) float memory[TileMemory<E>::WORDS];
	SHARED Place places[View::PLACES];
	SHARED i32 voxels[MODE == SCATTER ? BM : 1];
	const VolumeG &g = p.g;
	int t = (int)tx(), part = (int)bz() % p.parts, parity = (int)bz() / p.parts, begin = part * p.depth;
	View view(p, places, parity, part);
	if (MODE == WEIGHTS) view.prepare(begin);
	else if (t < BM) {
		int m = view.m0 + t;
		if (m >= p.m) places[t] = Place{-1, 0, 0, 0};
		else if (MODE == GATHER) places[t] = view.placeOf(m);
		else places[t] = view.reachedPlace(m, parity, voxels + t);
	}
	sync();
	tileProduct<E>(view, memory, begin, view.end, p.type, E::kind(p));
	for (int step = 0; step < BM * BN / 256; step++) {
		int e = step * 256 + t;
		int i = MODE == WEIGHTS ? e % BM : e / BN, j = MODE == WEIGHTS ? e / BM : e % BN, m = view.m0 + i, n = view.n0 + j;
		if (m >= p.m || n >= p.n || (MODE != WEIGHTS && places[i].image < 0)) continue;
		float v = tileSum<E>(memory, i, j);
		int at;
		if (MODE == WEIGHTS) {
			int tap = m / p.channels, l = m - tap * p.channels;
			if (tap == view.taps) { // the ones
				(p.partial ? p.onesPartial + part * g.cs : p.ones)[n] = v;
				continue;
			}
			at = (n * g.cl + p.first + l) * view.taps + tap;
		} else at = MODE == GATHER ? m * g.cs + n : voxels[i] * p.channels + n;
		if (p.partial) {
			p.partial[(i64)part * p.total + at] = v;
			continue;
		}
		if (MODE == GATHER && p.bias) v += load(p.bias, n, p.biasType);
		store(p.y, at, p.outType, v);
	}
}

// The tiles, for results of few channels and of many.
typedef Tile<64, 16, 4, 1, 2, 4, 32> Narrow;
typedef Tile<64, 32, 4, 1, 2, 4, 32> Middle;
typedef Tile<64, 64, 2, 2, 2, 4, 32> Broad;

#if __CUDA_ARCH__ >= 800
#define VOLUME_BOUNDS BOUNDS(256, 2)
#else
#define VOLUME_BOUNDS BOUNDS(256)
#endif

// The kernels of one way to multiply: NAME_gather_64x16 and so on.
#define VOLUME_TILE(NAME, E, MODE, MODENAME, TILE, TILENAME) \
	KERNEL VOLUME_BOUNDS NAME##_##MODENAME##_##TILENAME(VolumeP p) { volumeTile<E<TILE>, MODE>(p); }
#define VOLUME_KERNELS(NAME, E, TILE, TILENAME) \
	VOLUME_TILE(NAME, E, GATHER, gather, TILE, TILENAME) \
	VOLUME_TILE(NAME, E, SCATTER, scatter, TILE, TILENAME) \
	VOLUME_TILE(NAME, E, WEIGHTS, weights, TILE, TILENAME)
#define VOLUME_ALL(NAME, E) \
	VOLUME_KERNELS(NAME, E, Narrow, 64x16) \
	VOLUME_KERNELS(NAME, E, Middle, 64x32) \
	VOLUME_KERNELS(NAME, E, Broad, 64x64)
