#include "loss.h"

// Sums of a block: Σ|p−t| and Σ|t|, or Σ(p−t)² and Σt².
struct LossSumsP { const float *p, *t; float *sums; i64 n; i32 squares; };
KERNEL BOUNDS(256) loss_sums(LossSumsP p) {
	SHARED static float scratch[32];
	float sum = 0, norm = 0;
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		float t = p.t[i], d = p.p[i] - t;
		sum += p.squares ? d * d : d < 0 ? -d : d;
		norm += p.squares ? t * t : t < 0 ? -t : t;
	}
	sum = blockSum(sum, scratch);
	norm = blockSum(norm, scratch);
	if (tx() == 0) {
		p.sums[2 * bx()] = sum;
		p.sums[2 * bx() + 1] = norm;
	}
}

// The loss and its gradient's factor.
struct LossTotalP { const float *sums; float *loss, *factor; double elements; i32 blocks, normalize, squares; };
KERNEL BOUNDS(256) loss_total(LossTotalP p) {
	SHARED static double scratch[2][8];
	double sum = 0, norm = 0;
	for (int i = (int)tx(); i < p.blocks; i += 256) {
		sum += p.sums[2 * i];
		norm += p.sums[2 * i + 1];
	}
	blockTotals(sum, norm, scratch);
	if (tx() == 0) lossTotal(p.loss, p.factor, sum, norm, p.elements, p.normalize, p.squares);
}

// The losses of the telescope's measurements and their gradients' factors. Grid: masks.
struct MeasureTotalP { const float *sums; float *losses, *factors; double elements; i32 blocks, normalize, squares; };
KERNEL BOUNDS(256) measure_total(MeasureTotalP p) {
	SHARED static double scratch[2][8];
	double sum = 0, norm = 0;
	for (int i = (int)tx(); i < p.blocks; i += 256) {
		const float *from = p.sums + 2 * (bx() * p.blocks + i);
		sum += from[0];
		norm += from[1];
	}
	blockTotals(sum, norm, scratch);
	if (tx() == 0) lossTotal(p.losses + bx(), p.factors + bx(), sum, norm, p.elements, p.normalize, p.squares);
}

// gp = factor·upstream·(p−t), or its sign.
struct LossGradP { const float *p, *t, *factor, *upstream; float *gp; i64 n; i32 squares; };
KERNEL BOUNDS(256) loss_grad(LossGradP p) {
	float factor = *p.factor * *p.upstream;
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) {
		float d = p.p[i] - p.t[i];
		if (!p.squares) d = d > 0 ? 1 : d < 0 ? -1 : d;
		p.gp[i] = factor * d;
	}
}
