// Launching graphs: order, overlap, many threads, lifetimes, failures.
#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>

static rnl_stream first, second;

static void two_streams(void)
{
    first = suite_new_stream();
    second = suite_new_stream();
}

static void release_streams(void)
{
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

// --- Order and overlap -----------------------------------------------------

RNL_TEST(two_executables_of_a_graph_run_together)
{
    two_streams();
    rnl_graph graph = new_graph();
    rnl_event never = suite_new_event(), go = suite_new_event();
    rnl_node wait =
        event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, never);
    rnl_graph_exec one = instantiate(graph), two = instantiate(graph);
    expect_ok(rnl_graph_exec_set_node(
        one, wait, RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = go)));
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_event_record(suite_stream(), go));
    expect_ok(rnl_enqueue_graph(first, one));
    expect_ok(rnl_enqueue_graph(second, two));
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_status(rnl_stream_query(first), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(one));
    drop_both(graph, two);
    expect_ok(rnl_event_release(never));
    expect_ok(rnl_event_release(go));
    release_streams();
}

RNL_TEST(work_around_a_launch_is_in_order)
{
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(1, 0), b = suite_ints(1, 0);
    rnl_function adder = new_adder();
    add_node(graph, RNL_AT_START, adder, a, 1);
    rnl_graph_exec exec = instantiate(graph);
    rnl_stream stream = suite_stream();
    for (int i = 0; i < 50; i++) {
        expect_ok(rnl_enqueue_fill(stream, a, 0, 4, (uint32_t)i, 4));
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_enqueue_copy_buffer(stream, b, 0, a, 0, 4));
        if (i % 10 == 0)
            suite_expect_ints(b, 1, i + 2);
    }
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    drop_both(graph, exec);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(other_streams_wait_for_a_launch)
{
    two_streams();
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(1, 0), b = suite_ints(1, 0);
    rnl_event go = suite_new_event();
    rnl_node wait = event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, go);
    fill_node(graph, RNL_AFTER(wait), a, 6);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_event_record(suite_stream(), go));
    expect_ok(rnl_enqueue_graph(first, exec));
    expect_ok(rnl_enqueue_wait_stream(second, first));
    expect_ok(rnl_enqueue_copy_buffer(second, b, 0, a, 0, 4));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(b, 1, 6);
    drop_both(graph, exec);
    expect_ok(rnl_event_release(go));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    release_streams();
}

RNL_TEST(events_in_a_graph_have_their_times)
{
    rnl_graph graph = new_graph();
    rnl_event start = NULL, end = NULL;
    const rnl_event_options *timed = RNL_EVENT_OPTIONS(.timing = true);
    expect_ok(rnl_event_create(suite_context(), timed, &start));
    expect_ok(rnl_event_create(suite_context(), timed, &end));
    rnl_buffer a = suite_ints(1, 0);
    rnl_node node =
        event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AT_START, start);
    node = fill_node(graph, RNL_AFTER(node), a, 1);
    event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(node), end);
    rnl_graph_exec exec = instantiate(graph);
    uint64_t ns = UINT64_MAX;
    expect_error(rnl_event_elapsed(start, end, &ns), RNL_ERROR_INVALID_STATE,
                 "start");
    for (int i = 0; i < 3; i++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        expect_ok(rnl_event_synchronize(end, RNL_FOREVER));
        expect_ok(rnl_event_elapsed(start, end, &ns));
        assert_true(ns < UINT64_C(60000000000));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    drop_both(graph, exec);
    expect_ok(rnl_event_release(start));
    expect_ok(rnl_event_release(end));
    expect_ok(rnl_buffer_release(a));
}

