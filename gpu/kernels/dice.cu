// The loss of a segmentation, Dice and binary cross-entropy, and its gradient.
#include "functions.h"
#include "loss.h"

// The sums of a block over logits z and targets t of an item, and the probabilities. Grid: blocks, items.
struct DiceSumsP { const float *z, *t; float *p; double *sums; i64 size; }; // sums [items, blocks, 4]
KERNEL BOUNDS(256) dice_sums(DiceSumsP p) {
	SHARED static double scratch[2][8];
	double both = 0, ofP = 0, ofT = 0, entropy = 0;
	i64 first = by() * p.size;
	for (i64 i = bx() * 256 + tx(); i < p.size; i += (i64)gdx() * 256) {
		float z = p.z[first + i], t = p.t[first + i], e = exponential(z < 0 ? z : -z), y = 1 / (1 + e);
		if (z < 0) y *= e;
		p.p[first + i] = y;
		both += (double)y * t, ofP += y, ofT += t;
		entropy += softplus(z) - (double)z * t;
	}
	blockTotals(both, ofP, scratch);
	blockTotals(ofT, entropy, scratch);
	double *to = p.sums + 4 * ((i64)by() * gdx() + bx());
	if (tx() == 0) to[0] = both, to[1] = ofP, to[2] = ofT, to[3] = entropy;
}

// Both terms, and each item's factors of the gradient, 2/D and (2·Σpt + smooth)/D² with D = Σp + Σt + smooth. A warp adds an
// item's sums.
struct DiceTotalP { const double *sums; float *terms, *factors; double elements, smooth; i32 items, blocks; };
KERNEL BOUNDS(256) dice_total(DiceTotalP p) {
	SHARED static double scratch[2][8];
	double dice = 0, entropy = 0;
#pragma unroll 1
	for (int item = (int)(tx() >> 5); item < p.items; item += 8) {
		double s[4] = {0, 0, 0, 0};
#pragma unroll 1
		for (int block = (int)lane(); block < p.blocks; block += 32) {
			const double *from = p.sums + 4 * ((i64)item * p.blocks + block);
#pragma unroll
			for (int k = 0; k < 4; k++) s[k] += from[k];
		}
#pragma unroll
		for (int k = 0; k < 4; k++)
			for (int d = 16; d; d >>= 1) s[k] += shuffleXor(s[k], d);
		if (lane() != 0) continue;
		double both = 2 * s[0] + p.smooth, all = s[1] + s[2] + p.smooth;
		dice += (1 - both / all) / p.items, entropy += s[3] / p.elements;
		p.factors[2 * item] = (float)(2 / all), p.factors[2 * item + 1] = (float)(both / (all * all));
	}
	blockTotals(dice, entropy, scratch);
	if (tx() == 0) p.terms[0] = (float)dice, p.terms[1] = (float)entropy;
}

// gz = upstream[0]/items·(factors[1] − factors[0]·t)·p·(1 − p) + upstream[1]/elements·(p − t). Grid: blocks, items.
struct DiceGradP { const float *p, *t, *factors, *upstream; float *gz; i64 size; float items, elements; };
KERNEL BOUNDS(256) dice_grad(DiceGradP p) {
	float dice = p.upstream[0] / p.items, entropy = p.upstream[1] / p.elements;
	float target = dice * p.factors[2 * by()], all = dice * p.factors[2 * by() + 1];
	i64 first = by() * p.size;
	for (i64 i = bx() * 256 + tx(); i < p.size; i += (i64)gdx() * 256) {
		float y = p.p[first + i], t = p.t[first + i];
		p.gz[first + i] = (all - target * t) * y * (1 - y) + entropy * (y - t);
	}
}
