#include "measure.h"

MEASURE(9, _512, BOUNDS(64, 12), BOUNDS(256))
