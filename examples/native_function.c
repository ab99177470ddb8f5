// A C function as a kernel of the cpu: no compiler is needed at run time, and
// the function is launched like any other, in stream order, on all cores.
#include <stdio.h>

#include <runnel/runnel.h>

#include "check.h"

// The signature, checked at each launch: void scale(float *, int, float).
static const rnl_parameter parameters[] = {
    {RNL_VALUE_POINTER, sizeof(float *), _Alignof(float *), "float *"},
    {RNL_VALUE_INTEGER, sizeof(int), _Alignof(int), "int"},
    {RNL_VALUE_FLOAT, sizeof(float), _Alignof(float), "float"},
};

// Does a share of the launch: some consecutive blocks of the grid. Several
// threads call it at once, each with another share.
static rnl_status scale(const rnl_native_call *call)
{
    float *vector = *(float *const *)call->arguments[0];
    uint64_t size = (uint64_t)*(const int *)call->arguments[1];
    float factor = *(const float *)call->arguments[2];

    uint64_t begin = call->first_block * call->block.x;
    uint64_t end = begin + call->block_count * call->block.x;
    for (uint64_t i = begin; i < end && i < size; i++)
        vector[i] *= factor;
    return RNL_OK;
}

int main(void)
{
    enum { SIZE = 1000, BLOCK = 64 };
    rnl_context context;
    rnl_stream stream;
    check(rnl_context_open("cpu", 0, NULL, &context));
    check(rnl_context_default_stream(context, &stream));

    rnl_function function;
    check(rnl_function_create_native(
        context, "scale", scale,
        RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = 3),
        &function));

    // Any memory of the program can be a buffer; here it is borrowed.
    static float vector[SIZE];
    for (int i = 0; i < SIZE; i++)
        vector[i] = (float)i;
    rnl_buffer buffer;
    check(rnl_buffer_wrap(context, vector, sizeof vector, NULL, &buffer));

    check(rnl_enqueue_function(stream, function,
                               RNL_LAUNCH(.grid = {(SIZE + BLOCK - 1) / BLOCK},
                                          .block = {BLOCK}),
                               RNL_ARGS(buffer, SIZE, 0.5f)));
    check(rnl_stream_synchronize(stream, RNL_FOREVER));
    printf("first %.1f, last %.1f\n", vector[0], vector[SIZE - 1]);

    check(rnl_buffer_release(buffer));
    check(rnl_function_release(function));
    check(rnl_context_release(context));
    return 0;
}