// Launches that are enqueued ahead do not hold up who waits for an earlier one.
RNL_TEST(waits_mean_the_launch_before_them)
{
    two_streams();
    rnl_function adder = new_adder();
    rnl_buffer sum = suite_ints(1, 0);
    rnl_graph graph = new_graph();
    rnl_event sent = suite_new_event(), answered = suite_new_event();
    rnl_node node = add_node(graph, RNL_AT_START, adder, sum, 1);
    event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(node), sent);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(first);
    for (int i = 0; i < 20; i++) {
        expect_ok(rnl_enqueue_graph(first, exec));
        expect_ok(rnl_enqueue_wait_event(second, sent));
        expect_ok(rnl_enqueue_function(second, adder, one_thread(),
                                       RNL_ARGS(sum, 100)));
        expect_ok(rnl_enqueue_event_record(second, answered));
        expect_ok(rnl_enqueue_wait_event(first, answered));
    }
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(sum, 1, 2020);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_event_release(sent));
    expect_ok(rnl_event_release(answered));
    release_streams();
}

// Six records, more than fit into a launch, and each waited for in the graph.
RNL_TEST(a_graph_may_wait_for_what_it_records)
{
    rnl_event event = suite_new_event();
    rnl_graph graph = new_graph();
    rnl_node node =
        event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, event);
    for (int i = 0; i < 6; i++) {
        node = event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(node),
                          event);
        node = event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AFTER(node), event);
    }
    rnl_graph_exec exec = instantiate(graph), other = instantiate(graph);
    struct gate *gate = gate_shut(suite_stream());
    for (int i = 0; i < 10; i++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        expect_ok(rnl_enqueue_graph(suite_stream(), other));
    }
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    assert_status(rnl_event_synchronize(event, 0), RNL_ERROR_TIMED_OUT);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(other));
    drop_both(graph, exec);
    expect_ok(rnl_event_release(event));
}

RNL_TEST(an_ordinary_record_counts_more_than_earlier_launches)
{
    two_streams();
    rnl_event event = suite_new_event();
    rnl_graph graph = new_graph();
    event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AT_START, event);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_graph(first, exec));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(second, event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_query(event));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_query(event));
    drop_both(graph, exec);
    expect_ok(rnl_event_release(event));
    release_streams();
}

static rnl_status note_number(const rnl_native_call *call)
{
    note(RNL_OK, (void *)(intptr_t)*(const int *)call->arguments[0]);
    return RNL_OK;
}

RNL_TEST(urgent_nodes_come_first)
{
    static const rnl_parameter number = {RNL_VALUE_INTEGER, 4, 4, "int"};
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    rnl_function function = NULL;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_stream stream = NULL;
    expect_ok(rnl_function_create_native(
        context, "note_number", note_number,
        RNL_NATIVE_OPTIONS(.parameters = &number, .parameter_count = 1),
        &function));
    expect_ok(rnl_graph_create(context, NULL, &graph));
    const int priorities[] = {5, -1, 3, -1, 0};
    for (int i = 0; i < 5; i++) {
        rnl_node node;
        expect_ok(rnl_graph_add_node(
            graph, RNL_AT_START,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .priority = priorities[i],
                     .function = function, .launch = one_thread(),
                     .args = RNL_ARGS(i)), &node));
    }
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_context_default_stream(context, &stream));
    trace_clear();
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    const int expected[] = {1, 3, 4, 2, 0};
    for (int i = 0; i < 5 && suite_is_cpu(); i++)
        assert_int_equal(trace.seen[i], expected[i]);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_context_release(context));
}

// --- Large and many --------------------------------------------------------

enum { MANY = 10000 };

