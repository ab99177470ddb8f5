// Steps of a graph that become ready while others of it take long.
#include "graphs.h"
#include "words.h"

#include <pthread.h>
#include <time.h>

#define LIMIT UINT64_C(20000000000)

enum { SECONDS = 25 };

// A node that takes long: until another one of its graph is done.
static struct {
    _Atomic bool entered, released, late;
} node_state;

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static rnl_status take_long(const rnl_native_call *call)
{
    (void)call;
    time_t end = seconds_now() + SECONDS;
    atomic_store(&node_state.entered, true);
    while (!atomic_load(&node_state.released) && seconds_now() < end)
        sched_yield();
    atomic_store(&node_state.late, !atomic_load(&node_state.released));
    return RNL_OK;
}

static void end_it(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
    atomic_store(&node_state.released, true);
}

static rnl_context context;
static rnl_stream stream;
static rnl_function function;
static rnl_graph graph;
static rnl_buffer word;
static _Atomic uint32_t *number;

static void begin(uint32_t threads)
{
    suite_need(RNL_FEATURE_GRAPHS);
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    void *pointer = NULL;
    context = suite_open(RNL_CONTEXT_OPTIONS(.threads = threads));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_function_create_native(context, "take_long", take_long, NULL,
                                         &function));
    expect_ok(rnl_graph_create(context, NULL, &graph));
    expect_ok(rnl_buffer_create(context, 4,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST,
                                                   .zeroed = true), &word));
    expect_ok(rnl_buffer_host_pointer(word, &pointer));
    number = pointer;
    atomic_store(&node_state.entered, false);
    atomic_store(&node_state.released, false);
    atomic_store(&node_state.late, true);
}

static void end(void)
{
    assert_false(atomic_load(&node_state.late));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

static void long_node(void)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                 .launch = one_thread(), .args = RNL_NO_ARGS), &node));
}

static void await_long_node(void)
{
    while (!atomic_load(&node_state.entered))
        sched_yield();
}

// What ends the long node comes after `wait`, which is over once the number is
// 1, whoever has the graph and whoever the long node.
static void expect_prompt(void)
{
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_enqueue_graph(stream, exec));
    await_long_node();
    atomic_store(number, 1);
    expect_ok(rnl_stream_synchronize(stream, LIMIT));
    expect_ok(rnl_graph_exec_release(exec));
}

RNL_TEST(a_value_is_seen_while_another_node_takes_long)
{
    begin(2);
    rnl_node wait = NULL;
    const rnl_value_op op = *RNL_VALUE_OP(.action = RNL_WAIT_GEQ, .width = 32,
                                          .buffer = word, .value = 1);
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_VALUES,
                                          .values = &op, .value_count = 1),
                                 &wait));
    host_node(graph, RNL_AFTER(wait), end_it, NULL);
    long_node();
    expect_prompt();
    end();
}

RNL_TEST(an_event_is_seen_while_another_node_takes_long)
{
    begin(2);
    rnl_stream other = NULL;
    rnl_event event = NULL;
    expect_ok(rnl_stream_create(context, NULL, &other));
    expect_ok(rnl_enqueue_wait_value32(other, word, 0, 1, RNL_WAIT_GEQ));
    expect_ok(rnl_enqueue_event(other, NULL, &event));
    rnl_node wait =
        event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, event);
    host_node(graph, RNL_AFTER(wait), end_it, NULL);
    long_node();
    expect_prompt();
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(other));
    end();
}

static void *open_then(void *gate)
{
    await_long_node();
    gate_open(gate);
    return NULL;
}

// The thread that waits has the graph and, with the only worker blocked until
// then, the long node.
RNL_TEST(a_host_function_is_called_while_another_node_takes_long)
{
    begin(1);
    rnl_stream blocked = NULL;
    pthread_t thread;
    host_node(graph, RNL_AT_START, end_it, NULL);
    long_node();
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_context_default_stream(context, &blocked));
    struct gate *gate = gate_block_workers(blocked, 1);
    gate_wait_entered(gate);
    expect_ok(rnl_enqueue_graph(stream, exec));
    assert_int_equal(pthread_create(&thread, NULL, open_then, gate), 0);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    pthread_join(thread, NULL);
    expect_ok(rnl_stream_synchronize(blocked, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(exec));
    end();
}

// The node that waits comes up again and again, so that all places in which
// steps are handed out are used many times.
RNL_TEST(steps_that_wait_are_handed_out_again_and_again)
{
    enum { ROUNDS = 200, BRANCHES = 16 };
    begin(2);
    struct host_calls calls = {0, -1};
    for (uint64_t i = 1; i <= BRANCHES; i++) {
        rnl_node wait = NULL;
        const rnl_value_op op = *RNL_VALUE_OP(
            .action = RNL_WAIT_GEQ, .width = 32, .buffer = word, .value = i);
        expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                     RNL_NODE(.kind = RNL_NODE_VALUES,
                                              .values = &op, .value_count = 1),
                                     &wait));
        host_node(graph, RNL_AFTER(wait), count_host_call, &calls);
    }
    rnl_graph_exec exec = instantiate(graph);
    for (int round = 0; round < ROUNDS; round++) {
        atomic_store(number, 0);
        expect_ok(rnl_enqueue_graph(stream, exec));
        for (uint32_t i = 1; i <= BRANCHES; i++) {
            atomic_store(number, i);
            if (round % 4 == 0)
                await_calls(&calls, round * BRANCHES + (int)i);
        }
        expect_ok(rnl_stream_synchronize(stream, round % 2 ? LIMIT
                                                           : RNL_FOREVER));
    }
    assert_int_equal(calls.count, ROUNDS * BRANCHES);
    expect_ok(rnl_graph_exec_release(exec));
    atomic_store(&node_state.late, false);
    end();
}
