// Events that graphs record, seen from outside: each record stands for itself.
#include "graphs.h"
#include "words.h"

#define LIMIT UINT64_C(20000000000)  // of what would never end

static rnl_stream first, second;
static rnl_graph graph;
static rnl_graph_exec exec;
static rnl_event reached, other;
static rnl_buffer a, b;

// Two streams, and a graph that fills `a` with 1 and records `reached`.
static void make_recorder(void)
{
    first = suite_new_stream();
    second = suite_new_stream();
    reached = suite_new_event();
    other = suite_new_event();
    a = suite_ints(1, 0);
    b = suite_ints(1, 0);
    graph = new_graph();
    rnl_node fill = fill_node(graph, RNL_AT_START, a, 1);
    event_node(graph, RNL_NODE_EVENT_RECORD, RNL_AFTER(fill), reached);
    exec = instantiate(graph);
}

static void drop_recorder(void)
{
    drop_both(graph, exec);
    expect_ok(rnl_event_release(reached));
    expect_ok(rnl_event_release(other));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_stream_waits_for_the_launches_before_its_wait_only)
{
    make_recorder();
    rnl_function adder = new_adder();
    struct gate *gate = gate_shut(first);
    for (int i = 0; i < 5; i++) {
        expect_ok(rnl_enqueue_graph(first, exec));
        expect_ok(rnl_enqueue_wait_event(second, reached));
        expect_ok(rnl_enqueue_function(second, adder, one_thread(),
                                       RNL_ARGS(b, 1)));
        expect_ok(rnl_enqueue_event_record(second, other));
        expect_ok(rnl_enqueue_wait_event(first, other));
    }
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, LIMIT));
    expect_ok(rnl_stream_synchronize(second, LIMIT));
    gate_free(gate);
    suite_expect_ints(b, 1, 5);
    expect_ok(rnl_function_release(adder));
    drop_recorder();
}

RNL_TEST(a_record_after_a_launch_is_the_one_that_counts)
{
    make_recorder();
    struct gate *gate = gate_shut(second);
    expect_ok(rnl_enqueue_graph(first, exec));
    expect_ok(rnl_enqueue_event_record(second, reached));
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    assert_status(rnl_event_query(reached), RNL_NOT_READY);
    expect_ok(rnl_enqueue_wait_event(first, reached));
    expect_ok(rnl_enqueue_copy_buffer(first, b, 0, a, 0, 4));
    assert_status(rnl_stream_query(first), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    expect_ok(rnl_event_query(reached));
    gate_free(gate);
    drop_recorder();
}

// Until it is known to wait, and not only to have a wait in front of it.
static void await_blocked(rnl_stream stream)
{
    do
        expect_error(rnl_stream_synchronize(stream, 0), RNL_ERROR_TIMED_OUT,
                     NULL);
    while (!strstr(rnl_last_error()->message, "it waits for"));
}

RNL_TEST(who_waits_for_a_launch_is_not_lost_by_a_record)
{
    if (!suite_is_cpu())
        test_skip("only the cpu says who waits for whom");
    make_recorder();
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_graph(first, exec));
    expect_ok(rnl_enqueue_wait_event(second, reached));
    await_blocked(second);
    expect_ok(rnl_enqueue_event_record(first, reached));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, LIMIT));
    expect_ok(rnl_stream_synchronize(first, LIMIT));
    gate_free(gate);
    drop_recorder();
}

RNL_TEST(a_record_while_a_launch_is_to_come_is_the_one_that_counts)
{
    make_recorder();
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_graph(first, exec));
    expect_ok(rnl_enqueue_event_record(second, reached));
    expect_ok(rnl_event_synchronize(reached, LIMIT));
    expect_ok(rnl_enqueue_wait_event(second, reached));
    expect_ok(rnl_stream_synchronize(second, LIMIT));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    expect_ok(rnl_event_query(reached));
    gate_free(gate);
    drop_recorder();
}

RNL_TEST(a_launch_after_a_record_is_the_one_that_counts)
{
    make_recorder();
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_event_record(second, reached));
    expect_ok(rnl_enqueue_graph(first, exec));
    assert_status(rnl_event_query(reached), RNL_NOT_READY);
    expect_ok(rnl_enqueue_wait_event(second, reached));
    expect_ok(rnl_enqueue_copy_buffer(second, b, 0, a, 0, 4));
    assert_status(rnl_stream_query(second), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(b, 1, 1);
    drop_recorder();
}

