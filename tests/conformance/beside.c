// The caller's code that runs inside a call, such as a deleter, and what that
// fails at: the call's own failure, and the name of the call, stay.
#include "suite.h"

#include <stdatomic.h>
#include <time.h>

static int memory[16];
static _Atomic int deleted;

// Each of these is refused.
static void call_back(void)
{
    rnl_stream_query(NULL);
    rnl_event_query(NULL);
    rnl_event_synchronize(NULL, 0);
    rnl_enqueue_function(NULL, NULL, NULL, NULL);
    rnl_last_error_clear();
    rnl_stream_release((rnl_stream)(uintptr_t)1);
}

static void delete_noisily(void *pointer, size_t size, void *user_data)
{
    (void)pointer, (void)size, (void)user_data;
    call_back();
    deleted++;
}

static rnl_buffer wrap(void)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_wrap(suite_context(), memory, sizeof memory,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                               .deleter = delete_noisily),
                              &buffer));
    return buffer;
}

static const rnl_node_params *empty(void)
{
    static const rnl_node_params params = {.struct_size = sizeof params,
                                           .kind = RNL_NODE_EMPTY};
    return &params;
}

static rnl_graph new_graph(void)
{
    rnl_graph graph = NULL;
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    return graph;
}

// A node that alone keeps a wrapped buffer.
static rnl_node add_fill(rnl_graph graph)
{
    rnl_node node = NULL;
    rnl_buffer buffer = wrap();
    const rnl_fill *fill = RNL_FILL(.to = {.buffer = buffer}, .width = 16,
                                    .pattern_size = 4);
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START, RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill),
        &node));
    expect_ok(rnl_buffer_release(buffer));
    return node;
}

static const rnl_node_params *another_fill(rnl_buffer buffer)
{
    static rnl_fill fill;
    static rnl_node_params params;
    fill = (rnl_fill){.struct_size = sizeof fill, .to = {.buffer = buffer},
                      .width = 16, .pattern_size = 4};
    params = (rnl_node_params){.struct_size = sizeof params,
                               .kind = RNL_NODE_FILL, .fill = &fill};
    return &params;
}

static rnl_graph_exec instantiate(rnl_graph graph)
{
    rnl_graph_exec exec = NULL;
    expect_ok(rnl_graph_instantiate(graph, &exec));
    return exec;
}

// --- Calls that succeed ------------------------------------------------------

static void release_it(void)
{
    expect_ok(rnl_buffer_release(wrap()));
}

static void release_its_slice(void)
{
    rnl_buffer slice = NULL, buffer = wrap();
    expect_ok(rnl_buffer_slice(buffer, 0, 16, &slice));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
}

static void release_it_in_order(void)
{
    expect_ok(rnl_enqueue_buffer_release(suite_stream(), wrap()));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

static void work_with_it(void)
{
    rnl_buffer buffer = wrap();
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 16, 1, 4));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

static void release_its_graph(void)
{
    rnl_graph graph = new_graph();
    add_fill(graph);
    expect_ok(rnl_graph_release(graph));
}

static void remove_its_node(void)
{
    rnl_graph graph = new_graph();
    expect_ok(rnl_graph_remove_node(graph, add_fill(graph)));
    expect_ok(rnl_graph_release(graph));
}

static void change_its_node(void)
{
    rnl_graph graph = new_graph();
    rnl_buffer other = suite_new_buffer(64);
    expect_ok(rnl_graph_set_node(graph, add_fill(graph), another_fill(other)));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(other));
}

static void release_its_exec(void)
{
    rnl_graph graph = new_graph();
    add_fill(graph);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_exec_release(exec));
}

static void change_its_exec(void)
{
    rnl_graph graph = new_graph();
    rnl_buffer other = suite_new_buffer(64);
    rnl_node node = add_fill(graph);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_remove_node(graph, node));
    expect_ok(rnl_graph_exec_set_node(exec, node, another_fill(other)));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(other));
}

static void update_its_exec(void)
{
    rnl_graph graph = new_graph();
    rnl_buffer other = suite_new_buffer(64);
    rnl_node node = add_fill(graph);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_set_node(graph, node, another_fill(other)));
    expect_ok(rnl_graph_exec_update(exec, graph, NULL));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(other));
}

static void capture_it(rnl_stream stream)
{
    rnl_buffer buffer = wrap();
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, 1, 4));
    expect_ok(rnl_buffer_release(buffer));
}

static void release_its_capture(void)
{
    rnl_stream stream = suite_new_stream();
    capture_it(stream);
    expect_ok(rnl_stream_release(stream));
}

static void end_noisily(void *user_data)
{
    delete_noisily(NULL, 0, user_data);
}

static void release_its_data(void)
{
    rnl_node node = NULL;
    rnl_graph graph = new_graph();
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_EMPTY, .destroy = end_noisily), &node));
    expect_ok(rnl_graph_release(graph));
}

