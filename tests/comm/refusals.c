// Bad input, which the calls refuse: one rank is enough.
#include "ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static rnl_status reduce(rnl_stream on, const rnl_comm_data *data)
{
    return rnl_enqueue_all_reduce(on, comm, data, RNL_REDUCE_SUM);
}

RNL_TEST(bad_numbers_are_refused)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(4, &ints);
    rnl_comm_data data = {sizeof data, buffer,           0, NULL, 0,
                          1,           RNL_ELEMENT_INT32};
    expect_refused(rnl_enqueue_send(stream, comm, &data, size),
                   RNL_ERROR_OUT_OF_RANGE, "'peer' is");
    expect_refused(rnl_enqueue_send(stream, comm, &data, -1),
                   RNL_ERROR_OUT_OF_RANGE, "'peer' is -1");
    data =
        (rnl_comm_data){sizeof data, NULL, 0, buffer, 0, 1, RNL_ELEMENT_INT32};
    expect_refused(rnl_enqueue_broadcast(stream, comm, &data, size),
                   RNL_ERROR_OUT_OF_RANGE, "'root' is");
    expect_refused(
        rnl_enqueue_all_reduce(stream, comm, &data, (rnl_reduction)9),
        RNL_ERROR_INVALID_ARGUMENT, "no rnl_reduction");
    data.element = (rnl_element)99;
    expect_refused(reduce(stream, &data), RNL_ERROR_INVALID_ARGUMENT,
                   "has no size");
    data.element = RNL_ELEMENT_INT32;
    data.count = 5;
    expect_refused(reduce(stream, &data), RNL_ERROR_OUT_OF_RANGE,
                   "leave 'receive'");
    data.count = SIZE_MAX / 2;
    expect_refused(reduce(stream, &data), RNL_ERROR_OUT_OF_RANGE,
                   "leave 'receive'");
    data.count = 1;
    data.receive_offset = SIZE_MAX;
    expect_refused(reduce(stream, &data), RNL_ERROR_OUT_OF_RANGE,
                   "leave 'receive'");
    data.receive_offset = 0;
    data.count = SIZE_MAX;
    expect_refused(rnl_enqueue_all_gather(stream, comm, &data),
                   RNL_ERROR_OUT_OF_RANGE, "leave 'receive'");
    data.struct_size = 1;
    expect_refused(reduce(stream, &data), RNL_ERROR_INVALID_ARGUMENT,
                   "struct_size");
    expect_refused(reduce(stream, NULL), RNL_ERROR_INVALID_ARGUMENT,
                   "'data' is NULL");
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(sides_that_an_operation_lacks_are_refused)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(4, &ints);
    const rnl_comm_data both = {sizeof both, buffer,           0, buffer, 0,
                                1,           RNL_ELEMENT_INT32};
    const rnl_comm_data in = {sizeof in,        NULL, 0, buffer, 0, 1,
                              RNL_ELEMENT_INT32};
    expect_refused(rnl_enqueue_broadcast(stream, comm, &both, 0),
                   RNL_ERROR_INVALID_ARGUMENT, "takes no 'send'");
    expect_refused(rnl_enqueue_send(stream, comm, &both, 0),
                   RNL_ERROR_INVALID_ARGUMENT, "takes no 'receive'");
    expect_refused(
        rnl_enqueue_reduce_scatter(stream, comm, &in, RNL_REDUCE_SUM),
        RNL_ERROR_INVALID_ARGUMENT, "cannot be done in place");
    expect_ok(rnl_buffer_release(buffer));
    expect_refused(reduce(stream, &in), RNL_ERROR_INVALID_HANDLE,
                   "not a live buffer");
    ranks_end();
}

