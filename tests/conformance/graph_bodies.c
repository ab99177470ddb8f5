// The bodies of IF, WHILE and SWITCH: capture into them, what they hold, and
// which of several is entered.
#include "graphs.h"

#include <stdatomic.h>
#include <string.h>

static void begin_into(rnl_stream stream, rnl_graph graph)
{
    expect_ok(rnl_stream_begin_capture(stream,
                                       RNL_CAPTURE_OPTIONS(.graph = graph)));
}

// What is captured stays with the node.
static void end_into(rnl_stream stream, rnl_graph graph)
{
    rnl_graph captured = end_capture(stream);
    assert_ptr_equal(captured, graph);
    expect_ok(rnl_graph_release(captured));
}

static void need_switch(void)
{
    rnl_graph graph = new_graph();
    expect_ok(rnl_graph_release(graph));
    suite_need(RNL_FEATURE_GRAPH_SWITCH);
}

static void need_bodies(void)
{
    rnl_graph graph = new_graph();
    expect_ok(rnl_graph_release(graph));
    suite_need(RNL_FEATURE_GRAPH_BODIES);
}

static rnl_node bodies_node(rnl_graph graph, rnl_node_kind kind,
                            const rnl_node *after, size_t after_count,
                            rnl_buffer word, rnl_graph *bodies, size_t count)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, after, after_count,
        RNL_NODE(.kind = kind, .buffer = word, .out_body = bodies,
                 .body_count = count), &node));
    return node;
}

// --- Capture ---------------------------------------------------------------

RNL_TEST(a_body_is_captured_into)
{
    rnl_function adder = new_adder(), down = new_count_down();
    rnl_buffer sum = suite_ints(1, 0), word = suite_ints(1, 0);
    rnl_graph graph = new_graph(), body = NULL;
    rnl_stream stream = suite_new_stream();
    rnl_node set = fill_node(graph, RNL_AT_START, word, 5);
    body_node(graph, RNL_NODE_WHILE, RNL_AFTER(set), word, &body);
    rnl_node first = empty_node(body, RNL_AT_START);
    expect_ok(rnl_stream_begin_capture(
        stream, RNL_CAPTURE_OPTIONS(.graph = body, .after = &first,
                                    .after_count = 1)));
    expect_ok(rnl_enqueue_function(stream, adder, one_thread(),
                                   RNL_ARGS(sum, 3)));
    expect_ok(rnl_enqueue_function(stream, down, one_thread(),
                                   RNL_ARGS(word)));
    end_into(stream, body);
    expect_shape(body, 3, 2);
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(sum, 1, 30);
    // It is the node's as before.
    expect_error(rnl_graph_release(body), RNL_ERROR_INVALID_STATE, "graph");
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_function_release(down));
    expect_ok(rnl_buffer_release(sum));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(a_child_is_captured_into)
{
    rnl_graph graph = new_graph(), child = new_graph();
    rnl_buffer a = suite_ints(1, 0);
    rnl_stream stream = suite_new_stream();
    rnl_graph inner =
        node_info_of(graph, child_node(graph, RNL_AT_START, child)).graph;
    begin_into(stream, inner);
    expect_ok(rnl_enqueue_fill(stream, a, 0, 4, 6, 4));
    end_into(stream, inner);
    launch_once(graph);
    suite_expect_ints(a, 1, 6);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(a));
}

