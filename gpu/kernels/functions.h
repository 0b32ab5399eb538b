// Functions of a number, without a library.
#pragma once
#include "dev.h"

// e^x for x up to 88, with an error below one unit in the last place: 2^n·e^r with |r| ≤ ln 2 / 2 and e^r = 1 + r +
// r²·P(r), P interpolating at the Chebyshev points.
DEVICE float exponential(float x) {
	x = x < -87 ? -87 : x > 88 ? 88 : x;
	float n = __builtin_rintf(x * 1.44269504f);
	float r = __builtin_fmaf(n, -0.69287109375f, x);
	r = __builtin_fmaf(n, -0.0002760868228506297f, r);
	float p = __builtin_fmaf(0.0013926203828305006f, r, 0.008363194763660431f);
	p = __builtin_fmaf(p, r, 0.041666556149721146f);
	p = __builtin_fmaf(p, r, 0.16666576266288757f);
	p = __builtin_fmaf(p, r, 0.5f);
	p = 1 + __builtin_fmaf(r * r, p, r);
	return p * bits((u32)((int)n + 127) << 23);
}
DEVICE float logistic(float x) { return 1 / (1 + exponential(-x)); }

// tanh x: x + x³·P(x²) near 0, else 1 − 2/(1 + e^2x).
DEVICE float hyperbolic(float x) {
	float a = x < 0 ? -x : x, t = x * x;
	if (a < 0.6f) {
		float p = __builtin_fmaf(0.0023707656655460596f, t, -0.008410071022808552f);
		p = __builtin_fmaf(p, t, 0.021788321435451508f);
		p = __builtin_fmaf(p, t, -0.05396155267953873f);
		p = __builtin_fmaf(p, t, 0.13333313167095184f);
		p = __builtin_fmaf(p, t, -0.3333333432674408f);
		return __builtin_fmaf(x * t, p, x);
	}
	float y = 1 - 2 / (1 + exponential(2 * a));
	return x < 0 ? -y : y;
}

// ln(1 + e^x): x or 0, and ln(1 + u) = 2·artanh(u/(2 + u)) of u = e^−|x| by its series.
DEVICE float softplus(float x) {
	float u = exponential(x < 0 ? x : -x), s = u / (2 + u), t = s * s;
	float p = __builtin_fmaf(1.0f / 13, t, 1.0f / 11);
	p = __builtin_fmaf(p, t, 1.0f / 9);
	p = __builtin_fmaf(p, t, 1.0f / 7);
	p = __builtin_fmaf(p, t, 1.0f / 5);
	p = __builtin_fmaf(p, t, 1.0f / 3);
	return (x > 0 ? x : 0) + 2 * __builtin_fmaf(s * t, p, s);
}
