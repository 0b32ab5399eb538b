#include "amplitude.h"

AMPLITUDE(8, _256, BOUNDS(32))
