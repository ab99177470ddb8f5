// Releases inside callbacks: host functions, destroy functions and deleters may
// release what they own, as the owners of other languages do.
#include "graphs.h"

#include <sched.h>
#include <stdatomic.h>

// The objects that a callback owns, and the first status that was not RNL_OK.
static struct {
    rnl_context context;
    rnl_stream stream, batched;
    rnl_event event, promise;
    rnl_buffer buffer, slice;
    rnl_module module;
    rnl_function function;
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_status status;
    _Atomic int calls;
} owned;

static void note_status(rnl_status status)
{
    if (owned.status == RNL_OK)
        owned.status = status;
}

// The owned handles are dead behind it. Runs where no assertion may end the
// test.
static void release_all(void)
{
    note_status(rnl_graph_exec_release(owned.exec));
    note_status(rnl_graph_release(owned.graph));
    note_status(rnl_function_release(owned.function));
    note_status(rnl_module_release(owned.module));
    note_status(rnl_buffer_release(owned.slice));
    note_status(rnl_buffer_release(owned.buffer));
    note_status(rnl_event_release(owned.promise));
    note_status(rnl_event_release(owned.event));
    note_status(rnl_stream_release(owned.batched));
    note_status(rnl_stream_release(owned.stream));
    note_status(rnl_context_release(owned.context));
    atomic_fetch_add(&owned.calls, 1);
}

static void own_objects(rnl_context context)
{
    memset(&owned, 0, sizeof owned);
    owned.context = context;
    expect_ok(rnl_stream_create(context, NULL, &owned.stream));
    expect_ok(rnl_stream_create(
        context, RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &owned.batched));
    expect_ok(rnl_event_create(context, NULL, &owned.event));
    expect_ok(rnl_event_create(
        context, RNL_EVENT_OPTIONS(.promise = true), &owned.promise));
    expect_ok(rnl_buffer_create(context, 64, NULL, &owned.buffer));
    expect_ok(rnl_buffer_slice(owned.buffer, 16, 16, &owned.slice));
    // The release of the stream submits the work that it collected.
    expect_ok(rnl_enqueue_fill(owned.batched, owned.buffer, 0, 64, 1, 4));
    if (rnl_context_supports(context, RNL_FEATURE_COMPILE, NULL) == RNL_OK) {
        expect_ok(rnl_module_compile(
            context, "extern \"C\" __global__ void f() {}", NULL,
            &owned.module));
        expect_ok(rnl_module_function(owned.module, "f", &owned.function));
    }
    if (rnl_context_supports(context, RNL_FEATURE_GRAPHS, NULL) == RNL_OK) {
        expect_ok(rnl_graph_create(context, NULL, &owned.graph));
        expect_ok(rnl_graph_instantiate(owned.graph, &owned.exec));
    }
}

// The callback released each of its objects once.
static void expect_released(void)
{
    while (atomic_load(&owned.calls) == 0)
        sched_yield();
    assert_status(owned.status, RNL_OK);
    expect_error(rnl_event_query(owned.event), RNL_ERROR_INVALID_HANDLE,
                 "event");
    expect_error(rnl_buffer_retain(owned.slice), RNL_ERROR_INVALID_HANDLE,
                 "buffer");
    suite_end();
    assert_int_equal(owned.calls, 1);
}

static void release_in_host_function(rnl_status status, void *user_data)
{
    (void)user_data;
    note_status(status);
    release_all();
}

static void release_in_destroy(void *user_data)
{
    (void)user_data;
    release_all();
}

static void release_in_deleter(void *pointer, size_t size, void *user_data)
{
    (void)pointer, (void)size, (void)user_data;
    release_all();
}

RNL_TEST(a_host_function_releases_what_it_owns)
{
    own_objects(suite_open(NULL));
    expect_ok(rnl_enqueue_host_function(suite_stream(),
                                        release_in_host_function, NULL));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_released();
}

// The function has the last references to its own stream and context.
RNL_TEST(a_host_function_releases_the_stream_that_runs_it)
{
    own_objects(suite_open(NULL));
    expect_ok(rnl_enqueue_host_function(owned.stream, release_in_host_function,
                                        NULL));
    expect_released();
}

static void nothing(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

RNL_TEST(a_destroy_function_releases_what_it_owns)
{
    own_objects(suite_open(NULL));
    expect_ok(rnl_enqueue_host_call(
        suite_stream(), RNL_HOST_CALL(.function = nothing, .user_data = &owned,
                                      .destroy = release_in_destroy)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_released();
}

// The destroy function runs inside rnl_graph_release.
RNL_TEST(a_destroy_function_of_a_graph_releases_what_it_owns)
{
    suite_need(RNL_FEATURE_GRAPHS);
    rnl_stream stream = new_captured_stream();
    own_objects(suite_open(NULL));
    expect_ok(rnl_enqueue_host_call(
        stream, RNL_HOST_CALL(.function = nothing, .user_data = &owned,
                              .destroy = release_in_destroy)));
    rnl_graph graph = end_capture(stream);
    expect_ok(rnl_stream_release(stream));
    assert_int_equal(owned.calls, 0);
    expect_ok(rnl_graph_release(graph));
    assert_int_equal(owned.calls, 1);
    expect_released();
}

RNL_TEST(a_deleter_releases_what_it_owns)
{
    static int memory[16];
    rnl_buffer buffer;
    own_objects(suite_open(NULL));
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    expect_ok(rnl_buffer_wrap(suite_context(), memory, sizeof memory,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                               .deleter = release_in_deleter),
                              &buffer));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    while (atomic_load(&owned.calls) == 0)
        sched_yield();
    expect_ok(rnl_host_unregister(suite_context(), memory));
    expect_released();
}

static rnl_status release_natively(const rnl_native_call *call)
{
    (void)call;
    note_status(rnl_buffer_release(owned.buffer));
    return RNL_OK;
}

RNL_TEST(a_native_kernel_releases_nothing)
{
    rnl_function function = suite_native("release", release_natively, NULL);
    memset(&owned, 0, sizeof owned);
    owned.buffer = suite_new_buffer(16);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_status(owned.status, RNL_ERROR_NOT_PERMITTED);
    expect_ok(rnl_buffer_release(owned.buffer));
    expect_ok(rnl_function_release(function));
}
