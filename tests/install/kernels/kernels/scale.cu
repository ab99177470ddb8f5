// Umlauts ä ö and a quote " in a comment are bytes like others.
#include "factor.h"

extern "C" __global__ void scale(int *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= FACTOR * TWO;
}
