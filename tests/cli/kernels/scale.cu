#include "factor.h"

#ifndef OFFSET
#define OFFSET 0
#endif

template <typename T>
__global__ void scale(T *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = values[i] * FACTOR + OFFSET;
}
