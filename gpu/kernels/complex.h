// Complex numbers.
#pragma once
#include "dev.h"

// Real and imaginary part.
typedef float F2 __attribute__((ext_vector_type(2)));

DEVICE F2 times(F2 a, F2 b) { return F2{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
