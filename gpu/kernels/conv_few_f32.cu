// Convolutions of many pixels and few channels in float32.
#include "conv_few.h"

FEW_KERNELS(4)