RNL_TEST(graphs_may_be_large)
{
    rnl_function adder = new_adder();
    rnl_buffer sum = suite_ints(1, 0), fills = suite_ints(MANY, 0);
    rnl_graph row = new_graph(), wide = new_graph();
    rnl_node last = empty_node(row, RNL_AT_START), node = NULL;
    static rnl_node leaves[MANY];
    rnl_node root = empty_node(wide, RNL_AT_START);
    for (size_t i = 0; i < MANY; i++) {
        last = add_node(row, RNL_AFTER(last), adder, sum, 1);
        const rnl_fill *fill =
            RNL_FILL(.to = {.buffer = fills, .offset = 4 * i}, .width = 4,
                     .pattern = 3, .pattern_size = 4);
        expect_ok(rnl_graph_add_node(
            wide, RNL_AFTER(root),
            RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill), &leaves[i]));
    }
    expect_ok(rnl_graph_add_node(wide, leaves, MANY,
                                 RNL_NODE(.kind = RNL_NODE_EMPTY), &node));
    expect_shape(row, MANY + 1, MANY);
    expect_shape(wide, MANY + 2, 2 * MANY);
    rnl_graph_exec exec = instantiate(row);
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 2 * MANY);
    drop_both(row, exec);
    launch_once(wide);
    suite_expect_ints(fills, MANY, 3);
    expect_ok(rnl_graph_release(wide));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_buffer_release(fills));
}

enum { THREADS = 4, ROUNDS = 50 };

static rnl_graph_exec shared_exec;

static void *launch_often(void *unused)
{
    (void)unused;
    rnl_stream stream = suite_new_stream();
    for (int i = 0; i < ROUNDS; i++) {
        expect_ok(rnl_enqueue_graph(stream, shared_exec));
        if (i % 8 == 0)
            expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_stream_release(stream));
    return NULL;
}

RNL_TEST(many_threads_launch_one_graph)
{
    rnl_function adder = new_adder();
    rnl_buffer sums[4];
    rnl_graph graph = new_graph();
    rnl_node top = empty_node(graph, RNL_AT_START);
    for (int i = 0; i < 4; i++) {
        sums[i] = suite_ints(1, 0);
        rnl_node node = add_node(graph, RNL_AFTER(top), adder, sums[i], 1);
        add_node(graph, RNL_AFTER(node), adder, sums[i], 1);
    }
    shared_exec = instantiate(graph);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, launch_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 4; i++) {
        suite_expect_ints(sums[i], 1, 2 * THREADS * ROUNDS);
        expect_ok(rnl_buffer_release(sums[i]));
    }
    drop_both(graph, shared_exec);
    expect_ok(rnl_function_release(adder));
}

static rnl_node shared_node;
static rnl_graph shared_graph;
static rnl_buffer shared_buffer;

static void *change_often(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const rnl_fill *fill = RNL_FILL(.to = {.buffer = shared_buffer},
                                        .width = 4, .pattern = i,
                                        .pattern_size = 4);
        expect_ok(rnl_graph_exec_set_node(
            shared_exec, shared_node,
            RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill)));
        expect_ok(rnl_graph_exec_update(shared_exec, shared_graph, NULL));
        expect_ok(rnl_graph_exec_set_enabled(shared_exec, shared_node,
                                             i % 2 == 0));
    }
    return NULL;
}

RNL_TEST(a_graph_is_changed_while_others_launch_it)
{
    shared_buffer = suite_ints(1, 0);
    shared_graph = new_graph();
    shared_node = fill_node(shared_graph, RNL_AT_START, shared_buffer, 1);
    shared_exec = instantiate(shared_graph);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i % 2 ? launch_often : change_often,
                                        NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    drop_both(shared_graph, shared_exec);
    expect_ok(rnl_buffer_release(shared_buffer));
}

// --- Lifetimes -------------------------------------------------------------

