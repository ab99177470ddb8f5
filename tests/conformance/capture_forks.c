// Capture over several streams: the shape of the graph, events, several
// captures at once, and who is at fault.
#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static rnl_buffer target;
enum { WORDS = 64 };

// One node, which no other is in the way of.
static void work(rnl_stream stream)
{
    static size_t next;
    size_t offset = 4 * (next++ % WORDS);
    expect_ok(rnl_enqueue_fill(stream, target, offset, 4, 1, 4));
}

static rnl_event record(rnl_stream stream)
{
    rnl_event event = NULL;
    expect_ok(rnl_enqueue_event(stream, NULL, &event));
    return event;
}

static void wait(rnl_stream stream, rnl_event event)
{
    expect_ok(rnl_enqueue_wait_event(stream, event));
}

static void join(rnl_stream stream, rnl_stream other)
{
    rnl_event event = record(other);
    wait(stream, event);
    expect_ok(rnl_event_release(event));
}

static rnl_capture_status status_of(rnl_stream stream)
{
    return capture_info_of(stream).status;
}

static rnl_stream origin, left, right;

static void begin(void)
{
    target = suite_ints(WORDS, 0);
    origin = new_captured_stream();
    left = suite_new_stream();
    right = suite_new_stream();
}

static void release_all(void)
{
    expect_ok(rnl_stream_release(origin));
    expect_ok(rnl_stream_release(left));
    expect_ok(rnl_stream_release(right));
    expect_ok(rnl_buffer_release(target));
}

// Ends the capture; the graph must have these edges.
static void end(size_t nodes, size_t edges, const char *pairs)
{
    rnl_graph graph = end_capture(origin);
    expect_shape(graph, nodes, edges);
    for (; *pairs; pairs += 2)
        if (!has_edge(graph, (size_t)(pairs[0] - '0'),
                      (size_t)(pairs[1] - '0')))
            fail_msg("there is no edge %c>%c", pairs[0], pairs[1]);
    launch_once(graph);
    expect_ok(rnl_graph_release(graph));
    release_all();
}

static void expect_invalid(rnl_stream stream, const char *culprit)
{
    rnl_graph graph = NULL;
    expect_error(rnl_stream_end_capture(stream, &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, "stream");
    if (!strstr(rnl_last_error()->message, culprit))
        fail_msg("%s is not named: %s", culprit, rnl_last_error()->message);
}

// --- Shapes ----------------------------------------------------------------

RNL_TEST(two_forks_are_joined)
{
    begin();
    work(origin);
    join(left, origin);
    join(right, origin);
    work(left);
    work(right);
    join(origin, left);
    join(origin, right);
    work(origin);
    end(4, 5, "0102031323");  // an edge that is not needed stays
}

RNL_TEST(a_fork_starts_where_its_event_was_recorded)
{
    begin();
    work(origin);
    rnl_event event = record(origin);
    work(origin);
    work(origin);
    wait(left, event);
    work(left);
    join(origin, left);
    work(origin);
    expect_ok(rnl_event_release(event));
    end(5, 5, "0103122434");
}

RNL_TEST(the_last_record_of_an_event_counts)
{
    begin();
    work(origin);
    rnl_event event = record(origin);
    work(origin);
    expect_ok(rnl_enqueue_event_record(origin, event));
    wait(left, event);
    work(left);
    join(origin, left);
    expect_ok(rnl_event_release(event));
    end(3, 2, "0112");
}

RNL_TEST(a_stream_may_wait_for_its_own_past)
{
    begin();
    work(origin);
    rnl_event event = record(origin);
    work(origin);
    wait(origin, event);
    wait(origin, event);
    work(origin);
    expect_ok(rnl_event_release(event));
    end(3, 3, "010212");
}

RNL_TEST(waits_without_work_make_no_edges)
{
    begin();
    work(origin);
    rnl_event event = record(origin);
    wait(origin, event);
    join(left, origin);
    join(origin, left);
    work(origin);
    expect_ok(rnl_event_release(event));
    end(2, 1, "01");
}

RNL_TEST(a_fork_from_the_start_begins_with_a_root)
{
    begin();
    join(left, origin);
    assert_int_equal(status_of(left), RNL_CAPTURE_ACTIVE);
    work(left);
    work(origin);
    join(origin, left);
    end(2, 0, "");
}

RNL_TEST(a_join_through_a_third_stream_counts)
{
    begin();
    work(origin);
    join(left, origin);
    work(left);
    join(right, left);
    work(right);
    expect_ok(rnl_enqueue_wait_stream(origin, right));
    work(origin);
    end(4, 4, "01120323");
}

RNL_TEST(a_joined_stream_may_have_pending_work)
{
    begin();
    struct gate *gate = gate_shut(left);
    join(left, origin);
    work(left);
    join(origin, left);
    rnl_graph graph = end_capture(origin);
    expect_shape(graph, 1, 0);
    launch_once(graph);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(left, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_graph_release(graph));
    release_all();
}

RNL_TEST(a_batch_of_copies_is_one_node)
{
    static int source[4] = {1, 2, 3, 4};
    rnl_copy copies[3] = {0};
    rnl_buffer four = suite_ints(4, 0);
    begin();
    for (size_t i = 0; i < 3; i++)
        copies[i] = (rnl_copy){.struct_size = sizeof copies[i],
                               .to = {.buffer = four, .offset = 4 * i},
                               .from = {.pointer = &source[i]}, .width = 4};
    expect_ok(rnl_enqueue_copy_batch(origin, copies, 3));
    expect_ok(rnl_enqueue_copy_batch(origin, NULL, 0));
    expect_ok(rnl_enqueue_copy(origin, source, source + 1, 0));
    rnl_graph graph = end_capture(origin);
    expect_shape(graph, 1, 0);
    launch_once(graph);
    int read[4];
    suite_download(read, four, sizeof read);
    assert_int_equal(read[0] * 1000 + read[1] * 100 + read[2] * 10 + read[3],
                     1230);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(four));
    release_all();
}

