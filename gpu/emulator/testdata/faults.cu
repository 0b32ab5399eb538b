// Kernels with planted mistakes. Each must end with the fault that its name says.
#include "../../kernels/dev.h"

struct FaultP { float *x; float *y; i32 n; };

// Writes one element beyond the end.
KERNEL overrun(FaultP p) {
	i32 i = bx() * bdx() + tx();
	if (i <= p.n) p.y[i] = 1;
}

// Reads x, which no one wrote.
KERNEL unwritten(FaultP p) { p.y[tx()] = p.x[tx()]; }

// Reads shared memory that only half of the threads wrote.
KERNEL unwrittenShared(FaultP p) {
	SHARED float t[64];
	if (tx() < 32) t[tx()] = 1;
	sync();
	p.y[tx()] = t[tx()];
}

// Reads what a neighbour writes, without a barrier.
KERNEL missingBarrier(FaultP p) {
	SHARED float t[64];
	t[tx()] = 0;
	sync();
	t[tx()] = p.x[tx()];
	p.y[tx()] = t[tx() ^ 32];
}

// Writes what a neighbour may still read: the barrier is only before the reads.
KERNEL missingSecondBarrier(FaultP p) {
	SHARED float t[64];
	t[tx()] = p.x[tx()];
	sync();
	float v = t[63 - tx()];
	t[tx()] = v + 1;
	sync();
	p.y[tx()] = t[tx()];
}

// Every thread writes the same element of shared memory.
KERNEL sameShared(FaultP p) {
	SHARED float t;
	t = 1;
	sync();
	p.y[tx()] = t;
}

// Every thread sets the same flag to the same value, which is allowed in global memory.
KERNEL sameFlag(FaultP p) { p.y[0] = 1; }

// Every thread writes its own value to one place.
KERNEL globalRace(FaultP p) { p.y[0] = tx(); }

// Half of a warp shuffles with all of it.
KERNEL divergentShuffle(FaultP p) {
	float v = p.x[tx()];
	if (tx() < 16) v = shuffleXor(v, 1);
	p.y[tx()] = v;
}

// Halves of a warp wait at two barriers.
KERNEL divergentBarrier(FaultP p) {
	if (p.x[tx() & 31] > 16) {
		sync();
		p.y[tx()] = 1;
	} else {
		sync();
		p.y[tx()] = 2;
	}
}

// The warps wait at barriers of different numbers.
KERNEL deadlock(FaultP p) {
	if (tx() < 32) asm volatile("bar.sync 1, 64;");
	else asm volatile("bar.sync 2, 64;");
	p.y[tx()] = 1;
}

// Never ends.
KERNEL endless(FaultP p) {
	while (*(volatile float *)p.x == 1) {}
	p.y[0] = 1;
}

KERNEL misaligned(FaultP p) { *(float *)((char *)p.y + 2 + 4 * tx()) = 1; }

KERNEL trap(FaultP p) { if (p.x[tx()] == 1) __builtin_trap(); }

// Reads the second array of shared memory beyond the first's end.
KERNEL sharedOverrun(FaultP p) {
	SHARED float a[64], b[64];
	a[tx()] = 1, b[tx()] = 2;
	sync();
	p.y[tx()] = a[tx() + p.n] + b[tx()];
}

// Reads what cp.async brings before waiting for it.
#if __CUDA_ARCH__ >= 800
KERNEL earlyRead(FaultP p) {
	SHARED float t[64];
	u32 to = (u32)(u64)(__attribute__((address_space(3))) float *)&t[tx()];
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(p.x + tx()));
	asm volatile("cp.async.commit_group;");
	if (p.n) asm volatile("cp.async.wait_group 0;");
	p.y[tx()] = t[tx()];
}
#endif