RNL_TEST(everything_may_be_released_while_a_launch_waits)
{
    rnl_graph graph = new_graph(), child = new_graph(), body = NULL;
    rnl_buffer a = suite_ints(1, 0), b = suite_ints(1, 0);
    rnl_function adder = new_adder();
    rnl_event event = suite_new_event();
    rnl_stream stream = suite_new_stream();
    struct host_calls calls = {0};
    add_node(child, RNL_AT_START, adder, a, 3);
    rnl_node node = child_node(graph, RNL_AT_START, child);
    node = event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(node), event);
    node = event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AFTER(node), event);
    node = body_node(graph, RNL_NODE_IF, RNL_AFTER(node), a, &body);
    fill_node(body, RNL_AT_START, b, 4);
    host_node(graph, RNL_AFTER(node), count_host_call, &calls);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_enqueue_wait_stream(suite_stream(), stream));
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_stream_release(stream));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    assert_int_equal(calls.count, 2);
    suite_expect_ints(b, 1, 4);
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_context_may_go_while_its_graphs_wait)
{
    suite_need(RNL_FEATURE_GRAPHS);
    rnl_context context = suite_open(NULL);
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_stream stream = NULL;
    struct host_calls calls = {0};
    expect_ok(rnl_graph_create(context, NULL, &graph));
    host_node(graph, RNL_AT_START, count_host_call, &calls);
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(calls.count, 1);
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(references_of_graphs_are_counted)
{
    rnl_graph graph = new_graph();
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 10; i++) {
        expect_ok(rnl_graph_retain(graph));
        expect_ok(rnl_graph_exec_retain(exec));
    }
    for (int i = 0; i < 10; i++) {
        expect_ok(rnl_graph_release(graph));
        expect_ok(rnl_graph_exec_release(exec));
    }
    launch_and_wait(exec);
    drop_both(graph, exec);
    expect_error(rnl_graph_exec_release(exec), RNL_ERROR_INVALID_HANDLE,
                 "exec");
}

RNL_TEST(executables_of_other_contexts_are_refused)
{
    rnl_context context = suite_open(NULL);
    rnl_stream theirs = NULL;
    rnl_graph graph = new_graph();
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_context_default_stream(context, &theirs));
    expect_error(rnl_enqueue_graph(theirs, exec), RNL_ERROR_INVALID_HANDLE,
                 "exec");
    expect_error(rnl_enqueue_graph_upload(theirs, exec),
                 RNL_ERROR_INVALID_HANDLE, "exec");
    expect_ok(rnl_enqueue_graph_upload(suite_stream(), exec));
    drop_both(graph, exec);
    expect_ok(rnl_context_release(context));
}

// --- Failures --------------------------------------------------------------

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_launch_on_a_stream_that_fails_is_told_to_the_host)
{
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_graph graph = new_graph();
    rnl_buffer a = suite_ints(1, 0);
    rnl_event event = suite_new_event();
    struct host_calls calls = {0};
    rnl_node node = fill_node(graph, RNL_AT_START, a, 1);
    node = host_node(graph, RNL_AFTER(node), count_host_call, &calls);
    event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(node), event);
    rnl_graph_exec exec = instantiate(graph);
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_function(stream, bad, one_thread(), NULL));
    expect_ok(rnl_enqueue_graph(stream, exec));
    gate_open(gate);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_LAUNCH_FAILED);
    gate_free(gate);
    assert_int_equal(calls.count, 1);
    assert_int_not_equal(calls.status, RNL_OK);
    assert_status(rnl_event_query(event), RNL_ERROR_LAUNCH_FAILED);
    assert_status(rnl_enqueue_graph(stream, exec), RNL_ERROR_LAUNCH_FAILED);
    suite_expect_ints(a, 1, 0);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(calls.count, 2);
    assert_int_equal(calls.status, RNL_OK);
    expect_ok(rnl_event_query(event));
    suite_expect_ints(a, 1, 1);
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(a));
}

RNL_TEST(a_launch_behind_a_failed_launch_elsewhere_runs)
{
    two_streams();
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_buffer a = suite_ints(1, 0);
    rnl_graph graph = new_graph();
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = bad,
                 .launch = one_thread()), &node));
    fill_node(graph, RNL_AFTER(node), a, 1);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_graph(first, exec));
    expect_ok(rnl_graph_exec_set_enabled(exec, node, false));
    expect_ok(rnl_enqueue_graph(second, exec));
    gate_open(gate);
    assert_status(rnl_stream_synchronize(first, RNL_FOREVER),
                  RNL_ERROR_LAUNCH_FAILED);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(a, 1, 1);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(a));
    release_streams();
}

