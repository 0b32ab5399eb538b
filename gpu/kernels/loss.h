// Totals of losses, in float64.
#pragma once
#include "dev.h"

DEVICE double shuffleXor(double v, int mask) {
	u64 b = __builtin_bit_cast(u64, v);
	u32 low = bits(shuffleXor(bits((u32)b), mask)), high = bits(shuffleXor(bits((u32)(b >> 32)), mask));
	return __builtin_bit_cast(double, (u64)high << 32 | low);
}

// Sums a and b over a block of 256 threads, in a fixed order, in every thread.
DEVICE void blockTotals(double &a, double &b, double (&scratch)[2][8]) {
	for (int d = 16; d; d >>= 1) {
		a += shuffleXor(a, d);
		b += shuffleXor(b, d);
	}
	sync();
	if (lane() == 0) {
		scratch[0][tx() >> 5] = a;
		scratch[1][tx() >> 5] = b;
	}
	sync();
	a = b = 0;
	for (int w = 0; w < 8; w++) {
		a += scratch[0][w];
		b += scratch[1][w];
	}
}

// The mean of L1 or L2, divided by that of the target if normalize is set, and the factor of its gradient
// (spec/prism.md §5.5).
DEVICE void lossTotal(float *loss, float *factor, double sum, double norm, double n, int normalize, int squares) {
	double scale = 1 / n;
	if (normalize) scale /= norm / n + 1e-8;
	*loss = (float)(sum * scale);
	*factor = (float)(squares ? 2 * scale : scale);
}
