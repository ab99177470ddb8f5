// Shows how a grid is made of blocks and a block of threads: every thread of a
// 2x2x1 grid of 4x4x2 blocks prints which one it is. The 128 lines come in any
// order, because the threads run at the same time.
#include <runnel/runnel.h>

#include "check.h"

static const char source[] =
    "extern \"C\" __global__ void print_indices()\n"
    "{\n"
    "    printf(\"block: [%u %u %u]  thread: [%u %u %u]  \"\n"
    "           \"global: [%u %u %u]\\n\",\n"
    "           blockIdx.x, blockIdx.y, blockIdx.z,\n"
    "           threadIdx.x, threadIdx.y, threadIdx.z,\n"
    "           blockIdx.x * blockDim.x + threadIdx.x,\n"
    "           blockIdx.y * blockDim.y + threadIdx.y,\n"
    "           blockIdx.z * blockDim.z + threadIdx.z);\n"
    "}\n";

int main(void)
{
    rnl_context context;
    rnl_stream stream;
    rnl_function print_indices;
    check(rnl_context_open(NULL, 0, NULL, &context));
    check(rnl_context_default_stream(context, &stream));
    check(rnl_function_compile(context, source, "print_indices", NULL,
                               &print_indices));

    check(rnl_enqueue_function(stream, print_indices,
                               RNL_LAUNCH(.grid = {2, 2, 1},
                                          .block = {4, 4, 2}),
                               RNL_NO_ARGS));
    check(rnl_stream_synchronize(stream, RNL_FOREVER));

    check(rnl_function_release(print_indices));
    check(rnl_context_release(context));
    return 0;
}
