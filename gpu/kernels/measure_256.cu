#include "measure.h"

MEASURE(8, _256, BOUNDS(32), BOUNDS(128))