RNL_TEST(a_body_that_is_captured_into_is_the_captures_alone)
{
    rnl_graph graph = new_graph(), body = NULL, clone = NULL;
    rnl_buffer word = suite_ints(1, 0);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_graph_exec exec = NULL;
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    begin_into(stream, body);
    expect_error(rnl_stream_begin_capture(
                     other, RNL_CAPTURE_OPTIONS(.graph = body)),
                 RNL_ERROR_INVALID_STATE, "graph");
    expect_error(rnl_graph_instantiate(graph, &exec), RNL_ERROR_INVALID_STATE,
                 "graph");
    expect_error(rnl_graph_clone(graph, &clone), RNL_ERROR_INVALID_STATE,
                 "graph");
    expect_error(rnl_graph_release(body), RNL_ERROR_INVALID_STATE, "graph");
    expect_ok(rnl_enqueue_fill(stream, word, 0, 4, 6, 4));
    end_into(stream, body);
    launch_once(graph);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(a_capture_outlives_the_node_whose_body_it_fills)
{
    rnl_graph graph = new_graph(), body = NULL, captured = NULL;
    rnl_buffer word = suite_ints(1, 0);
    rnl_stream stream = suite_new_stream();
    rnl_node node = body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    begin_into(stream, body);
    expect_ok(rnl_graph_remove_node(graph, node));
    expect_ok(rnl_enqueue_fill(stream, word, 0, 4, 6, 4));
    expect_error(rnl_stream_end_capture(stream, &captured),
                 RNL_ERROR_INVALID_HANDLE, "graph");
    assert_null(captured);
    expect_ok(rnl_enqueue_fill(stream, word, 0, 4, 7, 4));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_expect_ints(word, 1, 7);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(word));
}

// --- What they hold --------------------------------------------------------

static void expect_refused(rnl_graph body, rnl_node_params params,
                           const char *kind)
{
    rnl_node node = NULL;
    params.struct_size = sizeof params;
    expect_error(rnl_graph_add_node(body, RNL_AT_START, &params, &node),
                 RNL_ERROR_UNSUPPORTED, "params");
    assert_non_null(strstr(rnl_last_error()->message, kind));
}

RNL_TEST(bodies_refuse_what_they_cannot_do)
{
    rnl_graph graph = new_graph(), body = NULL, empty = new_graph();
    rnl_graph deep = new_graph(), child = new_graph();
    rnl_buffer word = suite_ints(1, 0);
    rnl_event event = suite_new_event();
    rnl_node_params record = {.kind = RNL_NODE_EVENT_RECORD, .event = event};
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    event_node(deep, RNL_NODE_EVENT_RECORD, RNL_AT_START, event);
    child_node(child, RNL_AT_START, deep);
    expect_refused(body, record, "event record");
    expect_refused(body, (rnl_node_params){.kind = RNL_NODE_CHILD,
                                           .child = child}, "event record");
    expect_refused(graph, (rnl_node_params){.kind = RNL_NODE_IF,
                                            .buffer = word, .bodies = &deep},
                   "event record");
    if (rnl_context_supports(suite_context(), RNL_FEATURE_GRAPH_BODIES,
                             NULL) != RNL_OK) {
        expect_refused(body, (rnl_node_params){.kind = RNL_NODE_HOST_FUNCTION,
                                               .host = note}, "host function");
        expect_refused(body, (rnl_node_params){.kind = RNL_NODE_EVENT_WAIT,
                                               .event = event}, "event wait");
        expect_refused(body, (rnl_node_params){.kind = RNL_NODE_VALUES},
                       "value operation");
    }
    expect_shape(body, 0, 0);
    rnl_graph inner =
        node_info_of(body, child_node(body, RNL_AT_START, empty)).graph;
    expect_refused(inner, record, "event record");
    expect_ok(rnl_graph_release(empty));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(deep));
    expect_ok(rnl_graph_release(child));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(word));
}

// The capture is invalid then, as after every call that cannot be captured.
RNL_TEST(a_capture_into_a_body_refuses_what_bodies_cannot_do)
{
    rnl_graph graph = new_graph(), body = NULL, captured = NULL;
    rnl_buffer word = suite_ints(1, 0);
    rnl_stream stream = suite_new_stream();
    rnl_event event = suite_new_event();
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    begin_into(stream, body);
    expect_ok(rnl_enqueue_fill(stream, word, 0, 4, 6, 4));
    expect_error(rnl_enqueue_external_record(stream, event),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, "stream");
    assert_non_null(strstr(rnl_last_error()->message, "event record"));
    expect_error(rnl_stream_end_capture(stream, &captured),
                 RNL_ERROR_CAPTURE_INVALIDATED, "stream");
    expect_shape(body, 0, 0);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(word));
}

struct rounds {
    _Atomic uint32_t *word;
    _Atomic int calls, failures;
};

