#include "measure.h"

MEASURE(10, _1024, BOUNDS(128, 6), BOUNDS(512, 2))
