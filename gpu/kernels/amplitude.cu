#include "amplitude.h"

AMPLITUDE(0, , BOUNDS(512))
