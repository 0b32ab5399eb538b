// Convolutions of volumes of 16-bit numbers on devices without matrix instructions for them: in float32.
#include "volume.h"

#if __CUDA_ARCH__ < 800
template <class T> using Exact = FMA<Store2, T>;

VOLUME_KERNELS(volume_wide16, Exact, Middle, 64x32)
#endif