static void one_less(rnl_status status, void *user_data)
{
    struct rounds *rounds = user_data;
    atomic_fetch_add(&rounds->calls, 1);
    if (status != RNL_OK)
        atomic_fetch_add(&rounds->failures, 1);
    else
        atomic_fetch_sub(rounds->word, 1);
}

static void count(rnl_status status, void *user_data)
{
    struct rounds *rounds = user_data;
    atomic_fetch_add(status == RNL_OK ? &rounds->calls : &rounds->failures, 1);
}

static rnl_buffer host_words(size_t number, uint32_t **out_words)
{
    rnl_buffer words = NULL;
    void *pointer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), 4 * number,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST,
                                                   .zeroed = true), &words));
    expect_ok(rnl_buffer_host_pointer(words, &pointer));
    *out_words = pointer;
    return words;
}

// Branches that could run together, with host functions, values and nested
// bodies in all of them: `wide` of them, `times` over.
static void expect_rounds(int wide, uint32_t times)
{
    uint32_t *words;
    rnl_buffer buffer = host_words(4, &words);
    struct rounds loop = {.word = (_Atomic uint32_t *)&words[0]};
    struct rounds branches = {0};
    rnl_graph graph = new_graph(), body = NULL, then = NULL;
    words[3] = 1;
    rnl_node join = NULL, branch = NULL, node = NULL;
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, buffer, &body);
    join = host_node(body, RNL_AT_START, one_less, &loop);
    for (int i = 0; i < wide; i++) {
        branch = host_node(body, RNL_AT_START, count, &branches);
        expect_ok(rnl_graph_add_node(
            body, RNL_AFTER(branch),
            RNL_NODE(.kind = RNL_NODE_IF, .buffer = buffer, .offset = 12,
                     .out_body = &then), &node));
        host_node(then, RNL_AT_START, count, &branches);
        host_node(then, RNL_AT_START, count, &branches);
        expect_ok(rnl_graph_add_edge(body, node, join));
    }
    rnl_graph_exec exec = instantiate(graph);
    for (uint32_t i = 1; i <= 3; i++) {
        words[0] = times;
        words[3] = i % 2;
        launch_and_wait(exec);
        assert_int_equal(words[0], 0);
    }
    assert_int_equal(loop.calls, 3 * times);
    assert_int_equal(loop.failures + branches.failures, 0);
    assert_int_equal(branches.calls, (uint32_t)wide * times * (3 + 3 + 1));
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(the_host_works_in_bodies)
{
    need_bodies();
    expect_rounds(0, 1000);
    expect_rounds(1, 200);
    expect_rounds(8, 100);
}

static const rnl_value_op *value_op(rnl_buffer buffer, size_t offset,
                                    rnl_value_action action, uint64_t value)
{
    static rnl_value_op op;
    op = (rnl_value_op){.struct_size = sizeof op, .action = action,
                        .width = 32, .buffer = buffer, .offset = offset,
                        .value = value};
    return &op;
}

// The worker of a body that waits is free for others: with one, who writes what
// it waits for could not run otherwise.
RNL_TEST(a_body_waits_for_values_and_events)
{
    need_bodies();
    uint32_t *words;
    rnl_buffer buffer = host_words(4, &words);
    struct rounds loop = {.word = (_Atomic uint32_t *)&words[0]};
    rnl_graph graph = new_graph(), body = NULL;
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_event event = suite_new_event();
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, buffer, &body);
    begin_into(stream, body);
    expect_ok(rnl_enqueue_external_wait(stream, event));
    expect_ok(rnl_enqueue_values(
        stream, value_op(buffer, 4, RNL_WAIT_GEQ, 1), 1));
    expect_ok(rnl_enqueue_host_function(stream, one_less, &loop));
    end_into(stream, body);
    rnl_graph_exec exec = instantiate(graph);
    for (uint32_t i = 0; i < 3; i++) {
        struct gate *gate = gate_shut(other);
        expect_ok(rnl_enqueue_event_record(other, event));
        words[0] = 4;
        words[1] = 0;
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
        gate_open(gate);
        expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
        expect_ok(rnl_enqueue_values(
            other, value_op(buffer, 4, RNL_WRITE_VALUE, 1), 1));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        assert_int_equal(loop.calls, 4 * (i + 1));
        expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
        gate_free(gate);
    }
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(buffers_are_made_and_released_in_bodies)
{
    rnl_graph graph = new_graph(), body = NULL;
    rnl_buffer word = suite_ints(1, 1), a = suite_ints(1, 0), made = NULL;
    rnl_stream stream = suite_new_stream();
    body_node(graph, RNL_NODE_IF, RNL_AT_START, word, &body);
    begin_into(stream, body);
    expect_ok(rnl_enqueue_buffer_create(stream, 4, NULL, &made));
    expect_ok(rnl_enqueue_fill(stream, made, 0, 4, 8, 4));
    expect_ok(rnl_enqueue_copy_buffer(stream, a, 0, made, 0, 4));
    expect_ok(rnl_enqueue_buffer_release(stream, made));
    end_into(stream, body);
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 8);
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(word));
}

