#include "dev.h"

// A program of scalar operators, such as those between two losses and their weighted sum, as one kernel: what it needs
// is loaded into the shared memory of one warp, its instructions run in order there, and its results are stored.
// An array has at most 32 elements, one for each lane.
enum { WEIGHTED, ELEMENT, ELEMENT_GRAD, CONSTANT, SCALED, COUNT, RESCALE };

struct Instruction {
	i32 op;      // one of the above
	i32 to, from; // arrays
	i32 index;   // of ELEMENT and ELEMENT_GRAD; the array of good steps of RESCALE
	float value;
	i32 unless; // COUNT does nothing where this array holds 1; -1 for none
};
struct ProgramArray {
	float *at;
	i32 n;
	i32 use; // 1: load it first, 2: store it at the end
};
struct ProgramP {
	ProgramArray arrays[24];
	Instruction code[24];
	i32 count, length; // of arrays, of code
};

KERNEL BOUNDS(32) program(ProgramP p) {
	SHARED float values[24][32];
	int i = (int)tx();
	for (int a = 0; a < p.count; a++) {
		values[a][i] = (p.arrays[a].use & 1) && i < p.arrays[a].n ? p.arrays[a].at[i] : 0;
	}
	for (int k = 0; k < p.length; k++) {
		const Instruction c = p.code[k];
		sync();
		float v = values[c.to][i];
		float x = values[c.from][c.op == ELEMENT ? c.index : c.op == ELEMENT_GRAD ? 0 : i];
		float good = c.op == RESCALE ? values[c.index][i] : 0;
		bool skip = c.unless >= 0 && values[c.unless < 0 ? 0 : c.unless][0] == 1;
		sync();
		switch (c.op) {
		case WEIGHTED: v = __builtin_fmaf(c.value, x, v); break; // to += value·from
		case ELEMENT: v = x; break;
		case ELEMENT_GRAD: v = i == c.index ? x : 0; break;
		case CONSTANT: v = c.value; break;
		case SCALED: v = c.value * x; break;
		case COUNT: v = skip ? v : v + 1; break;
		case RESCALE: // a gradient scaler: to is the scale, from whether a gradient overflowed, value the interval
			good += 1;
			if (x == 1) {
				v *= 0.5f;
				good = 0;
			} else if (good >= c.value) {
				if (2 * v < bits(0x7f800000u)) v *= 2;
				good = 0;
			}
			values[c.index][i] = good;
			break;
		}
		values[c.to][i] = v;
	}
	sync();
	for (int a = 0; a < p.count; a++) {
		if ((p.arrays[a].use & 2) && i < p.arrays[a].n) p.arrays[a].at[i] = values[a][i];
	}
}
