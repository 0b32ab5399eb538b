#include "dev.h"

// y[i] = value, of the type of y.
struct FillP { void *y; i64 n; i32 type; float value; };
KERNEL BOUNDS(256) fill(FillP p) {
	for (i64 i = bx() * 256 + tx(); i < p.n; i += (i64)gdx() * 256) store(p.y, i, p.type, p.value);
}

// to[i] = *from[i]: scalars for the host, which reads them without a copy of its own.
struct GatherP { const float *from[16]; float *to; i32 n; };
KERNEL BOUNDS(32) gather(GatherP p) {
	int i = (int)tx();
	if (i < p.n) p.to[i] = *p.from[i];
}