// The launches end in another order than they began.
RNL_TEST(two_graphs_that_record_one_event_do_not_mix_it_up)
{
    make_recorder();
    rnl_graph_exec later = instantiate(graph);
    struct gate *gate = gate_shut(first);
    expect_ok(rnl_enqueue_graph(first, exec));
    rnl_stream third = suite_new_stream();
    expect_ok(rnl_enqueue_wait_event(third, reached));
    expect_ok(rnl_enqueue_graph(second, later));
    expect_ok(rnl_event_synchronize(reached, LIMIT));
    expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
    assert_status(rnl_stream_query(third), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(third, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(later));
    expect_ok(rnl_stream_release(third));
    drop_recorder();
}

// A producer and a graph that take turns, with the host far ahead of both.
RNL_TEST(a_wait_node_waits_for_records_before_the_launch_only)
{
    make_recorder();
    rnl_graph waiting = new_graph();
    event_node(waiting, RNL_NODE_EVENT_WAIT, RNL_AT_START, other);
    rnl_graph_exec waits = instantiate(waiting);
    struct gate *gate = gate_shut(second);
    for (int i = 0; i < 5; i++) {
        expect_ok(rnl_enqueue_event_record(second, other));
        expect_ok(rnl_enqueue_graph(first, waits));
        expect_ok(rnl_enqueue_wait_stream(second, first));
    }
    assert_status(rnl_stream_query(first), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, LIMIT));
    expect_ok(rnl_stream_synchronize(second, LIMIT));
    gate_free(gate);
    drop_both(waiting, waits);
    drop_recorder();
}

// A stream that has failed records an event, which a graph waits for before it
// records `reached`.
RNL_TEST(a_record_behind_a_wait_node_fails_with_it)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_event promise;
    make_recorder();
    rnl_graph passing = new_graph();
    rnl_node wait =
        event_node(passing, RNL_NODE_EVENT_WAIT, RNL_AT_START, other);
    event_node(passing, RNL_NODE_EVENT_RECORD, RNL_AFTER(wait), reached);
    rnl_graph_exec passes = instantiate(passing);
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    expect_ok(rnl_enqueue_wait_event(first, promise));
    expect_ok(rnl_enqueue_event_record(first, other));
    expect_ok(rnl_event_release(promise));
    assert_status(rnl_stream_synchronize(first, LIMIT),
                  RNL_ERROR_DEPENDENCY_FAILED);
    expect_ok(rnl_enqueue_graph(second, passes));
    assert_status(rnl_event_synchronize(reached, LIMIT),
                  RNL_ERROR_DEPENDENCY_FAILED);
    assert_status(rnl_stream_synchronize(second, LIMIT),
                  RNL_ERROR_DEPENDENCY_FAILED);
    expect_ok(rnl_stream_reset_and_wait(first));
    expect_ok(rnl_stream_reset_and_wait(second));
    drop_both(passing, passes);
    drop_recorder();
}

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

// A graph that fails before it records `reached`.
static rnl_graph_exec failing_recorder(rnl_function bad)
{
    rnl_graph failing = new_graph();
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        failing, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = bad,
                 .launch = one_thread()), &node));
    event_node(failing, RNL_NODE_EVENT_RECORD, RNL_AFTER(node), reached);
    rnl_graph_exec made = instantiate(failing);
    expect_ok(rnl_graph_release(failing));
    return made;
}

enum { WAITERS = 12, LAST = WAITERS - 1 };

// When they get to their waits, the event has long stood for something else.
static void wait_later(rnl_stream *waiter, struct words words)
{
    *waiter = suite_new_stream();
    expect_ok(rnl_enqueue_wait_value32(*waiter, words.buffer, 0, 1,
                                       RNL_WAIT_GEQ));
    expect_ok(rnl_enqueue_wait_event(*waiter, reached));
}

RNL_TEST(a_lost_record_is_known_to_waits_that_come_late)
{
    struct words words = new_words(4);
    rnl_stream waiters[WAITERS], third = suite_new_stream();
    make_recorder();
    rnl_function bad = suite_native("bad", fail_now, NULL);
    rnl_graph_exec fails = failing_recorder(bad);
    struct gate *gate = gate_shut(first);
    for (int i = 0; i < LAST; i++) {
        expect_ok(rnl_enqueue_graph(first, fails));
        wait_later(&waiters[i], words);
    }
    expect_ok(rnl_enqueue_graph(third, exec));
    wait_later(&waiters[LAST], words);
    expect_ok(rnl_enqueue_event_record(third, reached));
    expect_ok(rnl_stream_synchronize(third, LIMIT));
    gate_open(gate);
    assert_status(rnl_stream_synchronize(first, LIMIT),
                  RNL_ERROR_LAUNCH_FAILED);
    expect_ok(rnl_event_synchronize(reached, LIMIT));
    expect_ok(rnl_stream_reset_and_wait(first));
    atomic_store(words.w32, 1);
    for (int i = 0; i < WAITERS; i++) {
        assert_status(rnl_stream_synchronize(waiters[i], LIMIT),
                      i < LAST ? RNL_ERROR_DEPENDENCY_FAILED : RNL_OK);
        expect_ok(rnl_stream_release(waiters[i]));
    }
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(fails));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(words.buffer));
    expect_ok(rnl_stream_release(third));
    drop_recorder();
}
