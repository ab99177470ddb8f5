// Two devices of the api under test; virtual ones, where it is cpu.
#include "suite.h"

#include <stdlib.h>
#include <string.h>

struct side {
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
};

enum { COUNT = 1024, SIZE = COUNT * (int)sizeof(int) };

static struct side sides[2];

static void run(const char *child)
{
    const char *const environment[] = {"RUNNEL_CPU_DEVICES=2",
                                       "RUNNEL_FAKE_DEVICES=2", NULL};
    int status = suite_spawn(child, environment);
    if (status == 77)
        test_skip("there is one device, or the two do not reach each other");
    assert_int_equal(status, 0);
}

static void fill(const struct side *side, rnl_buffer buffer, int value)
{
    expect_ok(rnl_fill_and_wait(side->stream, buffer, 0, SIZE, (uint64_t)value,
                                4));
}

// A buffer on each, of its number.
static void open_both(void)
{
    size_t count = 0;
    expect_ok(rnl_device_count(suite_api(), &count));
    if (count < 2)
        test_skip("there is one device");
    for (size_t i = 0; i < 2; i++) {
        struct side *side = &sides[i];
        expect_ok(rnl_context_open(suite_api(), i, NULL, &side->context));
        expect_ok(rnl_stream_create(side->context, NULL, &side->stream));
        expect_ok(rnl_buffer_create(side->context, SIZE, NULL,
                                    &side->buffer));
        fill(side, side->buffer, (int)i);
    }
}

static void close_both(void)
{
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_buffer_release(sides[i].buffer));
        expect_ok(rnl_stream_release(sides[i].stream));
        expect_ok(rnl_context_release(sides[i].context));
    }
    suite_expect_empty();
}

static void expect_all(const struct side *side, rnl_buffer buffer, int value)
{
    int ints[COUNT] = {0};
    expect_ok(rnl_copy_from_buffer_and_wait(side->stream, ints, buffer, 0,
                                            SIZE));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ints[i], value);
}

// --- Copies ----------------------------------------------------------------

SUITE_CHILD(child_copies_by_either)
{
    open_both();
    expect_ok(rnl_copy_buffer_and_wait(sides[0].stream, sides[1].buffer, 0,
                                       sides[0].buffer, 0, SIZE));
    expect_all(&sides[1], sides[1].buffer, 0);
    fill(&sides[1], sides[1].buffer, 8);
    expect_ok(rnl_copy_buffer_and_wait(sides[0].stream, sides[0].buffer, 0,
                                       sides[1].buffer, 0, SIZE));
    expect_all(&sides[0], sides[0].buffer, 8);
    close_both();
}

RNL_TEST(memory_is_copied_between_devices_by_either)
{
    run("child_copies_by_either");
}

SUITE_CHILD(child_copies_much)
{
    enum { MUCH = 64 << 20 };
    unsigned *words = malloc(MUCH);
    rnl_buffer buffers[2];
    assert_non_null(words);
    open_both();
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_buffer_create(sides[i].context, MUCH, NULL,
                                    &buffers[i]));
    for (unsigned i = 0; i < MUCH / 4; i++)
        words[i] = i * 2654435761u;
    expect_ok(rnl_enqueue_copy_to_buffer(sides[0].stream, buffers[0], 0, words,
                                         MUCH));
    expect_ok(rnl_copy_buffer_and_wait(sides[0].stream, buffers[1], 0,
                                       buffers[0], 0, MUCH));
    memset(words, 0, MUCH);
    expect_ok(rnl_copy_from_buffer_and_wait(sides[1].stream, words, buffers[1],
                                            0, MUCH));
    for (unsigned i = 0; i < MUCH / 4; i++)
        if (words[i] != i * 2654435761u)
            fail_msg("word %u is wrong", i);
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    close_both();
    free(words);
}

RNL_TEST(a_large_copy_between_devices_is_complete)
{
    run("child_copies_much");
}

// The inner 4 x 3 x 2 ints of a box of 8 x 8 x 8.
SUITE_CHILD(child_copies_a_box)
{
    enum { ROW = 32, SLICE = 256 };
    int ints[COUNT];
    open_both();
    for (int i = 0; i < COUNT; i++)
        ints[i] = i;
    expect_ok(rnl_copy_to_buffer_and_wait(sides[0].stream, sides[0].buffer, 0,
                                          ints, SIZE));
    const rnl_place from = {.buffer = sides[0].buffer, .offset = SLICE + ROW,
                            .row_pitch = ROW, .slice_pitch = SLICE};
    const rnl_place to = {.buffer = sides[1].buffer, .row_pitch = 2 * ROW,
                          .slice_pitch = 2 * SLICE};
    expect_ok(rnl_copy_region_and_wait(
        sides[1].stream, RNL_COPY(.to = to, .from = from, .width = 16,
                                  .height = 3, .depth = 2)));
    expect_ok(rnl_copy_from_buffer_and_wait(sides[1].stream, ints,
                                            sides[1].buffer, 0, SIZE));
    for (int i = 0; i < COUNT; i++) {
        int x = i % 16, y = i / 16 % 8, z = i / 128;
        bool inside = x < 4 && y < 3 && z < 2;
        assert_int_equal(ints[i], inside ? 72 + x + 8 * y + 64 * z : 1);
    }
    close_both();
}

