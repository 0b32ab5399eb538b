// Convolutions of 3×3 taps of fp16 by matrix instructions, and of bf16 where there are any for it.
#include "conv_matrix.h"
#include "conv_tile.h"

CONV_KERNELS(CONV_TILES, conv_half, Half, 3)