RNL_TEST(buffers_made_in_a_capture_are_part_of_it)
{
    begin();
    rnl_buffer made = NULL;
    expect_ok(rnl_enqueue_buffer_create(
        origin, 4, RNL_BUFFER_OPTIONS(.zeroed = true), &made));
    expect_ok(rnl_enqueue_fill(origin, made, 0, 4, 6, 4));
    expect_ok(rnl_enqueue_copy_buffer(origin, target, 0, made, 0, 4));
    expect_ok(rnl_buffer_retain(made));
    expect_ok(rnl_enqueue_buffer_release(origin, made));
    expect_error(rnl_enqueue_buffer_release(origin, made),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_error(rnl_enqueue_buffer_release(origin, target),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_ok(rnl_buffer_release(made));
    rnl_graph graph = end_capture(origin);
    expect_shape(graph, 5, 4);
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    launch_and_wait(exec);
    suite_expect_ints(target, 1, 6);
    drop_both(graph, exec);
    release_all();
}

// --- Events ----------------------------------------------------------------

RNL_TEST(a_captured_event_stands_for_nothing_that_runs)
{
    begin();
    rnl_event event = record(origin);
    rnl_graph graph = end_capture(origin);
    expect_error(rnl_event_query(event), RNL_ERROR_CAPTURED_EVENT, "event");
    expect_error(rnl_event_synchronize(event, RNL_FOREVER),
                 RNL_ERROR_CAPTURED_EVENT, "event");
    expect_error(rnl_enqueue_wait_event(left, event),
                 RNL_ERROR_CAPTURED_EVENT, "event");
    assert_int_equal(status_of(left), RNL_CAPTURE_NONE);
    expect_ok(rnl_stream_begin_capture(left, NULL));
    expect_error(rnl_enqueue_wait_event(left, event),
                 RNL_ERROR_CAPTURED_EVENT, "event");
    expect_invalid(left, "rnl_enqueue_wait_event");
    // An ordinary record heals it.
    expect_ok(rnl_enqueue_event_record(left, event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_enqueue_wait_event(right, event));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_graph_release(graph));
    release_all();
}

RNL_TEST(an_event_recorded_elsewhere_meanwhile_is_outside)
{
    begin();
    rnl_event event = record(origin);
    expect_ok(rnl_enqueue_event_record(left, event));
    expect_error(rnl_enqueue_wait_event(origin, event),
                 RNL_ERROR_CAPTURE_ISOLATION, "event");
    expect_invalid(origin, "rnl_enqueue_wait_event");
    expect_ok(rnl_event_release(event));
    release_all();
}

RNL_TEST(a_joined_stream_is_as_strict_as_the_first)
{
    begin();
    rnl_event outside = record(right);
    join(left, origin);
    expect_error(rnl_enqueue_wait_event(left, outside),
                 RNL_ERROR_CAPTURE_ISOLATION, "event");
    assert_int_equal(status_of(origin), RNL_CAPTURE_INVALIDATED);
    expect_error(rnl_enqueue_fill(left, target, 0, 4, 1, 4),
                 RNL_ERROR_CAPTURE_INVALIDATED, "stream");
    expect_error(rnl_enqueue_event_record(origin, outside),
                 RNL_ERROR_CAPTURE_INVALIDATED, "stream");
    expect_invalid(origin, "rnl_enqueue_wait_event");
    expect_ok(rnl_event_release(outside));
    release_all();
}

RNL_TEST(external_records_and_waits_are_nodes)
{
    begin();
    rnl_event done = NULL, go = suite_new_event();
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.timing = true), &done));
    expect_ok(rnl_enqueue_external_wait(origin, go));
    work(origin);
    expect_ok(rnl_enqueue_external_record(origin, done));
    rnl_graph graph = end_capture(origin);
    expect_shape(graph, 3, 2);
    expect_ok(rnl_event_query(done));  // not touched so far
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(left);
    expect_ok(rnl_enqueue_event_record(left, go));
    expect_ok(rnl_enqueue_graph(origin, exec));
    assert_status(rnl_event_query(done), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_event_synchronize(done, RNL_FOREVER));
    uint64_t ns = 1;
    expect_ok(rnl_event_elapsed(done, done, &ns));
    assert_int_equal(ns, 0);
    expect_ok(rnl_stream_synchronize(left, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(origin, RNL_FOREVER));
    gate_free(gate);
    drop_both(graph, exec);
    expect_ok(rnl_event_release(done));
    expect_ok(rnl_event_release(go));
    release_all();
}