RNL_TEST(a_wait_for_a_failed_event_fails_the_launch)
{
    two_streams();
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_buffer a = suite_ints(1, 0);
    rnl_event event = suite_new_event();
    rnl_graph graph = new_graph();
    rnl_node wait =
        event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, event);
    fill_node(graph, RNL_AFTER(wait), a, 1);
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_function(first, bad, one_thread(), NULL));
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_graph(second, exec));
    gate_open(gate);
    assert_status(rnl_stream_synchronize(second, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    gate_free(gate);
    suite_expect_ints(a, 1, 0);
    expect_ok(rnl_stream_reset_and_wait(second));
    expect_ok(rnl_stream_reset_and_wait(first));
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_graph(second, exec));
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    suite_expect_ints(a, 1, 1);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_event_release(event));
    release_streams();
}

// --- Constants, processes --------------------------------------------------

RNL_TEST(a_kernel_node_copies_its_constants)
{
    int factor = 6;
    const rnl_constant constant = {"factor", &factor, sizeof factor};
    rnl_module module = suite_module(
        "__constant__ int factor;\n"
        "extern \"C\" __global__ void scale(int *data) {\n"
        "    *data *= factor;\n"
        "}\n");
    rnl_function scale = NULL;
    rnl_buffer a = suite_ints(1, 1);
    rnl_graph graph = new_graph();
    rnl_node node = NULL;
    expect_ok(rnl_module_function(module, "scale", &scale));
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = scale,
                 .launch = RNL_LAUNCH(.grid = {1}, .block = {1},
                                      .constants = &constant,
                                      .constant_count = 1),
                 .args = RNL_ARGS(a)), &node));
    factor = 0;
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 36);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(scale));
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_buffer_release(a));
}

static rnl_graph parents_graph;
static rnl_graph_exec parents_exec;

static int child_after_fork(void)
{
    rnl_graph graph = NULL;
    size_t count;
    if (rnl_graph_get_nodes(parents_graph, NULL, 0, &count) !=
        RNL_ERROR_FORKED)
        return 1;
    if (rnl_graph_clone(parents_graph, &graph) != RNL_ERROR_FORKED)
        return 2;
    return rnl_graph_exec_release(parents_exec) != RNL_ERROR_FORKED;
}

RNL_TEST(graphs_belong_to_the_process_that_made_them)
{
    parents_graph = new_graph();
    parents_exec = instantiate(parents_graph);
    assert_int_equal(suite_fork(child_after_fork), 0);
    launch_and_wait(parents_exec);
    drop_both(parents_graph, parents_exec);
}

// --- One thread ------------------------------------------------------------

static _Atomic int running, most_running;

static rnl_status count_running(const rnl_native_call *call)
{
    (void)call;
    int now = atomic_fetch_add(&running, 1) + 1;
    if (now > atomic_load(&most_running))
        atomic_store(&most_running, now);
    for (volatile int i = 0; i < 20000; i++)
        continue;
    atomic_fetch_sub(&running, 1);
    return RNL_OK;
}

RNL_TEST(a_context_of_one_thread_runs_one_node_at_a_time)
{
    suite_need(RNL_FEATURE_GRAPHS);
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    rnl_stream stream = NULL;
    rnl_function function = NULL;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_function_create_native(context, "count", count_running, NULL,
                                         &function));
    expect_ok(rnl_graph_create(context, NULL, &graph));
    for (int i = 0; i < 20; i++)
        expect_ok(rnl_graph_add_node(
            graph, RNL_AT_START,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                     .launch = one_thread(), .args = RNL_NO_ARGS), &node));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    atomic_store(&most_running, 0);
    for (int i = 0; i < 3; i++) {
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    assert_int_equal(atomic_load(&most_running), 1);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_context_release(context));
}
