// Two streams that work at the same time, an event that orders them where it
// matters, and a host function that runs when everything is done.
//
//   left:   left = 1, 2, 4, ... ---+ event
//   right:  right = 1, 1, 1, ... --+-- sum = left + right -- host function
#include <stdio.h>

#include <runnel/runnel.h>

#include "check.h"

enum { SIZE = 8, BYTES = SIZE * sizeof(int) };

static const char source[] =
    "extern \"C\" __global__ void powers(int *vector)\n"
    "{\n"
    "    vector[threadIdx.x] = 1 << threadIdx.x;\n"
    "}\n"
    "extern \"C\" __global__\n"
    "void add(int *sum, const int *left, const int *right)\n"
    "{\n"
    "    int i = threadIdx.x;\n"
    "    sum[i] = left[i] + right[i];\n"
    "}\n";

// Runs on a thread of the library, after the work before it on its stream. It
// may use its own data, but not call Runnel.
static void print_sum(rnl_status status, void *user_data)
{
    const int *sum = user_data;
    if (status != RNL_OK)
        return;
    printf("sum:");
    for (int i = 0; i < SIZE; i++)
        printf(" %d", sum[i]);
    printf("\n");
}

int main(void)
{
    rnl_context context;
    rnl_stream left_stream, right_stream;
    check(rnl_context_open(NULL, 0, NULL, &context));
    check(rnl_stream_create(context, RNL_STREAM_OPTIONS(.label = "left"),
                            &left_stream));
    check(rnl_stream_create(context, RNL_STREAM_OPTIONS(.label = "right"),
                            &right_stream));

    rnl_module module;
    rnl_function powers, add;
    check(rnl_module_compile(context, source, NULL, &module));
    check(rnl_module_function(module, "powers", &powers));
    check(rnl_module_function(module, "add", &add));

    rnl_buffer left, right, sum;
    check(rnl_buffer_create(context, BYTES, NULL, &left));
    check(rnl_buffer_create(context, BYTES, NULL, &right));
    check(rnl_buffer_create(context, BYTES, NULL, &sum));

    // These two may run in any order or at the same time.
    check(rnl_enqueue_function(left_stream, powers,
                               RNL_LAUNCH(.grid = {1}, .block = {SIZE}),
                               RNL_ARGS(left)));
    check(rnl_enqueue_fill(right_stream, right, 0, BYTES, 1, sizeof(int)));

    // The event is a point in the left stream; the right one waits for it.
    rnl_event left_done;
    check(rnl_enqueue_event(left_stream, NULL, &left_done));
    check(rnl_enqueue_wait_event(right_stream, left_done));
    check(rnl_enqueue_function(right_stream, add,
                               RNL_LAUNCH(.grid = {1}, .block = {SIZE}),
                               RNL_ARGS(sum, left, right)));

    int result[SIZE];
    check(rnl_enqueue_copy_from_buffer(right_stream, result, sum, 0, BYTES));
    check(rnl_enqueue_host_function(right_stream, print_sum, result));

    // Work in flight keeps what it uses: all of this can go at once.
    check(rnl_event_release(left_done));
    check(rnl_buffer_release(sum));
    check(rnl_buffer_release(right));
    check(rnl_buffer_release(left));
    check(rnl_function_release(add));
    check(rnl_function_release(powers));
    check(rnl_module_release(module));

    check(rnl_stream_synchronize(right_stream, RNL_FOREVER));
    check(rnl_stream_release(right_stream));
    check(rnl_stream_release(left_stream));
    check(rnl_context_release(context));
    return 0;
}
