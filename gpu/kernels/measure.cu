#include "measure.h"

MEASURE(0, , BOUNDS(512), BOUNDS(512))
