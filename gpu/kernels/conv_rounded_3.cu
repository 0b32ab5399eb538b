// Convolutions of 3×3 taps of float32 by matrix instructions for TF32 and bf16.
#include "conv_matrix.h"
#include "conv_tile.h"

#if __CUDA_ARCH__ >= 800
CONV_KERNELS(CONV_TILES, conv_rounded, Rounded, 3)
#endif
