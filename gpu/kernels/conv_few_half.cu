// Convolutions of many pixels and few channels in 16 bits.
#include "conv_few.h"

FEW_KERNELS(2)