// --- How they end ----------------------------------------------------------

static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failure_ends_a_loop_and_is_told_to_its_host_functions)
{
    need_bodies();
    rnl_function bad = suite_native("bad", fail_now, NULL);
    uint32_t *words;
    rnl_buffer buffer = host_words(4, &words);
    struct rounds inside = {.word = (_Atomic uint32_t *)&words[0]};
    struct rounds other = {.word = (_Atomic uint32_t *)&words[0]};
    rnl_graph graph = new_graph(), body = NULL, never = NULL;
    rnl_node node = NULL;
    words[0] = 5;
    rnl_node loop =
        body_node(graph, RNL_NODE_WHILE, RNL_AT_START, buffer, &body);
    expect_ok(rnl_graph_add_node(
        body, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = bad,
                 .launch = one_thread()), &node));
    host_node(body, RNL_AFTER(node), count, &inside);
    body_node(graph, RNL_NODE_IF, RNL_AFTER(loop), buffer, &never);
    host_node(never, RNL_AT_START, count, &other);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 1; i <= 2; i++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                      RNL_ERROR_LAUNCH_FAILED);
        expect_ok(rnl_stream_reset_and_wait(suite_stream()));
        assert_int_equal(inside.failures, i);
        assert_int_equal(inside.calls + other.calls + other.failures, 0);
    }
    drop_both(graph, exec);
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(an_endless_loop_is_cancelled)
{
    need_bodies();
    suite_need(RNL_FEATURE_CANCEL);
    uint32_t *words;
    rnl_buffer buffer = host_words(4, &words);
    struct rounds rounds = {0};
    rnl_graph graph = new_graph(), body = NULL;
    words[0] = 1;
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, buffer, &body);
    host_node(body, RNL_AT_START, count, &rounds);
    host_node(body, RNL_AT_START, count, &rounds);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    while (atomic_load(&rounds.calls) < 100)
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
    expect_ok(rnl_stream_cancel(suite_stream()));
    assert_status(rnl_stream_synchronize(suite_stream(), RNL_FOREVER),
                  RNL_ERROR_CANCELLED);
    expect_ok(rnl_stream_reset_and_wait(suite_stream()));
    words[0] = 0;
    launch_and_wait(exec);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(buffer));
}

// --- Several bodies --------------------------------------------------------

static void set_words(rnl_buffer word, uint32_t value)
{
    expect_ok(rnl_fill_and_wait(suite_stream(), word, 0, 4, value, 4));
}

RNL_TEST(an_if_may_have_an_else)
{
    need_switch();
    rnl_buffer word = suite_ints(1, 0), a = suite_ints(1, 0);
    rnl_graph graph = new_graph(), bodies[2];
    bodies_node(graph, RNL_NODE_IF, RNL_AT_START, word, bodies, 2);
    fill_node(bodies[0], RNL_AT_START, a, 1);
    fill_node(bodies[1], RNL_AT_START, a, 2);
    rnl_graph_exec exec = instantiate(graph);
    for (uint32_t value = 0; value < 3; value++) {
        set_words(word, value);
        launch_and_wait(exec);
        suite_expect_ints(a, 1, value ? 1 : 2);
    }
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(a));
}

