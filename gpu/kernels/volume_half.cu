// Convolutions of volumes of fp16 by matrix instructions, and of bf16 where there are any for it.
#include "conv_matrix.h"
#include "volume.h"

VOLUME_ALL(volume_half, Half)
