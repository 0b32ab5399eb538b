#include "amplitude.h"

AMPLITUDE(9, _512, BOUNDS(64))
