// Convolutions of 4×4 taps of float32 by tiles (conv_tile.h), with products as they are.
#include "conv_tile.h"

template <class T> using Exact = FMA<Store4, T>;

CONV_KERNELS(CONV_TILES, conv_f32, Exact, 4)