typedef void path(void);

// Its work may be over a moment later on a thread of the library's.
static void await_deletion(void)
{
    for (int i = 0; i < 10000 && deleted == 0; i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    assert_int_equal(deleted, 1);
}

static void try_path(path *run, const char *name)
{
    deleted = 0;
    assert_status(rnl_event_query(NULL), RNL_ERROR_INVALID_HANDLE);
    run();
    await_deletion();
    const rnl_error *error = rnl_last_error();
    if (error->status != RNL_ERROR_INVALID_HANDLE || !error->function ||
        strcmp(error->function, "rnl_event_query") != 0)
        fail_msg("%s: the last error is now %s of %s", name,
                 rnl_status_name(error->status),
                 error->function ? error->function : "none");
}

#define TRY(name) try_path(name, #name)

static void with_memory(void (*run)(void))
{
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    run();
    expect_ok(rnl_host_unregister(suite_context(), memory));
}

static void try_buffers(void)
{
    TRY(release_it);
    TRY(release_its_slice);
    TRY(release_it_in_order);
    TRY(work_with_it);
}

static void try_graphs(void)
{
    TRY(release_its_graph);
    TRY(remove_its_node);
    TRY(change_its_node);
    TRY(release_its_exec);
    TRY(change_its_exec);
    TRY(update_its_exec);
    TRY(release_its_capture);
    TRY(release_its_data);
}

RNL_TEST(a_deleter_leaves_the_failure_before_its_call)
{
    with_memory(try_buffers);
}

RNL_TEST(a_deleter_of_a_graph_leaves_the_failure_before_its_call)
{
    suite_need(RNL_FEATURE_GRAPHS);
    with_memory(try_graphs);
}

// --- Calls that fail ---------------------------------------------------------

static void end_unjoined(void)
{
    rnl_graph graph = NULL;
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer buffer = suite_new_buffer(64);
    rnl_event event = suite_new_event();
    deleted = 0;
    capture_it(stream);
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_enqueue_wait_event(other, event));
    expect_ok(rnl_enqueue_fill(other, buffer, 0, 16, 1, 4));
    expect_error(rnl_stream_end_capture(stream, &graph),
                 RNL_ERROR_CAPTURE_UNJOINED, "stream");
    assert_string_equal(rnl_last_error()->function, "rnl_stream_end_capture");
    assert_int_equal(deleted, 1);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_deleter_leaves_the_failure_of_its_call)
{
    suite_need(RNL_FEATURE_GRAPHS);
    with_memory(end_unjoined);
}

static bool write_noisily(const char *text, size_t size, void *user_data)
{
    (void)text, (void)size, (void)user_data;
    call_back();
    return false;
}

RNL_TEST(a_writer_leaves_the_name_of_its_call)
{
    rnl_node node = NULL;
    suite_need(RNL_FEATURE_GRAPHS);
    rnl_graph graph = new_graph();
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START, empty(), &node));
    expect_error(rnl_graph_write_dot(graph, write_noisily, NULL), RNL_ERROR_IO,
                 "write");
    assert_string_equal(rnl_last_error()->function, "rnl_graph_write_dot");
    expect_ok(rnl_graph_release(graph));
}

static rnl_status fail_noisily(const rnl_native_call *call)
{
    (void)call;
    call_back();
    return RNL_ERROR_IO;
}

// The thread that waits may run the kernel itself.
RNL_TEST(a_native_kernel_leaves_the_failure_of_who_waits)
{
    rnl_function function = suite_native("noisy", fail_noisily, NULL);
    for (int i = 0; i < 20; i++) {
        rnl_stream stream = suite_new_stream();
        expect_ok(rnl_enqueue_function(
            stream, function, RNL_LAUNCH(.grid = {1}, .block = {1}), NULL));
        assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                      RNL_ERROR_IO);
        assert_int_equal(rnl_last_error()->status, RNL_ERROR_IO);
        assert_string_equal(rnl_last_error()->function,
                            "rnl_stream_synchronize");
        expect_ok(rnl_stream_release(stream));
    }
    expect_ok(rnl_function_release(function));
}

static void log_noisily(rnl_log_level level, const char *message,
                        void *user_data)
{
    (void)level, (void)message;
    call_back();
    ++*(_Atomic int *)user_data;
}

RNL_TEST(a_log_callback_leaves_the_failure_that_it_is_told)
{
    static _Atomic int lines;
    expect_ok(rnl_log_set(log_noisily, RNL_LOG_DEBUG, &lines));
    expect_error(rnl_stream_synchronize(NULL, 0), RNL_ERROR_INVALID_HANDLE,
                 "stream");
    assert_string_equal(rnl_last_error()->function, "rnl_stream_synchronize");
    assert_true(lines > 0);
    expect_ok(rnl_log_set(NULL, RNL_LOG_ERROR, NULL));
}
