// Instance normalisation of volumes with channels last: statistics of each channel of each image, and the gradient. Blocks sum
// parts of an image, a warp for each channel adds the sums of the parts, and a last launch computes the results.
#include "loss.h"

// Values [images, voxels, channels]. A block has a part of an image's voxels, and of its channels group consecutive ones, of
// which each thread has one. Grid: parts, groups of channels, images.
struct InstanceG { i32 images, voxels, channels, group, part, parts; };

struct InstanceP {
	const void *x, *residual; // residual may be null
	void *y;
	const float *gamma, *beta;
	float *mean, *inverse; // [images, channels]
	double *sums;          // [images, parts, 2, channels]: Σ(x − x₀) and Σ(x − x₀)², x₀ being the image's first
	InstanceG g;
	i32 xType, residualType, yType;
	float eps, slope;
};

// The channels of the block, and the channel of this thread, its first voxel and the distance to the next; in is false for a
// thread without any.
struct Lane { int width, channel, row, rows, end; bool in; };
DEVICE Lane laneOf(const InstanceG &g) {
	Lane l;
	int t = (int)tx(), first = (int)by() * g.group;
	l.width = g.channels - first < g.group ? g.channels - first : g.group;
	l.rows = 256 / l.width;
	l.row = t / l.width, l.channel = first + t - l.row * l.width;
	l.in = l.row < l.rows;
	l.row += (int)bx() * g.part;
	l.end = (int)(bx() + 1) * g.part < g.voxels ? (int)(bx() + 1) * g.part : g.voxels;
	return l;
}
DEVICE i64 valueOf(const InstanceG &g, const Lane &l, int voxel) { return ((i64)bz() * g.voxels + voxel) * g.channels + l.channel; }

// Adds both numbers of the threads of a channel, in order, and writes their sums.
DEVICE void putSums(const InstanceG &g, const Lane &l, double *sums, float a, float b) {
	SHARED float scratch[2][256];
	scratch[0][tx()] = a, scratch[1][tx()] = b;
	sync();
	if ((int)tx() >= l.width) return;
	double first = 0, second = 0;
#pragma unroll 1
	for (int row = 0; row < l.rows; row++) first += scratch[0][row * l.width + tx()], second += scratch[1][row * l.width + tx()];
	double *to = sums + ((i64)bz() * g.parts + bx()) * 2 * g.channels + l.channel;
	to[0] = first, to[g.channels] = second;
}

KERNEL BOUNDS(256) instance_sums(InstanceP p) {
	Lane l = laneOf(p.g);
	float sum = 0, squares = 0;
	if (l.in) {
		float shift = load(p.x, valueOf(p.g, l, 0), p.xType);
		for (int v = l.row; v < l.end; v += l.rows) {
			float d = load(p.x, valueOf(p.g, l, v), p.xType) - shift;
			sum += d;
			squares = __builtin_fmaf(d, d, squares);
		}
	}
	putSums(p.g, l, p.sums, sum, squares);
}

// The sums of all parts of a channel of an image, in a fixed order, in every lane of a warp.
DEVICE void addParts(const InstanceG &g, const double *sums, int image, int channel, double &first, double &second) {
	first = second = 0;
	for (int i = (int)lane(); i < g.parts; i += 32) {
		const double *from = sums + ((i64)image * g.parts + i) * 2 * g.channels + channel;
		first += from[0], second += from[g.channels];
	}
	for (int d = 16; d; d >>= 1) first += shuffleXor(first, d), second += shuffleXor(second, d);
}

// A warp for each channel of an image.
KERNEL BOUNDS(256) instance_total(InstanceP p) {
	int i = (int)(bx() * 8 + (tx() >> 5)), image = i / p.g.channels, channel = i - image * p.g.channels;
	if (i >= p.g.images * p.g.channels) return;
	double sum, squares, count = p.g.voxels;
	addParts(p.g, p.sums, image, channel, sum, squares);
	if (lane() != 0) return;
	double offset = sum / count, variance = squares / count - offset * offset;
	variance = variance < 0 ? 0 : variance; // a NaN stays one
	p.mean[i] = (float)(load(p.x, (i64)image * p.g.voxels * p.g.channels + channel, p.xType) + offset);
	p.inverse[i] = 1 / __builtin_sqrtf((float)(variance + p.eps));
}

