// Bad input, which the calls refuse: one rank is enough.
#include "ranks.h"

#include <dlfcn.h>
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
                   "elements of type");
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