RNL_TEST(a_switch_runs_the_body_that_the_number_counts_to)
{
    need_switch();
    enum { BODIES = 5 };
    rnl_function adder = new_adder();
    rnl_buffer word = suite_ints(1, 0), a = suite_ints(1, 0);
    rnl_buffer behind = suite_ints(1, 0);
    rnl_graph graph = new_graph(), bodies[BODIES];
    rnl_node node = bodies_node(graph, RNL_NODE_SWITCH, RNL_AT_START, word,
                                bodies, BODIES);
    add_node(graph, RNL_AFTER(node), adder, behind, 1);
    for (int i = 1; i < BODIES; i++) {  // the first one is empty
        rnl_node first = fill_node(bodies[i], RNL_AT_START, a, 10 * i);
        add_node(bodies[i], RNL_AFTER(first), adder, a, i);
    }
    rnl_graph_exec exec = instantiate(graph);
    const uint32_t values[] = {3, 0, 1, 5, 4, 0xffffffffu, 2, 0x80000001u};
    int expected = 0, launches = 0;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        set_words(word, values[i]);
        launch_and_wait(exec);
        if (values[i] > 0 && values[i] < BODIES)
            expected = 11 * (int)values[i];
        suite_expect_ints(a, 1, expected);
        suite_expect_ints(behind, 1, ++launches);
    }
    drop_both(graph, exec);
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(behind));
}

// A loop over a switch: the number counts down through its bodies.
RNL_TEST(a_switch_runs_in_a_loop)
{
    need_switch();
    rnl_function adder = new_adder(), down = new_count_down();
    rnl_buffer word = suite_ints(1, 3), sum = suite_ints(1, 0);
    rnl_graph graph = new_graph(), body = NULL, bodies[4];
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, word, &body);
    rnl_node node = bodies_node(body, RNL_NODE_SWITCH, RNL_AT_START, word,
                                bodies, 4);
    rnl_node less = NULL;
    expect_ok(rnl_graph_add_node(
        body, RNL_AFTER(node),
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = down,
                 .launch = one_thread(), .args = RNL_ARGS(word)), &less));
    for (int i = 0, value = 1; i < 4; i++, value *= 10)
        add_node(bodies[i], RNL_AT_START, adder, sum, value);
    launch_once(graph);
    suite_expect_ints(sum, 1, 1110);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_function_release(adder));
    expect_ok(rnl_function_release(down));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(sum));
}