KERNEL BOUNDS(256) instance_apply(InstanceP p) {
	Lane l = laneOf(p.g);
	if (!l.in) return;
	int i = (int)bz() * p.g.channels + l.channel;
	float mean = p.mean[i], factor = p.gamma[l.channel] * p.inverse[i], beta = p.beta[l.channel];
	for (int v = l.row; v < l.end; v += l.rows) {
		i64 at = valueOf(p.g, l, v);
		float y = __builtin_fmaf(load(p.x, at, p.xType) - mean, factor, beta);
		if (p.residual) y += load(p.residual, at, p.residualType);
		store(p.y, at, p.yType, y < 0 ? p.slope * y : y);
	}
}

struct InstanceGradP {
	const void *x, *y, *gy;
	void *gx, *gresidual; // gresidual may be null
	const float *gamma, *mean, *inverse;
	float *ggamma, *gbeta;
	double *sums; // Σ g and Σ g·(x − mean), g being gy before the leaky ReLU
	float *means; // [images, 2, channels]: the means of g and of g·(x − mean)/variance
	InstanceG g;
	i32 xType, yType, gyType, gxType, gresidualType;
	float slope;
};

// gy before the leaky ReLU.
DEVICE float passed(const InstanceGradP &p, i64 at) {
	float g = load(p.gy, at, p.gyType);
	return load(p.y, at, p.yType) <= 0 ? p.slope * g : g;
}

KERNEL BOUNDS(256) instance_grad_sums(InstanceGradP p) {
	Lane l = laneOf(p.g);
	float sum = 0, products = 0;
	if (l.in) {
		float mean = p.mean[(int)bz() * p.g.channels + l.channel];
		for (int v = l.row; v < l.end; v += l.rows) {
			i64 at = valueOf(p.g, l, v);
			float g = passed(p, at);
			sum += g;
			products = __builtin_fmaf(g, load(p.x, at, p.xType) - mean, products);
		}
	}
	putSums(p.g, l, p.sums, sum, products);
}

// A warp for each channel, which adds the images as well.
KERNEL BOUNDS(256) instance_grad_total(InstanceGradP p) {
	int channel = (int)(bx() * 8 + (tx() >> 5)), c = p.g.channels;
	if (channel >= c) return;
	double ggamma = 0, gbeta = 0, count = p.g.voxels;
#pragma unroll 1
	for (int image = 0; image < p.g.images; image++) {
		double sum, products, inverse = p.inverse[image * c + channel];
		addParts(p.g, p.sums, image, channel, sum, products);
		ggamma += products * inverse, gbeta += sum;
		if (lane() != 0) continue;
		p.means[2 * image * c + channel] = (float)(sum / count);
		p.means[(2 * image + 1) * c + channel] = (float)(products * inverse * inverse / count);
	}
	if (lane() == 0) p.ggamma[channel] = (float)ggamma, p.gbeta[channel] = (float)gbeta;
}

KERNEL BOUNDS(256) instance_grad_apply(InstanceGradP p) {
	Lane l = laneOf(p.g);
	if (!l.in) return;
	int c = p.g.channels, i = (int)bz() * c + l.channel;
	float mean = p.mean[i], factor = p.gamma[l.channel] * p.inverse[i];
	float ofG = p.means[2 * (int)bz() * c + l.channel], ofProducts = p.means[(2 * (int)bz() + 1) * c + l.channel];
	for (int v = l.row; v < l.end; v += l.rows) {
		i64 at = valueOf(p.g, l, v);
		float g = passed(p, at), d = load(p.x, at, p.xType) - mean;
		store(p.gx, at, p.gxType, factor * (g - __builtin_fmaf(d, ofProducts, ofG)));
		if (p.gresidual) store(p.gresidual, at, p.gresidualType, g);
	}
}