// Only the bytes of a rank's own elements may be at one place.
RNL_TEST(sides_that_overlap_are_refused)
{
    int *ints;
    rnl_buffer slice;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(8, &ints);
    expect_ok(rnl_buffer_slice(buffer, 4, 12, &slice));
    rnl_comm_data data = {sizeof data, buffer,           0, slice, 0,
                          3,           RNL_ELEMENT_INT32};
    expect_refused(reduce(stream, &data), RNL_ERROR_INVALID_ARGUMENT,
                   "'send' and 'receive' overlap");
    expect_refused(rnl_enqueue_all_gather(stream, comm, &data),
                   RNL_ERROR_INVALID_ARGUMENT, "overlap");
    data.send_offset = 8;
    expect_refused(reduce(stream, &data), RNL_ERROR_INVALID_ARGUMENT,
                   "overlap");
    data.send_offset = 4;
    expect_refused(
        rnl_enqueue_reduce_scatter(stream, comm, &data, RNL_REDUCE_SUM),
        RNL_ERROR_INVALID_ARGUMENT, "MPI does no reduce-scatter in place");
    data.send_offset = 16;
    expect_ok(reduce(stream, &data));
    data.count = 0;
    data.send_offset = 8;
    expect_ok(reduce(stream, &data));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

static rnl_status reduce_typed(rnl_element of_buffer, rnl_element element)
{
    rnl_buffer typed;
    expect_ok(rnl_buffer_create_typed(context, of_buffer, 1, NULL, &typed));
    rnl_status status =
        reduce(stream, RNL_COMM_DATA(.receive = typed, .count = 1,
                                     .element = element));
    expect_ok(rnl_buffer_release(typed));
    return status;
}

// As in launches.
RNL_TEST(elements_fit_by_the_rules_of_rnl_element)
{
    ranks_begin(NULL);
    expect_ok(reduce_typed(RNL_ELEMENT_UINT32, RNL_ELEMENT_INT32));
    expect_ok(reduce_typed(RNL_ELEMENT_INT64, RNL_ELEMENT_UINT64));
    expect_ok(reduce_typed(RNL_ELEMENT_FLOAT64, RNL_ELEMENT_UINT8));
    expect_ok(reduce_typed(RNL_ELEMENT_UINT8, RNL_ELEMENT_INT8));
    expect_refused(reduce_typed(RNL_ELEMENT_FLOAT64, RNL_ELEMENT_INT32),
                   RNL_ERROR_ARGUMENT_MISMATCH,
                   "a buffer of FLOAT64, and the operation has elements of "
                   "INT32");
    expect_refused(reduce_typed(RNL_ELEMENT_INT32, RNL_ELEMENT_INT16),
                   RNL_ERROR_ARGUMENT_MISMATCH, "a buffer of INT32");
    expect_refused(reduce_typed(RNL_ELEMENT_UINT64, RNL_ELEMENT_FLOAT64),
                   RNL_ERROR_ARGUMENT_MISMATCH, "a buffer of UINT64");
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    ranks_end();
}

struct refused_call {
    const rnl_comm_data *data;
    rnl_status status;
    char message[200];
};

static void call_within(rnl_status status, void *user_data)
{
    struct refused_call *call = user_data;
    (void)status;
    call->status = reduce(stream, call->data);
    snprintf(call->message, sizeof call->message, "%s",
             rnl_last_error()->message);
}

RNL_TEST(a_call_in_a_host_function_is_refused_as_that)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    struct refused_call call = {.data = RNL_COMM_DATA(
                                    .receive = buffer, .count = 1,
                                    .element = RNL_ELEMENT_INT32)};
    expect_ok(rnl_enqueue_host_function(stream, call_within, &call));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(call.status, RNL_ERROR_NOT_PERMITTED);
    assert_non_null(strstr(call.message, "host function"));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// Each operation, with the handles of a stream and of a communicator.
static void expect_all_refused(rnl_stream on, rnl_comm by, rnl_buffer buffer,
                               const char *words)
{
    const rnl_comm_data in = {sizeof in,        NULL, 0, buffer, 0, 1,
                              RNL_ELEMENT_INT32};
    const rnl_comm_data out = {sizeof out, buffer,           0, NULL, 0,
                               1,          RNL_ELEMENT_INT32};
    const rnl_comm_data both = {sizeof both, buffer,           4, buffer, 0,
                                1,           RNL_ELEMENT_INT32};
    rnl_status dead = RNL_ERROR_INVALID_HANDLE;
    expect_refused(rnl_enqueue_all_reduce(on, by, &in, RNL_REDUCE_SUM), dead,
                   words);
    expect_refused(rnl_enqueue_broadcast(on, by, &in, 0), dead, words);
    expect_refused(rnl_enqueue_reduce_scatter(on, by, &both, RNL_REDUCE_SUM),
                   dead, words);
    expect_refused(rnl_enqueue_all_gather(on, by, &in), dead, words);
    expect_refused(rnl_enqueue_send(on, by, &out, 0), dead, words);
    expect_refused(rnl_enqueue_receive(on, by, &in, 0), dead, words);
}

RNL_TEST(all_operations_refuse_dead_handles)
{
    int *ints;
    rnl_comm dead_comm, other;
    rnl_stream dead_stream;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(2, &ints);
    expect_ok(rnl_stream_create(context, NULL, &dead_stream));
    expect_ok(rnl_stream_release(dead_stream));
    expect_ok(rnl_comm_create(context, NULL, &dead_comm));
    expect_ok(rnl_comm_release(dead_comm));
    expect_all_refused(dead_stream, comm, buffer, "not a live stream");
    expect_all_refused(stream, dead_comm, buffer, "not a live communicator");
    expect_ok(rnl_buffer_release(buffer));
    rnl_context dead = context;
    ranks_end();
    rnl_status status = RNL_ERROR_INVALID_HANDLE;
    expect_refused(rnl_comm_create(dead, NULL, &other), status, "context");
    expect_refused(rnl_comm_create(NULL, NULL, &other), status, "NULL");
    expect_refused(rnl_comm_create_all(&dead, 1, NULL, &other), status,
                   "context");
}

RNL_TEST(properties_fill_structs_of_any_size)
{
    struct {
        rnl_comm_info info;
        char more[16];
    } longer;
    ranks_begin(NULL);
    memset(&longer, 1, sizeof longer);
    longer.info.struct_size = sizeof longer;
    expect_ok(rnl_comm_get_info(comm, &longer.info));
    assert_int_equal(longer.info.struct_size, sizeof longer.info);
    assert_int_equal(longer.info.size, size);
    for (size_t i = 0; i < sizeof longer.more; i++)
        assert_int_equal(longer.more[i], 0);
    memset(&longer, 1, sizeof longer);
    longer.info.struct_size = offsetof(rnl_comm_info, rank);
    expect_ok(rnl_comm_get_info(comm, &longer.info));
    assert_ptr_equal(longer.info.context, context);
    assert_int_equal(longer.info.rank, 0x01010101);
    ranks_end();
}

RNL_TEST(a_child_process_creates_no_communicator)
{
    rnl_comm other;
    ranks_begin(NULL);
    pid_t child = test_fork();
    if (child == 0) {
        expect_ok(rnl_context_open("cpu", 0, NULL, &context));
        expect_refused(rnl_comm_create(context, NULL, &other),
                       RNL_ERROR_FORKED, "a child cannot use");
        expect_refused(rnl_comm_create_all(&context, 1, NULL, &other),
                       RNL_ERROR_FORKED, "a child cannot use");
        test_exit(5);
    }
    assert_int_equal(test_wait(child), 5);
    ranks_end();
}

RNL_TEST(objects_of_another_context_are_refused)
{
    int *ints;
    rnl_context other;
    rnl_stream foreign;
    rnl_buffer strange, typed;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    expect_ok(rnl_context_open("cpu", 0, NULL, &other));
    expect_ok(rnl_context_default_stream(other, &foreign));
    expect_ok(rnl_buffer_create(other, 4, NULL, &strange));
    expect_ok(
        rnl_buffer_create_typed(context, RNL_ELEMENT_FLOAT64, 1, NULL, &typed));
    rnl_comm_data data = {sizeof data,      NULL, 0, buffer, 0, 1,
                          RNL_ELEMENT_INT32};
    expect_refused(reduce(foreign, &data), RNL_ERROR_INVALID_ARGUMENT,
                   "stream of another context");
    data.receive = strange;
    expect_refused(reduce(stream, &data), RNL_ERROR_INVALID_ARGUMENT,
                   "buffer of another context");
    data.receive = typed;
    expect_refused(reduce(stream, &data), RNL_ERROR_ARGUMENT_MISMATCH,
                   "a buffer of FLOAT64");
    expect_ok(rnl_buffer_release(typed));
    expect_ok(rnl_buffer_release(strange));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_context_release(other));
    ranks_end();
}

