// The C side of bench/python/launch.py: what a launch with four arguments costs
// in C, by the same clock and in the same batches as from Python.
#include <runnel/runnel.h>

#include <stdlib.h>
#include <time.h>

static const char source[] =
    "extern \"C\" __global__ void small(float *a, float *b, int n, float x)"
    "{ if (n < 0) *a = *b + x; }";

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static rnl_status time_batches(rnl_stream stream, rnl_function function,
                               rnl_buffer a, rnl_buffer b, size_t batches,
                               size_t size, double *out_ns)
{
    for (size_t k = 0; k < batches; k++) {
        uint64_t begin = now_ns();
        for (size_t i = 0; i < size; i++) {
            rnl_status status = rnl_enqueue_function(
                stream, function, RNL_LAUNCH(.grid = {1}, .block = {32}),
                RNL_ARGS(a, b, (int)i, 1.5f));
            if (status != RNL_OK)
                return status;
        }
        out_ns[k] = (double)(now_ns() - begin) / (double)size;
        rnl_status status = rnl_stream_synchronize(stream, RNL_FOREVER);
        if (status != RNL_OK)
            return status;
    }
    return RNL_OK;
}

// Nanoseconds of a launch, for each of `batches` batches of `size` launches.
__attribute__((visibility("default"))) int c_launch(const char *api,
                                                    size_t index,
                                                    size_t batches, size_t size,
                                                    double *out_ns);

int c_launch(const char *api, size_t index, size_t batches, size_t size,
             double *out_ns)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_function function = NULL;
    rnl_buffer a = NULL, b = NULL;
    rnl_status status = rnl_context_open(api, index, NULL, &context);
    if (status == RNL_OK)
        status = rnl_stream_create(context, NULL, &stream);
    if (status == RNL_OK)
        status =
            rnl_function_compile(context, source, "small", NULL, &function);
    if (status == RNL_OK)
        status = rnl_buffer_create(context, 64, NULL, &a);
    if (status == RNL_OK)
        status = rnl_buffer_create(context, 64, NULL, &b);
    if (status == RNL_OK)
        status = time_batches(stream, function, a, b, batches, size, out_ns);
    rnl_buffer_release(a);
    rnl_buffer_release(b);
    rnl_function_release(function);
    rnl_stream_release(stream);
    rnl_context_release(context);
    return (int)status;
}
