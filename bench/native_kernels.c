#include "native_kernels.h"

const rnl_parameter native_axpy_parameters[4] = {
    {RNL_VALUE_FLOAT, 4, 4, "float"},
    {RNL_VALUE_POINTER, 8, 8, "const float *"},
    {RNL_VALUE_POINTER, 8, 8, "float *"},
    {RNL_VALUE_INTEGER, 4, 4, "int"},
};

rnl_status native_empty(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

// A function of its own, so that `restrict` counts.
static void axpy(float a, const float *restrict x, float *restrict y,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

rnl_status native_axpy(const rnl_native_call *call)
{
    float a = *(const float *)call->arguments[0];
    const float *x = *(const float *const *)call->arguments[1];
    float *y = *(float *const *)call->arguments[2];
    int count = *(const int *)call->arguments[3];
    size_t begin = call->first_block * call->block.x;
    size_t end = begin + call->block_count * call->block.x;
    if (end > (size_t)count)
        end = (size_t)count;
    if (begin < end)
        axpy(a, x + begin, y + begin, end - begin);
    return RNL_OK;
}