RNL_TEST(a_box_is_copied_between_devices)
{
    run("child_copies_a_box");
}

SUITE_CHILD(child_copies_in_a_graph)
{
    rnl_graph graph = NULL;
    rnl_node node = NULL;
    rnl_graph_exec exec = NULL;
    open_both();
    expect_ok(rnl_graph_create(sides[1].context, NULL, &graph));
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = {.buffer = sides[1].buffer},
                                  .from = {.buffer = sides[0].buffer},
                                  .width = SIZE)),
        &node));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    for (int round = 5; round < 7; round++) {
        fill(&sides[0], sides[0].buffer, round);
        expect_ok(rnl_enqueue_graph(sides[1].stream, exec));
        expect_ok(rnl_stream_synchronize(sides[1].stream, RNL_FOREVER));
        expect_all(&sides[1], sides[1].buffer, round);
    }
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    close_both();
}

RNL_TEST(a_graph_copies_between_devices)
{
    run("child_copies_in_a_graph");
}

// The buffer of the other device is kept until the copy was made.
SUITE_CHILD(child_keeps_the_other)
{
    rnl_buffer far = NULL;
    open_both();
    expect_ok(rnl_buffer_create(sides[1].context, SIZE, NULL, &far));
    fill(&sides[1], far, 9);
    struct gate *gate = gate_shut(sides[0].stream);
    expect_ok(rnl_enqueue_copy_buffer(sides[0].stream, sides[0].buffer, 0, far,
                                      0, SIZE));
    expect_ok(rnl_buffer_release(far));
    // Whoever gets the memory now must not be seen by the copy.
    expect_ok(rnl_buffer_create(sides[1].context, SIZE, NULL, &far));
    fill(&sides[1], far, 1);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(sides[0].stream, RNL_FOREVER));
    expect_all(&sides[0], sides[0].buffer, 9);
    gate_free(gate);
    expect_ok(rnl_buffer_release(far));
    close_both();
}

RNL_TEST(a_copy_keeps_the_memory_of_the_other_device)
{
    run("child_keeps_the_other");
}

// --- Access ----------------------------------------------------------------

static const char add_source[] =
    "extern \"C\" __global__ void add(int *to, const int *from)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    to[i] += from[i];\n"
    "}\n";

static void need_compiler(void)
{
    expect_ok(rnl_function_release(suite_compile(add_source, "add")));
}

static rnl_status add(rnl_function function)
{
    return rnl_enqueue_function(
        sides[0].stream, function,
        RNL_LAUNCH(.grid = {COUNT / 256}, .block = {256}),
        RNL_ARGS(sides[0].buffer, sides[1].buffer));
}

static void need_access(void)
{
    bool can = false;
    expect_ok(rnl_context_can_access_peer(sides[0].context, sides[1].context,
                                          &can));
    if (!can)
        test_skip("the devices do not reach each other");
}

SUITE_CHILD(child_reads_a_peer)
{
    rnl_function function = NULL;
    open_both();
    need_access();
    expect_ok(rnl_function_compile(sides[0].context, add_source, "add", NULL,
                                   &function));
    expect_error(add(function), RNL_ERROR_INVALID_HANDLE, "args");
    expect_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    expect_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    for (int i = 1; i <= 3; i++) {
        expect_ok(add(function));
        expect_all(&sides[0], sides[0].buffer, i);
    }
    expect_ok(rnl_function_release(function));
    close_both();
}

RNL_TEST(a_kernel_reads_the_memory_of_a_peer)
{
    need_compiler();
    run("child_reads_a_peer");
}

// Not while work may use it; and enabled again as if for the first time.
SUITE_CHILD(child_gives_up_a_peer)
{
    rnl_function function = NULL;
    open_both();
    need_access();
    expect_ok(rnl_context_disable_peer(sides[0].context, sides[1].context));
    expect_ok(rnl_function_compile(sides[0].context, add_source, "add", NULL,
                                   &function));
    for (int i = 1; i <= 3; i++) {
        expect_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
        struct gate *gate = gate_shut(sides[0].stream);
        expect_ok(add(function));
        expect_error(rnl_context_disable_peer(sides[0].context,
                                              sides[1].context),
                     RNL_ERROR_INVALID_STATE, "context");
        gate_open(gate);
        expect_ok(rnl_context_synchronize(sides[0].context, RNL_FOREVER));
        expect_ok(add(function));
        expect_all(&sides[0], sides[0].buffer, 2 * i);
        expect_ok(rnl_context_synchronize(sides[0].context, RNL_FOREVER));
        gate_free(gate);
        expect_ok(rnl_context_disable_peer(sides[0].context,
                                           sides[1].context));
        expect_ok(rnl_context_disable_peer(sides[0].context,
                                           sides[1].context));
        expect_error(add(function), RNL_ERROR_INVALID_HANDLE, "args");
    }
    expect_ok(rnl_function_release(function));
    close_both();
}