RNL_TEST(dead_and_foreign_handles_are_refused)
{
    int *ints;
    ranks_begin(NULL);
    rnl_comm dead = comm;
    rnl_comm_info info = {.struct_size = sizeof info};
    rnl_buffer buffer = ranks_ints(1, &ints);
    const rnl_comm_data data = {sizeof data,      NULL, 0, buffer, 0, 1,
                                RNL_ELEMENT_INT32};
    expect_refused(rnl_comm_get_info(NULL, &info), RNL_ERROR_INVALID_HANDLE,
                   "NULL");
    expect_refused(rnl_comm_get_info((rnl_comm)(void *)stream, &info),
                   RNL_ERROR_INVALID_HANDLE, "not a live communicator");
    expect_refused(rnl_comm_get_info(comm, NULL), RNL_ERROR_INVALID_ARGUMENT,
                   "out_info");
    expect_refused(reduce(NULL, &data), RNL_ERROR_INVALID_HANDLE,
                   "not a live stream");
    pid_t child = test_fork();
    if (child == 0)
        test_exit(rnl_comm_get_info(comm, &info) == RNL_ERROR_FORKED &&
                          reduce(stream, &data) == RNL_ERROR_FORKED &&
                          rnl_comm_group_begin() == RNL_ERROR_FORKED &&
                          rnl_comm_group_end() == RNL_ERROR_FORKED &&
                          rnl_comm_abort(comm) == RNL_ERROR_FORKED &&
                          rnl_comm_release(comm) == RNL_ERROR_FORKED
                      ? 0
                      : 1);
    assert_int_equal(test_wait(child), 0);
    expect_ok(rnl_comm_release(comm));
    comm = NULL;
    expect_refused(rnl_comm_release(dead), RNL_ERROR_INVALID_HANDLE,
                   "not a live communicator");
    expect_refused(rnl_comm_abort(dead), RNL_ERROR_INVALID_HANDLE,
                   "not a live communicator");
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(groups_that_do_not_fit_are_refused)
{
    int *ints;
    rnl_stream second;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    const rnl_comm_data data = {sizeof data,      NULL, 0, buffer, 0, 1,
                                RNL_ELEMENT_INT32};
    expect_ok(rnl_stream_create(context, NULL, &second));
    expect_refused(rnl_comm_group_end(), RNL_ERROR_INVALID_STATE,
                   "begun no group");
    expect_ok(rnl_comm_group_begin());
    expect_refused(rnl_comm_group_begin(), RNL_ERROR_INVALID_STATE,
                   "begun a group already");
    expect_ok(rnl_comm_group_end());
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce(stream, &data));
    expect_ok(reduce(second, &data));
    expect_refused(rnl_comm_group_end(), RNL_ERROR_INVALID_ARGUMENT,
                   "one stream");
    expect_refused(reduce(stream, &data), RNL_ERROR_INVALID_STATE, "aborted");
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(a_stream_that_is_captured_cannot_be_followed)
{
    int *ints;
    rnl_stream second;
    rnl_graph graph;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    const rnl_comm_data data = {sizeof data,      NULL, 0, buffer, 0, 1,
                                RNL_ELEMENT_INT32};
    expect_ok(rnl_stream_create(context, NULL, &second));
    expect_ok(reduce(stream, &data));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_refused(reduce(second, &data), RNL_ERROR_CAPTURE_ISOLATION,
                   "captured now");
    expect_ok(rnl_stream_end_capture(stream, &graph));
    expect_ok(reduce(second, &data));
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(options_that_contradict_each_other_are_refused)
{
    rnl_comm other;
    int handle = 0;
    ranks_begin(NULL);
    const struct {
        rnl_comm_options options;
        rnl_status status;
        const char *words;
    } cases[] = {
        {{.rank = 1}, RNL_ERROR_INVALID_ARGUMENT, "MPI gives the rank"},
        {{.file = "f", .address = "a:1"},
         RNL_ERROR_INVALID_ARGUMENT,
         "both a file and an address"},
        {{.file = "f"}, RNL_ERROR_OUT_OF_RANGE, "at least one rank"},
        {{.file = "f", .rank = 2, .size = 2},
         RNL_ERROR_OUT_OF_RANGE,
         "is 2 in a communicator of 2"},
        {{.file = "f", .size = 1, .mpi_comm = &handle},
         RNL_ERROR_INVALID_ARGUMENT,
         "mpi_comm"},
        {{.file = "/nowhere/f", .rank = 1, .size = 2},
         RNL_ERROR_UNSUPPORTED,
         "start the program with mpirun"},
        {{.address = "nothing", .size = 1},
         RNL_ERROR_INVALID_ARGUMENT,
         "host:port"},
        {{.address = "no.such.host.invalid:1",
          .size = 1,
          .timeout_ns = 100000000},
         RNL_ERROR_NOT_FOUND,
         "is no address"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rnl_comm_options options = cases[i].options;
        options.struct_size = sizeof options;
        expect_refused(rnl_comm_create(context, &options, &other),
                       cases[i].status, cases[i].words);
    }
    expect_refused(rnl_comm_create(context, NULL, NULL),
                   RNL_ERROR_INVALID_ARGUMENT, "out_comm");
    expect_refused(rnl_comm_create_all(&context, 1, NULL, &other),
                   RNL_ERROR_UNSUPPORTED, "a process is one rank");
    expect_refused(rnl_comm_create_all(&context, 0, NULL, &other),
                   RNL_ERROR_OUT_OF_RANGE, "1 to 1024");
    ranks_end();
}

// --- The engine --------------------------------------------------------------

static void expect_no_engine(const char *library, rnl_status status,
                             const char *words)
{
    setenv("RUNNEL_MPI", library, 1);
    expect_ok(rnl_context_open("cpu", 0, NULL, &context));
    expect_refused(rnl_comm_create(context, NULL, &comm), status, words);
    expect_ok(rnl_context_release(context));
}

RNL_TEST(an_engine_that_is_missing_is_named_with_the_paths)
{
    expect_no_engine("off", RNL_ERROR_NOT_FOUND, "switched off");
    expect_no_engine("/nowhere/libmpi.so", RNL_ERROR_NOT_FOUND,
                     "/nowhere/libmpi.so");
    expect_no_engine("libm.so.6", RNL_ERROR_UNSUPPORTED, "has no MPI_");
}

// MPI as the program has it.
static struct {
    int (*init)(int *, char ***, int, int *);
    int (*finalize)(void);
} mpi;

static void init_mpi(int level)
{
    const char *name =
        getenv("OMPI_COMM_WORLD_SIZE") ? "libmpi.so.40" : "libmpich.so.12";
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    assert_non_null(library);
    *(void **)&mpi.init = dlsym(library, "MPI_Init_thread");
    *(void **)&mpi.finalize = dlsym(library, "MPI_Finalize");
    assert_int_equal(mpi.init(NULL, NULL, level, &level), 0);
}

RNL_TEST(an_mpi_for_one_thread_is_refused)
{
    init_mpi(0);
    expect_ok(rnl_context_open("cpu", 0, NULL, &context));
    expect_refused(rnl_comm_create(context, NULL, &comm),
                   RNL_ERROR_INVALID_STATE, "MPI_THREAD_MULTIPLE");
    assert_int_equal(mpi.finalize(), 0);
    expect_refused(rnl_comm_create(context, NULL, &comm),
                   RNL_ERROR_INVALID_STATE, "is finalized");
    expect_ok(rnl_context_release(context));
}

RNL_TEST(calls_after_the_program_finalized_mpi_fail)
{
    int *ints;
    rnl_comm other;
    init_mpi(3);
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    const rnl_comm_data data = {sizeof data,      NULL, 0, buffer, 0, 1,
                                RNL_ELEMENT_INT32};
    expect_ok(reduce(stream, &data));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(mpi.finalize(), 0);
    expect_refused(rnl_comm_create(context, NULL, &other),
                   RNL_ERROR_INVALID_STATE, "is finalized");
    expect_ok(reduce(stream, &data));
    ranks_fails(stream, RNL_ERROR_INVALID_STATE, "is finalized");
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// MPI_Finalize waits for the operation, and for the end of the communicator.
RNL_TEST(the_program_finalizes_mpi_behind_a_release)
{
    int *ints;
    init_mpi(3);
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    const rnl_comm_data data = {sizeof data,      NULL, 0, buffer, 0, 1,
                                RNL_ELEMENT_INT32};
    expect_ok(reduce(stream, &data));
    expect_ok(rnl_comm_release(comm));
    comm = NULL;
    assert_int_equal(mpi.finalize(), 0);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}
