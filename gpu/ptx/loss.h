// Totals of losses, in float64.
#pragma once
#include "dev.h"

// Sums a and b over a block of 256 threads, in a fixed order, in thread 0.
DEVICE void blockTotals(double &a, double &b, double (&scratch)[2][256]) {
	sync();
	scratch[0][tx()] = a;
	scratch[1][tx()] = b;
	for (u32 n = 128; n; n >>= 1) {
		sync();
		if (tx() >= n) continue;
		a = scratch[0][tx()] += scratch[0][tx() + n];
		b = scratch[1][tx()] += scratch[1][tx() + n];
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