// Where it stood for a node of a capture before, of an earlier one or of this.
RNL_TEST(a_launch_records_an_event_that_was_captured)
{
    begin();
    rnl_event event = suite_new_event(), same = suite_new_event();
    expect_ok(rnl_enqueue_event_record(origin, event));
    expect_ok(rnl_graph_release(end_capture(origin)));
    expect_error(rnl_event_query(event), RNL_ERROR_CAPTURED_EVENT, "event");
    expect_ok(rnl_stream_begin_capture(origin, NULL));
    expect_ok(rnl_enqueue_event_record(origin, same));
    expect_ok(rnl_enqueue_external_record(origin, event));
    expect_ok(rnl_enqueue_external_record(origin, same));
    rnl_graph graph = end_capture(origin);
    rnl_graph_exec exec = instantiate(graph);
    expect_error(rnl_event_query(event), RNL_ERROR_CAPTURED_EVENT, "event");
    expect_ok(rnl_enqueue_graph(origin, exec));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_synchronize(same, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(origin, RNL_FOREVER));
    drop_both(graph, exec);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(same));
    release_all();
}

RNL_TEST(external_calls_outside_of_a_capture_are_ordinary)
{
    rnl_event event = suite_new_event();
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_enqueue_external_record(suite_stream(), event));
    expect_ok(rnl_enqueue_external_wait(stream, event));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(streams_of_another_context_cannot_join)
{
    begin();
    rnl_context context = suite_open(NULL);
    rnl_stream foreign = NULL;
    expect_ok(rnl_context_default_stream(context, &foreign));
    rnl_event event = record(origin);
    expect_error(rnl_enqueue_wait_event(foreign, event),
                 RNL_ERROR_CAPTURE_ISOLATION, "stream");
    expect_ok(rnl_stream_query(foreign) == RNL_ERROR_CAPTURE_UNSUPPORTED
                  ? RNL_OK
                  : RNL_ERROR_INTERNAL);
    rnl_graph graph = NULL;
    assert_status(rnl_stream_end_capture(origin, &graph),
                  RNL_ERROR_CAPTURE_INVALIDATED);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_context_release(context));
    release_all();
}

// --- Several captures ------------------------------------------------------

RNL_TEST(two_captures_cannot_be_merged)
{
    begin();
    expect_ok(rnl_stream_begin_capture(left, NULL));
    rnl_event event = record(left);
    expect_error(rnl_enqueue_wait_event(origin, event),
                 RNL_ERROR_CAPTURE_MERGE, "stream");
    expect_invalid(origin, "rnl_enqueue_wait_event");
    expect_invalid(left, "rnl_enqueue_wait_event");
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_begin_capture(origin, NULL));
    expect_ok(rnl_stream_begin_capture(left, NULL));
    expect_error(rnl_enqueue_wait_stream(left, origin),
                 RNL_ERROR_CAPTURE_MERGE, "stream");
    expect_invalid(origin, "rnl_enqueue_wait_stream");
    expect_invalid(left, "rnl_enqueue_wait_stream");
    release_all();
}

static void begin_in(rnl_stream stream, rnl_capture_mode mode)
{
    expect_ok(
        rnl_stream_begin_capture(stream, RNL_CAPTURE_OPTIONS(.mode = mode)));
}

