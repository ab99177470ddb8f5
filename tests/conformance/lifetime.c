// Lifetimes: counts, and what work in flight keeps alive.
#include "graphs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static const char add_source[] =
    "extern \"C\" __global__ void add(int *p, int by) {\n"
    "    p[threadIdx.x] += by;\n"
    "}\n";

static const rnl_launch *four(void)
{
    static rnl_launch launch = {.struct_size = sizeof launch,
                                .grid = {1, 0, 0}, .block = {4, 0, 0}};
    return &launch;
}

RNL_TEST(retain_and_release_are_counted)
{
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    rnl_buffer buffer = suite_new_buffer(64);
    for (int i = 0; i < 1000; i++) {
        expect_ok(rnl_stream_retain(stream));
        expect_ok(rnl_event_retain(event));
        expect_ok(rnl_buffer_retain(buffer));
    }
    for (int i = 0; i < 1000; i++) {
        expect_ok(rnl_stream_release(stream));
        expect_ok(rnl_event_release(event));
        expect_ok(rnl_buffer_release(buffer));
    }
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, 64, 0, 1));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
    expect_error(rnl_stream_query(stream), RNL_ERROR_INVALID_HANDLE,
                 "stream");
    expect_error(rnl_event_query(event), RNL_ERROR_INVALID_HANDLE, "event");
    expect_error(rnl_buffer_retain(buffer), RNL_ERROR_INVALID_HANDLE,
                 "buffer");
}

RNL_TEST(modules_and_functions_are_counted)
{
    rnl_module module = suite_module(add_source);
    rnl_function function = NULL;
    expect_ok(rnl_module_function(module, "add", &function));
    expect_ok(rnl_module_retain(module));
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_function_retain(function));
    expect_ok(rnl_function_release(function));
    const char *log;
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_module_log(module, &log));
    expect_ok(rnl_function_get_info(function, &info));
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_function_release(function));
    expect_error(rnl_module_log(module, &log), RNL_ERROR_INVALID_HANDLE,
                 "module");
    expect_error(rnl_function_get_info(function, &info),
                 RNL_ERROR_INVALID_HANDLE, "function");
}

// Everything that a launch uses is released while the stream is shut; the
// launch must still find it all.
RNL_TEST(work_in_flight_keeps_all_it_uses)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL, slice = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    rnl_event event = NULL;
    int read[4] = {0};
    struct host_calls calls = {0, -1};
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    expect_ok(rnl_buffer_slice(buffer, 16, 16, &slice));
    expect_ok(rnl_module_compile(context, add_source, NULL, &module));
    expect_ok(rnl_module_function(module, "add", &function));
    expect_ok(rnl_event_create(context, NULL, &event));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    for (int i = 0; i < 10; i++)
        expect_ok(rnl_enqueue_function(stream, function, four(),
                                       RNL_ARGS(slice, 2)));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, read, slice, 0, 16));
    expect_ok(rnl_enqueue_event_record(stream, event));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    for (int i = 0; i < 4; i++)
        assert_int_equal(read[i], 21);
    expect_ok(rnl_event_release(event));
    suite_end();
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_OK);
    gate_free(gate);
}

static size_t held_now(void)
{
    size_t held = 0;
    expect_ok(rnl_trim(&held));
    return held;
}

// What is dead is freed when another takes its place, so others come and go.
// The label is large enough to be missed in what the library holds.
RNL_TEST(an_executable_graph_keeps_no_stream_that_is_done)
{
    enum { SIZE = 1 << 20, SECONDS = 25 };
    rnl_graph graph = new_graph();
    rnl_graph_exec exec = instantiate(graph);
    rnl_stream stream = NULL;
    char *label = malloc(SIZE);
    assert_non_null(label);
    memset(label, 'x', SIZE - 1);
    label[SIZE - 1] = 0;
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.label = label), &stream));
    size_t before = held_now();
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_stream_release(stream));
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time_t end = now.tv_sec + SECONDS;
    while (held_now() > before - SIZE / 2 && now.tv_sec < end) {
        expect_ok(rnl_stream_release(suite_new_stream()));
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    assert_true(now.tv_sec < end);
    free(label);
    drop_both(graph, exec);
}

RNL_TEST(an_event_keeps_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_event event = NULL;
    expect_ok(rnl_event_create(context, NULL, &event));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_event_release(event));
}

