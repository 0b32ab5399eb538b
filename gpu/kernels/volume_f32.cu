// Convolutions of volumes of float32.
#include "volume.h"

template <class T> using Exact = FMA<Store4, T>;

VOLUME_ALL(volume_f32, Exact)
