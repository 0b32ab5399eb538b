// Convolutions of 3×3 taps of 16-bit numbers by tiles (conv_tile.h) on devices without matrix instructions for them: in float32.
#include "conv_tile.h"

#if __CUDA_ARCH__ < 800
template <class T> using Exact = FMA<Store2, T>;
CONV_KERNELS(CONV_MEDIUM, conv_wide16, Exact, 3)
#endif