RNL_TEST(bodies_are_reached_by_their_node)
{
    need_switch();
    rnl_buffer word = suite_ints(1, 0);
    rnl_graph graph = new_graph(), bodies[3], clone = NULL;
    rnl_node copy = NULL;
    rnl_node node = bodies_node(graph, RNL_NODE_SWITCH, RNL_AT_START, word,
                                bodies, 3);
    rnl_node_info info = node_info_of(graph, node);
    assert_int_equal(info.kind, RNL_NODE_SWITCH);
    assert_string_equal(info.what, "switch");
    assert_int_equal(info.body_count, 3);
    assert_ptr_equal(info.graph, bodies[0]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(info.bodies[i], bodies[i]);
    empty_node(bodies[1], RNL_AT_START);
    expect_ok(rnl_graph_clone(graph, &clone));
    expect_ok(rnl_graph_find_node(clone, node, &copy));
    info = node_info_of(clone, copy);
    assert_int_equal(info.body_count, 3);
    assert_ptr_not_equal(info.bodies[1], bodies[1]);
    expect_shape(info.bodies[0], 0, 0);
    expect_shape(info.bodies[1], 1, 0);
    expect_ok(rnl_graph_retain(bodies[2]));
    expect_ok(rnl_graph_remove_node(graph, node));
    expect_error(rnl_graph_release(bodies[0]), RNL_ERROR_INVALID_HANDLE, NULL);
    expect_shape(bodies[2], 0, 0);
    expect_ok(rnl_graph_release(bodies[2]));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_graph_release(clone));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(nodes_have_as_many_bodies_as_their_kind_allows)
{
    need_switch();
    rnl_buffer word = suite_ints(1, 0);
    rnl_graph graph = new_graph(), bodies[3];
    rnl_node node = NULL;
    rnl_node_params params = {.struct_size = sizeof params, .buffer = word,
                              .out_body = bodies};
    const struct {
        rnl_node_kind kind;
        size_t count;
    } wrong[] = {{RNL_NODE_WHILE, 2}, {RNL_NODE_IF, 3},
                 {RNL_NODE_SWITCH, SIZE_MAX}};
    for (size_t i = 0; i < 3; i++) {
        params.kind = wrong[i].kind;
        params.body_count = wrong[i].count;
        expect_error(rnl_graph_add_node(graph, RNL_AT_START, &params, &node),
                     RNL_ERROR_OUT_OF_RANGE, "body_count");
    }
    params = (rnl_node_params){.struct_size = sizeof params, .buffer = word,
                               .kind = RNL_NODE_SWITCH};
    expect_error(rnl_graph_add_node(graph, RNL_AT_START, &params, &node),
                 RNL_ERROR_INVALID_ARGUMENT, "out_body");
    expect_shape(graph, 0, 0);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(an_update_needs_as_many_bodies)
{
    need_switch();
    rnl_buffer word = suite_ints(1, 2), a = suite_ints(1, 0);
    rnl_graph graphs[3], bodies[3];
    for (size_t i = 0; i < 3; i++) {
        graphs[i] = new_graph();
        bodies_node(graphs[i], RNL_NODE_SWITCH, RNL_AT_START, word, bodies,
                    i == 2 ? 2 : 3);
        fill_node(bodies[i == 2 ? 1 : 2], RNL_AT_START, a, (int)i + 1);
    }
    rnl_graph_exec exec = instantiate(graphs[0]);
    rnl_update_result result = {.struct_size = sizeof result};
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 1);
    expect_ok(rnl_graph_exec_update(exec, graphs[1], NULL));
    expect_error(rnl_graph_exec_update(exec, graphs[2], &result),
                 RNL_ERROR_GRAPH_UPDATE, "graph");
    assert_int_equal(result.reason, RNL_UPDATE_NODE_KIND);
    launch_and_wait(exec);
    suite_expect_ints(a, 1, 2);
    expect_ok(rnl_graph_exec_release(exec));
    for (int i = 0; i < 3; i++)
        expect_ok(rnl_graph_release(graphs[i]));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(a));
}

static bool keep_text(const char *text, size_t size, void *user_data)
{
    strncat(user_data, text, size);
    return true;
}

RNL_TEST(drawings_tell_which_body_is_which)
{
    need_switch();
    static char text[8192];
    rnl_buffer word = suite_ints(1, 0);
    rnl_graph graph = new_graph(), bodies[2];
    bodies_node(graph, RNL_NODE_IF, RNL_AT_START, word, bodies, 2);
    empty_node(bodies[0], RNL_AT_START);
    empty_node(bodies[1], RNL_AT_START);
    bodies_node(graph, RNL_NODE_SWITCH, RNL_AT_START, word, bodies, 2);
    empty_node(bodies[1], RNL_AT_START);
    expect_ok(rnl_graph_write_dot(graph, keep_text, text));
    const char *const parts[] = {"label=\"then\"", "label=\"else\"",
                                 "label=\"1\"", "label=\"switch\""};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_non_null(strstr(text, parts[i]));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(bodies_may_be_copies)
{
    rnl_buffer word = suite_ints(1, 1), a = suite_ints(1, 0);
    rnl_graph graph = new_graph(), given = new_graph();
    rnl_node node = NULL;
    fill_node(given, RNL_AT_START, a, 9);
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_IF, .buffer = word, .bodies = &given),
        &node));
    expect_ok(rnl_graph_release(given));
    expect_shape(node_info_of(graph, node).graph, 1, 0);
    launch_once(graph);
    suite_expect_ints(a, 1, 9);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(a));
}
