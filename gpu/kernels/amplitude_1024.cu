#include "amplitude.h"

AMPLITUDE(10, _1024, BOUNDS(128))