RNL_TEST(access_to_a_peer_is_given_up)
{
    need_compiler();
    run("child_gives_up_a_peer");
}

// Memory that there was no access to when it was made, and memory made later.
SUITE_CHILD(child_writes_a_peer)
{
    rnl_function function = NULL;
    rnl_buffer later = NULL;
    open_both();
    need_access();
    expect_ok(rnl_function_compile(sides[0].context, add_source, "add", NULL,
                                   &function));
    expect_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    expect_ok(rnl_buffer_create(sides[1].context, SIZE, NULL, &later));
    fill(&sides[1], later, 40);
    fill(&sides[0], sides[0].buffer, 2);
    expect_ok(rnl_enqueue_function(
        sides[0].stream, function,
        RNL_LAUNCH(.grid = {COUNT / 256}, .block = {256}),
        RNL_ARGS(later, sides[0].buffer)));
    expect_ok(rnl_enqueue_wait_stream(sides[1].stream, sides[0].stream));
    expect_all(&sides[1], later, 42);
    expect_ok(rnl_buffer_release(later));
    expect_ok(rnl_function_release(function));
    close_both();
}

RNL_TEST(a_kernel_writes_the_memory_of_a_peer)
{
    need_compiler();
    run("child_writes_a_peer");
}

// --- Order -----------------------------------------------------------------

// Device 1 waits for device 0 by `wait`; both ways of knowing agree.
static void expect_wait(void (*wait)(rnl_event))
{
    struct host_calls calls = {0, -1};
    rnl_event event = NULL;
    open_both();
    struct gate *gate = gate_shut(sides[0].stream);
    expect_ok(rnl_enqueue_fill(sides[0].stream, sides[0].buffer, 0, SIZE, 5,
                               4));
    expect_ok(rnl_enqueue_event(sides[0].stream, NULL, &event));
    wait(event);
    expect_ok(rnl_enqueue_copy_buffer(sides[1].stream, sides[1].buffer, 0,
                                      sides[0].buffer, 0, SIZE));
    expect_ok(rnl_enqueue_host_function(sides[1].stream, count_host_call,
                                        &calls));
    assert_status(rnl_stream_query(sides[1].stream), RNL_NOT_READY);
    expect_error(rnl_stream_synchronize(sides[1].stream, 100000),
                 RNL_ERROR_TIMED_OUT, NULL);
    expect_error(rnl_context_synchronize(sides[1].context, 0),
                 RNL_ERROR_TIMED_OUT, NULL);
    expect_error(rnl_event_synchronize(event, 100000), RNL_ERROR_TIMED_OUT,
                 NULL);
    assert_int_equal(calls.count, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(sides[1].stream, RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    expect_ok(rnl_event_query(event));
    expect_all(&sides[1], sides[1].buffer, 5);
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    close_both();
}

static void for_event(rnl_event event)
{
    expect_ok(rnl_enqueue_wait_event(sides[1].stream, event));
}

static void for_stream(rnl_event event)
{
    (void)event;
    expect_ok(rnl_enqueue_wait_stream(sides[1].stream, sides[0].stream));
}

static void for_context(rnl_event event)
{
    (void)event;
    expect_ok(rnl_enqueue_wait_context(sides[1].stream, sides[0].context));
}

static void for_promise(rnl_event event)
{
    rnl_event promise = NULL;
    (void)event;
    expect_ok(rnl_event_create(sides[0].context,
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    expect_ok(rnl_enqueue_wait_event(sides[1].stream, promise));
    assert_status(rnl_stream_query(sides[1].stream), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(sides[0].stream, promise));
    expect_ok(rnl_event_release(promise));
}

SUITE_CHILD(child_waits_for_an_event)
{
    expect_wait(for_event);
}

SUITE_CHILD(child_waits_for_a_stream)
{
    expect_wait(for_stream);
}

SUITE_CHILD(child_waits_for_a_context)
{
    expect_wait(for_context);
}

SUITE_CHILD(child_waits_for_a_promise)
{
    expect_wait(for_promise);
}

RNL_TEST(a_device_waits_for_an_event_of_the_other)
{
    run("child_waits_for_an_event");
}

RNL_TEST(a_device_waits_for_a_stream_of_the_other)
{
    run("child_waits_for_a_stream");
}

RNL_TEST(a_device_waits_for_all_streams_of_the_other)
{
    run("child_waits_for_a_context");
}

RNL_TEST(a_device_waits_for_a_promise_of_the_other)
{
    suite_need(RNL_FEATURE_PROMISES);
    run("child_waits_for_a_promise");
}