static rnl_status end_quietly(rnl_stream stream)
{
    rnl_graph graph = NULL;
    rnl_status status = rnl_stream_end_capture(stream, &graph);
    rnl_graph_release(graph);
    return status;
}

struct query {
    rnl_stream stream;
    rnl_capture_mode own, thread;  // of the capture begun, and exchanged
    bool begins;
    rnl_status status, ended;
};

static void *query_there(void *argument)
{
    struct query *query = argument;
    rnl_capture_mode mode = query->thread;
    rnl_stream other = suite_new_stream();
    if (query->begins)
        begin_in(other, query->own);
    rnl_capture_exchange_mode(&mode);
    query->status = rnl_stream_query(query->stream);
    rnl_capture_exchange_mode(&mode);
    query->ended = query->begins ? end_quietly(other) : RNL_OK;
    expect_ok(rnl_stream_release(other));
    return NULL;
}

static void query_elsewhere(struct query *query)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, query_there, query), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

RNL_TEST(a_disturbing_call_hits_all_that_it_could_disturb)
{
    const rnl_capture_mode global = RNL_CAPTURE_GLOBAL;
    const rnl_capture_mode local = RNL_CAPTURE_THREAD_LOCAL;
    const rnl_capture_mode relaxed = RNL_CAPTURE_RELAXED;
    const rnl_status refused = RNL_ERROR_CAPTURE_UNSUPPORTED;
    const rnl_status lost = RNL_ERROR_CAPTURE_INVALIDATED;
    const struct {
        rnl_capture_mode here;  // of a capture on this thread
        struct query query;     // by another one
        rnl_status ended;
    } rows[] = {
        {global, {NULL, global, global, false, refused, RNL_OK}, lost},
        {global, {NULL, local, global, true, refused, lost}, lost},
        {global, {NULL, relaxed, global, true, refused, RNL_OK}, lost},
        {global, {NULL, relaxed, relaxed, true, RNL_OK, RNL_OK}, RNL_OK},
        {global, {NULL, local, relaxed, true, RNL_OK, RNL_OK}, RNL_OK},
        {global, {NULL, local, local, true, refused, lost}, RNL_OK},
        {global, {NULL, global, local, true, refused, lost}, RNL_OK},
        {global, {NULL, relaxed, local, true, RNL_OK, RNL_OK}, RNL_OK},
        {local, {NULL, relaxed, global, true, RNL_OK, RNL_OK}, RNL_OK},
        {local, {NULL, local, global, true, refused, lost}, RNL_OK},
        {relaxed, {NULL, relaxed, global, true, RNL_OK, RNL_OK}, RNL_OK},
        {relaxed, {NULL, global, global, true, refused, lost}, RNL_OK},
    };
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream ordinary = suite_stream(), stream = suite_new_stream();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct query query = rows[i].query;
        query.stream = ordinary;
        begin_in(stream, rows[i].here);
        query_elsewhere(&query);
        rnl_status ended = end_quietly(stream);
        if (query.status != rows[i].query.status ||
            query.ended != rows[i].query.ended || ended != rows[i].ended)
            fail_msg("row %zu: %s, %s, %s", i, rnl_status_name(query.status),
                     rnl_status_name(query.ended), rnl_status_name(ended));
    }
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(naming_one_capture_leaves_the_others)
{
    begin();
    expect_ok(rnl_stream_begin_capture(left, NULL));
    expect_error(rnl_stream_query(origin), RNL_ERROR_CAPTURE_UNSUPPORTED,
                 "stream");
    assert_int_equal(status_of(left), RNL_CAPTURE_ACTIVE);
    // The thread is held back until the end, also by the invalid one.
    expect_ok(rnl_graph_release(end_capture(left)));
    assert_status(rnl_stream_query(right), RNL_ERROR_CAPTURE_UNSUPPORTED);
    expect_invalid(origin, "rnl_stream_query");
    expect_ok(rnl_stream_synchronize(right, RNL_FOREVER));
    release_all();
}

RNL_TEST(the_first_call_at_fault_is_named)
{
    begin();
    assert_status(rnl_stream_synchronize(origin, 0),
                  RNL_ERROR_CAPTURE_UNSUPPORTED);
    assert_status(rnl_stream_query(origin), RNL_ERROR_CAPTURE_UNSUPPORTED);
    expect_error(rnl_enqueue_fill(origin, target, 0, 4, 1, 4),
                 RNL_ERROR_CAPTURE_INVALIDATED, "stream");
    assert_non_null(strstr(rnl_last_error()->message,
                           "rnl_stream_synchronize"));
    rnl_capture_info info = capture_info_of(origin);
    assert_int_equal(info.status, RNL_CAPTURE_INVALIDATED);
    expect_invalid(origin, "rnl_stream_synchronize");
    release_all();
}

