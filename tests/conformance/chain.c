// What a wait says when its time limit has passed: who waits for whom.
#include "suite.h"

#include <stdio.h>
#include <unistd.h>

static rnl_stream labelled(const char *label)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.label = label), &stream));
    return stream;
}

static rnl_event promise(const char *label)
{
    rnl_event event = NULL;
    suite_need(RNL_FEATURE_PROMISES);
    expect_ok(rnl_event_create(
        suite_context(),
        RNL_EVENT_OPTIONS(.promise = true, .label = label), &event));
    return event;
}

static void need_cpu(void)
{
    if (!suite_is_cpu())
        test_skip("only the cpu knows what its streams wait for");
}

// The message, once the stream says all of `parts` (NULL at the end): a worker
// may still be on its way to the wait.
static void expect_parts(rnl_stream stream, const char *const *parts)
{
    for (const char *const *part = parts; *part;) {
        expect_error(rnl_stream_synchronize(stream, 1000),
                     RNL_ERROR_TIMED_OUT, NULL);
        const char *message = rnl_last_error()->message, *found = message;
        for (part = parts; *part && (found = strstr(found, *part)); part++)
            continue;
    }
}

RNL_TEST(a_timeout_tells_the_chain_down_to_a_promise)
{
    need_cpu();
    rnl_stream first = labelled("first"), second = labelled("second");
    rnl_event missing = promise("missing");
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_wait_event(second, missing));
    expect_ok(rnl_enqueue_host_function(second, count_host_call, &calls));
    expect_ok(rnl_enqueue_wait_stream(first, second));
    const char *const parts[] = {"'first'", "has done 0 of 1", "waits for",
                                 "'second' (operation 2)", "which waits for",
                                 "promise", "'missing'", "not recorded", NULL};
    expect_parts(first, parts);
    expect_parts(second, parts + 5);
    expect_ok(rnl_enqueue_event_record(suite_stream(), missing));
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    expect_ok(rnl_event_release(missing));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_timeout_tells_the_chain_down_to_a_word_or_a_graph)
{
    need_cpu();
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream first = labelled("first"), second = labelled("second");
    rnl_buffer word = suite_ints(1, 5);
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    expect_ok(rnl_stream_begin_capture(second, NULL));
    expect_ok(rnl_enqueue_wait_value32(second, word, 0, 7, RNL_WAIT_EQ));
    expect_ok(rnl_stream_end_capture(second, &graph));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_enqueue_wait_value32(second, word, 0, 6, RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_graph(second, exec));
    expect_ok(rnl_enqueue_wait_stream(first, second));
    const char *const parts[] = {"'first'", "waits for", "'second'",
                                 "(operation 2)", "32-bit word", "is 0x5",
                                 "equal to 0x6", NULL};
    expect_parts(first, parts);
    expect_ok(rnl_enqueue_write_value32(suite_stream(), word, 0, 6));
    expect_ok(rnl_stream_flush(suite_stream()));
    const char *const then[] = {"'second' (operation 2)", "waits in a graph",
                                "32-bit word", "equal to 0x7", NULL};
    expect_parts(first, then);
    expect_ok(rnl_enqueue_write_value32(suite_stream(), word, 0, 7));
    expect_ok(rnl_stream_flush(suite_stream()));
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

// A graph's node waits for what an event stood for at the launch; `shared` has
// another node that waits beside it.
static void expect_chain_of_graph(bool shared)
{
    rnl_stream first = labelled("first"), second = labelled("second");
    struct gate *gate = gate_shut(second);
    rnl_event event = NULL;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    expect_ok(rnl_enqueue_event(second, NULL, &event));
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    for (int i = 0; i <= shared; i++)
        expect_ok(rnl_graph_add_node(
            graph, RNL_AT_START,
            RNL_NODE(.kind = RNL_NODE_EVENT_WAIT, .event = event), &node));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    expect_ok(rnl_enqueue_graph(first, exec));
    const char *const parts[] = {"'first'", "waits in a graph for", "'second'",
                                 "has done 0 of 1", NULL};
    expect_parts(first, parts);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_timeout_tells_what_a_graph_waits_for)
{
    need_cpu();
    expect_chain_of_graph(false);
    expect_chain_of_graph(true);
}

RNL_TEST(a_timeout_tells_how_far_the_last_stream_is)
{
    need_cpu();
    rnl_stream first = labelled("first"), second = labelled("second");
    struct gate *gate = gate_shut(second);
    rnl_event event = NULL;
    expect_ok(rnl_enqueue_event(second, NULL, &event));
    expect_ok(rnl_enqueue_wait_event(first, event));
    const char *const parts[] = {"'first'", "waits for", "'second'",
                                 "(operation 1)", "has done 0 of 1", NULL};
    expect_parts(first, parts);
    // An event's wait says the same.
    expect_error(rnl_event_synchronize(event, 0), RNL_ERROR_TIMED_OUT, NULL);
    assert_non_null(strstr(rnl_last_error()->message, "'second'"));
    assert_null(strstr(rnl_last_error()->message, "for good"));
    expect_error(rnl_context_synchronize(suite_context(), 0),
                 RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

// Each waits for what comes behind the other's wait; only promises can do this,
// and nothing ends such a circle but the end of the process.
SUITE_CHILD(child_makes_a_circle)
{
    rnl_stream streams[3] = {labelled("a"), labelled("b"), labelled("c")};
    rnl_event circle = promise("circle");
    rnl_stream outside = labelled("outside");
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_wait_event(streams[0], circle));
    expect_ok(rnl_enqueue_host_function(streams[0], count_host_call, &calls));
    for (int i = 1; i < 3; i++)
        expect_ok(rnl_enqueue_wait_stream(streams[i], streams[i - 1]));
    expect_ok(rnl_enqueue_event_record(streams[2], circle));
    expect_ok(rnl_enqueue_wait_stream(outside, streams[1]));
    const char *const from_outside[] = {
        "'outside'", "waits for", "'b'", "which waits for", "'a'",
        "which waits for", "'c'", "which waits for", "'b'", "for good", NULL};
    const char *const from_inside[] = {"'a'", "waits for", "'c'",
                                       "which waits for", "'b'",
                                       "which waits for", "'a'", "for good",
                                       NULL};
    expect_parts(outside, from_outside);
    expect_parts(streams[0], from_inside);
    assert_int_equal(calls.count, 0);
    _exit(50);
}

RNL_TEST(a_timeout_tells_a_circle)
{
    need_cpu();
    assert_int_equal(suite_spawn("child_makes_a_circle", NULL), 50);
}

RNL_TEST(a_long_chain_is_cut)
{
    need_cpu();
    enum { LENGTH = 40 };
    rnl_stream streams[LENGTH];
    rnl_event missing = promise(NULL);
    char label[120];
    for (int i = 0; i < LENGTH; i++) {
        snprintf(label, sizeof label, "%d: %0100d", i, i);
        streams[i] = labelled(label);
        if (i == 0)
            expect_ok(rnl_enqueue_wait_event(streams[0], missing));
        else
            expect_ok(rnl_enqueue_wait_stream(streams[i], streams[i - 1]));
    }
    const char *const parts[] = {"waits for", "which waits for",
                                 "which waits for", NULL};
    expect_parts(streams[LENGTH - 1], parts);
    assert_true(strlen(rnl_last_error()->message) < 1024);
    expect_ok(rnl_enqueue_event_record(suite_stream(), missing));
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    for (int i = 0; i < LENGTH; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_event_release(missing));
}