RNL_TEST(a_buffer_keeps_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_buffer buffer = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_buffer_get_info(buffer, &info));
    assert_int_equal(info.size, 64);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_function_keeps_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_function function = NULL;
    if (rnl_context_supports(context, RNL_FEATURE_COMPILE, NULL) != RNL_OK) {
        expect_ok(rnl_context_release(context));
        suite_need(RNL_FEATURE_COMPILE);
    }
    expect_ok(rnl_function_compile(context, add_source, "add", NULL,
                                   &function));
    expect_ok(rnl_context_release(context));
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.name, "add");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(use_after_the_context_was_released_is_refused)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL, other = NULL;
    rnl_buffer buffer = NULL;
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_context_release(context));
    expect_error(rnl_stream_create(context, NULL, &other),
                 RNL_ERROR_INVALID_HANDLE, "context");
    expect_error(rnl_buffer_create(context, 64, NULL, &buffer),
                 RNL_ERROR_INVALID_HANDLE, "context");
    expect_error(rnl_context_synchronize(context, 0),
                 RNL_ERROR_INVALID_HANDLE, "context");
    expect_error(rnl_stream_synchronize(stream, 0), RNL_ERROR_INVALID_HANDLE,
                 "stream");
    expect_error(rnl_context_retain(context), RNL_ERROR_INVALID_HANDLE,
                 "context");
}

// A context kept by its objects alone.
RNL_TEST(objects_work_on_when_the_context_is_released)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_context_release(context));
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    expect_ok(rnl_enqueue_event(stream, NULL, &event));
    expect_ok(rnl_enqueue_buffer_create(stream, 64, NULL, &buffer));
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, 64, 1, 4));
    expect_ok(rnl_stream_get_info(stream, &info));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

// The caller has no reference, but the handle is as good as it was.
static void expect_borrowed(rnl_context context)
{
    rnl_device device = NULL;
    rnl_stream stream = NULL;
    uint64_t id = 0;
    assert_non_null(context);
    expect_ok(rnl_context_device(context, &device));
    assert_ptr_equal(device, suite_device());
    expect_ok(rnl_context_id(context, &id));
    expect_ok(rnl_context_synchronize(context, RNL_FOREVER));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_stream_release(stream));
    expect_error(rnl_context_default_stream(context, &stream),
                 RNL_ERROR_INVALID_STATE, "context");
    expect_error(rnl_context_release(context), RNL_ERROR_INVALID_HANDLE,
                 "context");
}

RNL_TEST(what_lives_gives_its_context_back)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_graph graph = NULL;
    rnl_stream_info of_stream = {.struct_size = sizeof of_stream};
    rnl_buffer_info of_buffer = {.struct_size = sizeof of_buffer};
    rnl_graph_info of_graph = {.struct_size = sizeof of_graph};
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    expect_ok(rnl_graph_create(context, NULL, &graph));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_stream_get_info(stream, &of_stream));
    expect_borrowed(of_stream.context);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_get_info(buffer, &of_buffer));
    expect_borrowed(of_buffer.context);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_graph_get_info(graph, &of_graph));
    expect_borrowed(of_graph.context);
    assert_ptr_equal(of_stream.context, context);
    assert_ptr_equal(of_buffer.context, context);
    assert_ptr_equal(of_graph.context, context);
    expect_ok(rnl_graph_release(graph));
    suite_end();
    expect_error(rnl_context_synchronize(context, 0),
                 RNL_ERROR_INVALID_HANDLE, "context");
    expect_error(rnl_context_retain(context), RNL_ERROR_INVALID_HANDLE,
                 "context");
}

// Again and again: each time with a default stream, and a pool that keeps.
RNL_TEST(a_context_that_is_borrowed_can_be_retained)
{
    rnl_context context = suite_open(NULL);
    rnl_buffer buffer = NULL, other = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    expect_ok(rnl_context_release(context));
    for (int round = 1; round <= 20; round++) {
        rnl_stream stream = NULL, again = NULL;
        expect_ok(rnl_buffer_get_info(buffer, &info));
        expect_ok(rnl_context_retain(info.context));
        expect_ok(rnl_context_default_stream(info.context, &stream));
        expect_ok(rnl_context_default_stream(info.context, &again));
        assert_ptr_equal(stream, again);
        expect_ok(rnl_buffer_create(info.context, 64, NULL, &other));
        expect_ok(rnl_enqueue_fill(stream, other, 0, 64, (uint64_t)round, 4));
        expect_ok(rnl_enqueue_copy_buffer(stream, buffer, 0, other, 0, 64));
        expect_ok(rnl_buffer_release(other));
        expect_ok(rnl_context_release(info.context));
        expect_error(rnl_context_release(info.context),
                     RNL_ERROR_INVALID_HANDLE, "context");
        expect_error(rnl_stream_release(stream), RNL_ERROR_INVALID_HANDLE,
                     "stream");
        expect_ok(rnl_context_synchronize(info.context, RNL_FOREVER));
    }
    int ints[16] = {0};
    expect_ok(rnl_context_retain(context));
    rnl_stream stream = NULL;
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_copy_from_buffer_and_wait(stream, ints, buffer, 0, 64));
    assert_int_equal(ints[15], 20);
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_buffer_release(buffer));
}

