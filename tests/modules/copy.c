#include "copy.h"

#include <runnel/runnel.h>

#define COUNT 256
#define TRY(call) \
    if ((call) != RNL_OK) \
        return __LINE__

static const char source[] =
    "extern \"C\" __global__ void reverse(int *out)\n"
    "{\n"
    "    __shared__ int part[256];\n"
    "    part[threadIdx.x] = out[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    out[threadIdx.x] = part[255 - threadIdx.x];\n"
    "}\n";

static rnl_context context;
static rnl_stream stream;
static rnl_function function;
static rnl_buffer buffer;

__attribute__((visibility("default"))) int copy_open(void)
{
    TRY(rnl_context_open("cpu", 0, NULL, &context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_function_compile(context, source, "reverse", NULL, &function));
    TRY(rnl_buffer_create(context, COUNT * sizeof(int), NULL, &buffer));
    return 0;
}

__attribute__((visibility("default"))) int copy_run(void)
{
    int values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = i;
    TRY(rnl_copy_to_buffer_and_wait(stream, buffer, 0, values, sizeof values));
    TRY(rnl_enqueue_function(stream, function,
                             RNL_LAUNCH(.grid = {1}, .block = {COUNT}),
                             RNL_ARGS(buffer)));
    TRY(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                      sizeof values));
    for (int i = 0; i < COUNT; i++)
        if (values[i] != COUNT - 1 - i)
            return __LINE__;
    return 0;
}

__attribute__((visibility("default"))) int copy_close(void)
{
    TRY(rnl_buffer_release(buffer));
    TRY(rnl_function_release(function));
    TRY(rnl_context_release(context));
    return 0;
}
