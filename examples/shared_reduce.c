// Adds up a vector: threads of a warp exchange values by shuffles, warps of a
// block through shared memory and a barrier, blocks by an atomic addition.
#include <stdio.h>

#include <runnel/runnel.h>

#include "check.h"

static const char source[] =
    "__device__ int warp_sum(int value)\n"
    "{\n"
    "    for (int step = warpSize / 2; step > 0; step /= 2)\n"
    "        value += __shfl_down_sync(0xffffffffu, value, step);\n"
    "    return value;\n"
    "}\n"
    "\n"
    "extern \"C\" __global__\n"
    "void sum(const int *vector, int size, int *total)\n"
    "{\n"
    "    __shared__ int sums[32];  // one for each warp of the block\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    int lane = threadIdx.x % warpSize;\n"
    "    int warp = threadIdx.x / warpSize;\n"
    "\n"
    "    int value = warp_sum(i < size ? vector[i] : 0);\n"
    "    if (lane == 0)\n"
    "        sums[warp] = value;\n"
    "    __syncthreads();\n"
    "\n"
    "    if (warp == 0) {\n"
    "        int warps = blockDim.x / warpSize;\n"
    "        value = warp_sum(lane < warps ? sums[lane] : 0);\n"
    "        if (lane == 0)\n"
    "            atomicAdd(total, value);\n"
    "    }\n"
    "}\n";

int main(void)
{
    enum { SIZE = 10000, BLOCK = 256 };
    static int vector[SIZE];
    for (int i = 0; i < SIZE; i++)
        vector[i] = i + 1;

    rnl_context context;
    rnl_stream stream;
    rnl_function sum;
    check(rnl_context_open(NULL, 0, NULL, &context));
    check(rnl_context_default_stream(context, &stream));
    check(rnl_function_compile(context, source, "sum", NULL, &sum));

    rnl_buffer input, total;
    check(rnl_buffer_create(context, sizeof vector, NULL, &input));
    check(rnl_buffer_create(context, sizeof(int),
                            RNL_BUFFER_OPTIONS(.zeroed = true), &total));
    check(rnl_enqueue_copy_to_buffer(stream, input, 0, vector,
                                     sizeof vector));
    check(rnl_enqueue_function(stream, sum,
                               RNL_LAUNCH(.grid = {(SIZE + BLOCK - 1) / BLOCK},
                                          .block = {BLOCK}),
                               RNL_ARGS(input, SIZE, total)));

    int result;
    check(rnl_copy_from_buffer_and_wait(stream, &result, total, 0,
                                        sizeof result));
    printf("1 + 2 + ... + %d = %d\n", SIZE, result);

    check(rnl_buffer_release(total));
    check(rnl_buffer_release(input));
    check(rnl_function_release(sum));
    check(rnl_context_release(context));
    return 0;
}