RNL_TEST(the_mode_of_a_thread_is_exchanged)
{
    rnl_capture_mode mode = RNL_CAPTURE_RELAXED;
    expect_ok(rnl_capture_exchange_mode(&mode));
    assert_int_equal(mode, RNL_CAPTURE_GLOBAL);
    expect_ok(rnl_capture_exchange_mode(&mode));
    assert_int_equal(mode, RNL_CAPTURE_RELAXED);
    expect_error(rnl_capture_exchange_mode(NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "mode");
    mode = 3;
    expect_error(rnl_capture_exchange_mode(&mode),
                 RNL_ERROR_INVALID_ARGUMENT, "mode");
    assert_int_equal(mode, 3);
}

// --- In one go -------------------------------------------------------------

static rnl_status two_fills(rnl_stream stream, void *user_data)
{
    rnl_status status = rnl_enqueue_fill(stream, target, 0, 4, 1, 4);
    return status ? status
                  : rnl_enqueue_fill(stream, target, 0, 4, 2,
                                     *(size_t *)user_data);
}

static rnl_status disturb(rnl_stream stream, void *user_data)
{
    (void)user_data;
    rnl_stream_query(stream);
    return RNL_OK;
}

static rnl_status end_inside(rnl_stream stream, void *user_data)
{
    return rnl_stream_end_capture(stream, user_data);
}

RNL_TEST(a_scoped_capture_always_ends)
{
    suite_need(RNL_FEATURE_CAPTURE);
    target = suite_ints(1, 0);
    rnl_graph graph = NULL, inner = NULL;
    rnl_stream stream = suite_new_stream();
    size_t good = 4, bad = 3;
    expect_ok(rnl_stream_capture(stream, NULL, two_fills, &good, &graph));
    expect_shape(graph, 2, 1);
    launch_once(graph);
    suite_expect_ints(target, 1, 2);
    expect_ok(rnl_graph_release(graph));
    graph = NULL;
    assert_status(rnl_stream_capture(stream, NULL, two_fills, &bad, &graph),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(status_of(stream), RNL_CAPTURE_NONE);
    expect_error(rnl_stream_capture(stream, NULL, disturb, NULL, &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, "stream");
    assert_int_equal(status_of(stream), RNL_CAPTURE_NONE);
    expect_error(rnl_stream_capture(stream, NULL, end_inside, &inner, &graph),
                 RNL_ERROR_INVALID_STATE, "stream");
    expect_ok(rnl_graph_release(inner));
    expect_error(rnl_stream_capture(stream, NULL, NULL, NULL, &graph),
                 RNL_ERROR_INVALID_ARGUMENT, "function");
    expect_error(rnl_stream_capture(stream, NULL, disturb, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_graph");
    assert_null(graph);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(target));
}

// --- Processes -------------------------------------------------------------

SUITE_CHILD(a_capture_while_calls_block)
{
    begin();
    join(left, origin);
    work(left);
    work(origin);
    join(origin, left);
    end(2, 0, "");
}

RNL_TEST(a_capture_does_not_block_where_all_calls_do)
{
    static const char *const blocking[] = {"RUNNEL_BLOCKING=1", NULL};
    if (suite_is_child())
        return;
    assert_int_equal(suite_spawn("a_capture_while_calls_block", blocking), 0);
}

static rnl_stream parents;

static int child_after_fork(void)
{
    rnl_context context = NULL;
    rnl_graph graph = NULL;
    rnl_stream stream = NULL;
    if (rnl_stream_end_capture(parents, &graph) != RNL_ERROR_FORKED)
        return 1;
    if (rnl_context_open(suite_api(), suite_index(), NULL, &context) ||
        rnl_context_default_stream(context, &stream))
        return suite_is_cpu() ? 2 : 0;
    if (rnl_stream_synchronize(stream, RNL_FOREVER) ||
        rnl_context_synchronize(context, RNL_FOREVER))
        return 3;
    return rnl_context_release(context) ? 4 : 0;
}

RNL_TEST(a_forked_process_is_not_bound_by_captures)
{
    suite_need(RNL_FEATURE_CAPTURE);
    parents = suite_new_stream();
    begin_in(parents, RNL_CAPTURE_GLOBAL);
    assert_int_equal(suite_fork(child_after_fork), 0);
    expect_ok(rnl_graph_release(end_capture(parents)));
    expect_ok(rnl_stream_release(parents));
}
