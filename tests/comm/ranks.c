#include "ranks.h"

#include <sched.h>
#include <string.h>

rnl_context context;
rnl_stream stream;
rnl_comm comm;
int rank, size;

void ranks_begin(const rnl_comm_options *options)
{
    rnl_comm_info info = {.struct_size = sizeof info};
    expect_ok(rnl_context_open("cpu", 0, NULL, &context));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_comm_create(context, options, &comm));
    expect_ok(rnl_comm_get_info(comm, &info));
    rank = info.rank;
    size = info.size;
}

void ranks_end(void)
{
    expect_ok(rnl_comm_release(comm));
    comm = NULL;
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

void ranks_begin_mpi(void)
{
    ranks_begin(NULL);
    ranks_end();
}

void ranks_refused(rnl_status got, rnl_status status, const char *words,
                   const char *call, const char *file, int line)
{
    const char *message = rnl_last_error()->message;
    test_status(got, status, call, file, line);
    if (!strstr(message, words)) {
        print_error("%s: '%s' lacks '%s'\n", call, message, words);
        _fail(file, line);
    }
}

void ranks_fails(rnl_stream failing, rnl_status status, const char *words)
{
    expect_refused(rnl_stream_synchronize(failing, RNL_FOREVER), status, words);
}

void ranks_fail_behind_gate(rnl_status status, void *gate)
{
    (void)status;
    while (!((struct ranks_gate *)gate)->is_open)
        sched_yield();
    rnl_host_function_fail("told to fail");
}

rnl_buffer ranks_ints(size_t count, int **out_ints)
{
    void *pointer;
    rnl_buffer buffer;
    expect_ok(rnl_buffer_create(context, count * sizeof(int),
                                RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
    expect_ok(rnl_buffer_host_pointer(buffer, &pointer));
    *out_ints = pointer;
    return buffer;
}

void ranks_meet(rnl_comm other)
{
    int *ints;
    rnl_stream own;
    rnl_buffer buffer = ranks_ints(1, &ints);
    expect_ok(rnl_stream_create(context, NULL, &own));
    expect_ok(
        rnl_enqueue_all_reduce(own, other,
                               RNL_COMM_DATA(.receive = buffer, .count = 1,
                                             .element = RNL_ELEMENT_INT32),
                               RNL_REDUCE_SUM));
    expect_ok(rnl_stream_synchronize(own, RNL_FOREVER));
    expect_ok(rnl_stream_release(own));
    expect_ok(rnl_buffer_release(buffer));
}

rnl_status ranks_reduce(rnl_buffer buffer, rnl_element element,
                        rnl_reduction reduction)
{
    return rnl_enqueue_all_reduce(
        stream, comm,
        RNL_COMM_DATA(.receive = buffer, .count = 1, .element = element),
        reduction);
}
