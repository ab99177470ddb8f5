// Adds a number to every element of a vector: the first program of every GPU
// guide. Data goes from the host to the device, a kernel given as source text
// works on it there, and the result comes back.
//
//   Original host buffer: HostBuffer([0.0, 1.0, 2.0, ..., 19.0])
//   Modified host buffer: HostBuffer([20.0, 21.0, 22.0, ..., 39.0])
#include <stdio.h>

#include <runnel/runnel.h>

#include "check.h"

// What runs on the device, once for each element, all of them in parallel. It
// is compiled at run time, for whatever device there is.
static const char source[] =
    "extern \"C\" __global__\n"
    "void scalar_add(float *vector, int size, float scalar)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < size)\n"
    "        vector[i] += scalar;\n"
    "}\n";

static void print_vector(const char *title, const float *vector, int size)
{
    printf("%s: HostBuffer([", title);
    for (int i = 0; i < size; i++)
        printf("%s%.1f", i ? ", " : "", vector[i]);
    printf("])\n");
}

int main(void)
{
    const int size = 20;
    const size_t bytes = size * sizeof(float);

    // Open the best device present: a GPU, or else the CPU.
    rnl_context context;
    rnl_stream stream;
    check(rnl_context_open(NULL, 0, NULL, &context));
    check(rnl_context_default_stream(context, &stream));

    // One buffer in memory that the host can reach, one on the device.
    rnl_buffer host_buffer, device_buffer;
    check(rnl_buffer_create(context, bytes,
                            RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                            &host_buffer));
    check(rnl_buffer_create(context, bytes, NULL, &device_buffer));

    // Fill the host buffer with 0, 1, 2, ...
    void *pointer;
    check(rnl_buffer_host_pointer(host_buffer, &pointer));
    float *vector = pointer;
    for (int i = 0; i < size; i++)
        vector[i] = (float)i;
    print_vector("Original host buffer", vector, size);

    rnl_function scalar_add;
    check(rnl_function_compile(context, source, "scalar_add", NULL,
                               &scalar_add));

    // Enqueue calls return at once; the stream does the work in this order.
    check(rnl_enqueue_copy_buffer(stream, device_buffer, 0, host_buffer, 0,
                                  bytes));
    check(rnl_enqueue_function(stream, scalar_add,
                               RNL_LAUNCH(.grid = {1}, .block = {size}),
                               RNL_ARGS(device_buffer, size, 20.0f)));
    check(rnl_enqueue_copy_buffer(stream, host_buffer, 0, device_buffer, 0,
                                  bytes));

    // Wait until all of it is done; only then look at the result.
    check(rnl_stream_synchronize(stream, RNL_FOREVER));
    print_vector("Modified host buffer", vector, size);

    check(rnl_function_release(scalar_add));
    check(rnl_buffer_release(device_buffer));
    check(rnl_buffer_release(host_buffer));
    check(rnl_context_release(context));
    return 0;
}
