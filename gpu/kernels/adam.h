// The update of a parameter by Adam.
#pragma once
#include "vector.h"

struct AdamP {
	const struct Update *updates;
	const struct Chunk *chunks;
	const float *rate, *step, *found; // found is 0 without a gradient scaler
	double beta1, beta2;
	float beta1f, rate1, beta2f, rate2; // rounded: β1, 1−β1, β2, 1−β2
	float eps, decay;
};

// b to the power of a whole number.
DEVICE double power(double b, u32 k) {
	double r = 1;
#pragma unroll 1
	for (; k; k >>= 1, b *= b)
		if (k & 1) r *= b;
	return r;
}

// What depends on the step: lr/(1−β1^k) and 1/√(1−β2^k).
struct Corrections { float size, root; };

// One element; g is its gradient.
DEVICE void adamElement(const AdamP &p, const Corrections &c, float g, float &value, float &moment, float &second, float *most) {
	g = __builtin_fmaf(p.decay, value, g);
	moment = __builtin_fmaf(p.beta1f, moment, p.rate1 * g);
	second = __builtin_fmaf(p.beta2f, second, p.rate2 * g * g);
	float largest = second;
	if (most) *most = largest = exceeds(second, *most) ? second : *most;
	value -= c.size * moment / (__builtin_sqrtf(largest) * c.root + p.eps);
}

// The corrections of the current step, for every thread of a block of at least 64. memory holds two numbers.
DEVICE Corrections correct(const AdamP &p, float *memory) {
	if (tx() == 0) memory[0] = (float)((double)*p.rate / (1 - power(p.beta1, (u32)*p.step)));
	if (tx() == 32) memory[1] = 1 / __builtin_sqrtf((float)(1 - power(p.beta2, (u32)*p.step)));
	sync();
	return {memory[0], memory[1]};
}