// Memory whose time comes in the order of the former default stream is not
// given to others before that, though there is another default stream.
RNL_TEST(a_new_default_stream_comes_behind_the_former_one)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL, kept = NULL;
    rnl_buffer buffer = NULL, next = NULL;
    int ints[16] = {0};
    expect_ok(rnl_stream_create(context, NULL, &kept));
    expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    expect_ok(rnl_context_default_stream(context, &stream));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_context_retain(context));
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_create(context, 64, NULL, &next));
    expect_ok(rnl_fill_and_wait(kept, next, 0, 64, 2, 4));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_copy_from_buffer_and_wait(kept, ints, next, 0, 64));
    for (int i = 0; i < 16; i++)
        assert_int_equal(ints[i], 2);
    gate_free(gate);
    expect_ok(rnl_buffer_release(next));
    expect_ok(rnl_stream_release(kept));
    expect_ok(rnl_context_release(context));
}

struct borrower {
    pthread_t thread;
    rnl_buffer kept;  // that keeps the context
    int wrong;        // calls that did not do what they should
};

// While a thread has a reference, there is one and the same default stream.
static void *borrow_again_and_again(void *argument)
{
    struct borrower *own = argument;
    for (int i = 0; i < 200; i++) {
        rnl_buffer_info info = {.struct_size = sizeof info};
        rnl_stream stream = NULL, again = NULL;
        rnl_buffer buffer = NULL;
        own->wrong += rnl_buffer_get_info(own->kept, &info) != RNL_OK;
        own->wrong += rnl_context_retain(info.context) != RNL_OK;
        own->wrong += rnl_context_default_stream(info.context,
                                                 &stream) != RNL_OK;
        own->wrong += rnl_enqueue_buffer_create(stream, 64, NULL,
                                                &buffer) != RNL_OK;
        own->wrong += rnl_fill_and_wait(stream, buffer, 0, 64, 1,
                                        4) != RNL_OK;
        own->wrong += rnl_context_default_stream(info.context,
                                                 &again) != RNL_OK;
        own->wrong += stream != again;
        own->wrong += rnl_buffer_release(buffer) != RNL_OK;
        own->wrong += rnl_context_release(info.context) != RNL_OK;
    }
    return NULL;
}

RNL_TEST(threads_retain_a_borrowed_context)
{
    struct borrower borrowers[4];
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    rnl_buffer kept = NULL;
    expect_ok(rnl_buffer_create(context, 64, NULL, &kept));
    expect_ok(rnl_context_release(context));
    for (int i = 0; i < 4; i++) {
        borrowers[i] = (struct borrower){.kept = kept};
        assert_int_equal(pthread_create(&borrowers[i].thread, NULL,
                                        borrow_again_and_again,
                                        &borrowers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(borrowers[i].thread, NULL);
        assert_int_equal(borrowers[i].wrong, 0);
    }
    expect_error(rnl_context_release(context), RNL_ERROR_INVALID_HANDLE,
                 "context");
    expect_ok(rnl_buffer_release(kept));
}

RNL_TEST(many_objects_come_and_go)
{
    enum { ROUNDS = 20, COUNT = 500 };
    static rnl_buffer buffers[COUNT];
    static rnl_event events[COUNT];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            buffers[i] = suite_new_buffer((size_t)i);
            events[i] = suite_new_event();
        }
        // Released in another order than made.
        for (int i = 0; i < COUNT; i++) {
            int j = i * 7 % COUNT;
            expect_ok(rnl_buffer_release(buffers[j]));
            expect_ok(rnl_event_release(events[COUNT - 1 - j]));
        }
    }
}

RNL_TEST(contexts_come_and_go)
{
    for (int i = 0; i < 50; i++) {
        rnl_context context = suite_open(NULL);
        rnl_stream stream = NULL;
        rnl_buffer buffer = NULL;
        expect_ok(rnl_context_default_stream(context, &stream));
        expect_ok(rnl_buffer_create(context, 64, NULL, &buffer));
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 1));
        expect_ok(rnl_buffer_release(buffer));
        expect_ok(rnl_context_release(context));
    }
}

RNL_TEST(trimming_while_objects_live_changes_nothing)
{
    rnl_buffer buffer = suite_ints(16, 3);
    rnl_stream stream = suite_new_stream();
    rnl_stream dead = suite_new_stream();
    expect_ok(rnl_stream_release(dead));
    expect_ok(rnl_trim(NULL));
    suite_expect_ints(buffer, 16, 3);
    expect_ok(rnl_stream_query(stream));
    expect_error(rnl_stream_query(dead), RNL_ERROR_INVALID_HANDLE, "stream");
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_handle_dead_before_a_trim_is_dead_after)
{
    rnl_stream dead = suite_new_stream();
    rnl_context context = suite_context();
    expect_ok(rnl_stream_release(dead));
    suite_end();
    expect_error(rnl_stream_query(dead), RNL_ERROR_INVALID_HANDLE, "stream");
    expect_error(rnl_context_synchronize(context, 0),
                 RNL_ERROR_INVALID_HANDLE, "context");
    rnl_stream next = suite_new_stream();
    assert_ptr_not_equal(next, dead);
    expect_error(rnl_stream_query(dead), RNL_ERROR_INVALID_HANDLE, "stream");
    expect_ok(rnl_stream_release(next));
}
