// Long launches give way: at once to streams of greater priority, after a while
// to others of the same. Blocks go on until the test has seen enough, so that
// nothing here depends on how long anything takes.
#include "graphs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { BLOCKS = 1 << 20, STREAMS = 4, PAUSES = 2000 };

// A launch of BLOCKS blocks, each of which takes some microseconds until `over`
// says that it is enough.
struct load {
    _Atomic int begun;
    _Atomic int threads;  // that took part
};

static struct load loads[STREAMS];
static atomic_int over;
static _Thread_local const struct load *part_of;

static rnl_status take_long(const rnl_native_call *call)
{
    struct load *load = call->user_data;
    if (part_of != load)
        atomic_fetch_add(&load->threads, 1);
    part_of = load;
    for (uint64_t i = 0; i < call->block_count; i++) {
        atomic_fetch_add(&load->begun, 1);
        for (volatile int k = 0; k < PAUSES && !atomic_load(&over); k++)
            continue;
    }
    return RNL_OK;
}

// How many blocks of the first load had begun.
static atomic_int seen_by_urgent;

static rnl_status be_urgent(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&seen_by_urgent, atomic_load(&loads[0].begun));
    atomic_store(&over, 1);
    return RNL_OK;
}

static rnl_context open_pool(unsigned threads)
{
    if (!suite_is_cpu())
        test_skip("only the cpu's blocks can be held by the test");
    memset(loads, 0, sizeof loads);
    atomic_store(&over, 0);
    atomic_store(&seen_by_urgent, -1);
    return suite_open(RNL_CONTEXT_OPTIONS(.threads = threads));
}

static rnl_stream open_stream(rnl_context context, int priority)
{
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(context,
                                RNL_STREAM_OPTIONS(.priority = priority),
                                &stream));
    return stream;
}

static void launch(rnl_context context, rnl_stream stream,
                   rnl_native_fn native, void *user_data, uint32_t blocks)
{
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        context, "load", native, RNL_NATIVE_OPTIONS(.user_data = user_data),
        &function));
    expect_ok(rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {blocks}, .block = {1}),
        RNL_NO_ARGS));
    expect_ok(rnl_function_release(function));
}

static void await_threads(rnl_stream stream, int threads)
{
    while (atomic_load(&loads[0].threads) < threads) {
        assert_status(rnl_stream_query(stream), RNL_NOT_READY);
        sched_yield();
    }
}

// Waits without running anything itself.
static void await_done(rnl_stream stream)
{
    expect_ok(rnl_stream_synchronize(stream, UINT64_C(50000000000)));
}

static void expect_urgent_first(void)
{
    assert_in_range(atomic_load(&seen_by_urgent), 1, BLOCKS - 1);
}

static void pass_a_long_launch(unsigned threads, int priority, int greater)
{
    rnl_context context = open_pool(threads);
    rnl_stream slow = open_stream(context, priority);
    rnl_stream quick = open_stream(context, greater);
    launch(context, slow, take_long, &loads[0], BLOCKS);
    await_threads(slow, (int)threads);
    launch(context, quick, be_urgent, NULL, 1);
    await_done(quick);
    expect_urgent_first();
    await_done(slow);
    assert_int_equal(atomic_load(&loads[0].begun), BLOCKS);
    expect_ok(rnl_stream_release(slow));
    expect_ok(rnl_stream_release(quick));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(an_urgent_launch_passes_a_long_one)
{
    pass_a_long_launch(2, 0, -1);
    pass_a_long_launch(2, -1, -2);
}

RNL_TEST(an_urgent_launch_passes_a_long_one_of_the_only_thread)
{
    pass_a_long_launch(1, 0, -1);
}

RNL_TEST(a_launch_of_the_same_priority_gets_its_turn)
{
    pass_a_long_launch(2, 0, 0);
    pass_a_long_launch(1, 0, 0);
    pass_a_long_launch(2, -1, -1);
}

// The first one to be all begun is as far as any is when the last one begins.
RNL_TEST(long_launches_of_one_priority_take_turns)
{
    rnl_context context = open_pool(2);
    rnl_stream streams[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = open_stream(context, 0);
        launch(context, streams[i], take_long, &loads[i], BLOCKS);
    }
    for (int i = 0; i < STREAMS; i++)
        while (atomic_load(&loads[i].begun) == 0)
            sched_yield();
    for (int i = 0; i < STREAMS; i++)
        assert_in_range(atomic_load(&loads[i].begun), 1, BLOCKS - 1);
    atomic_store(&over, 1);
    for (int i = 0; i < STREAMS; i++) {
        await_done(streams[i]);
        assert_int_equal(atomic_load(&loads[i].begun), BLOCKS);
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_ok(rnl_context_release(context));
}

static void *synchronize(void *stream)
{
    return rnl_stream_synchronize(stream, RNL_FOREVER) == RNL_OK ? NULL
                                                                 : stream;
}

RNL_TEST(an_urgent_launch_passes_one_that_the_waiting_thread_runs)
{
    rnl_context context = open_pool(1);
    rnl_stream slow = open_stream(context, 0), quick = open_stream(context, -1);
    pthread_t thread;
    void *wrong = NULL;
    launch(context, slow, take_long, &loads[0], BLOCKS);
    assert_int_equal(pthread_create(&thread, NULL, synchronize, slow), 0);
    while (atomic_load(&loads[0].threads) == 0)
        sched_yield();
    launch(context, quick, be_urgent, NULL, 1);
    await_done(quick);
    expect_urgent_first();
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    expect_ok(rnl_stream_release(slow));
    expect_ok(rnl_stream_release(quick));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(an_urgent_launch_passes_a_long_one_of_a_graph)
{
    rnl_context context = open_pool(2);
    rnl_stream slow = open_stream(context, 0), quick = open_stream(context, -1);
    rnl_graph graph = NULL;
    expect_ok(rnl_stream_begin_capture(slow, NULL));
    launch(context, slow, take_long, &loads[0], BLOCKS);
    expect_ok(rnl_stream_end_capture(slow, &graph));
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_enqueue_graph(slow, exec));
    await_threads(slow, 2);
    launch(context, quick, be_urgent, NULL, 1);
    await_done(quick);
    expect_urgent_first();
    await_done(slow);
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(slow));
    expect_ok(rnl_stream_release(quick));
    expect_ok(rnl_context_release(context));
}

enum { NODES = 1 << 14 };

static atomic_int urgent_is_there;

// The first one goes on once the urgent launch is there.
static rnl_status take_short(const rnl_native_call *call)
{
    rnl_status status = take_long(call);
    while (!atomic_load(&urgent_is_there))
        sched_yield();
    return status;
}

// No step of it is long.
RNL_TEST(an_urgent_launch_passes_a_graph_of_many_short_steps)
{
    rnl_context context = open_pool(1);
    rnl_stream slow = open_stream(context, 0), quick = open_stream(context, -1);
    rnl_graph graph = NULL;
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        context, "load", take_short,
        RNL_NATIVE_OPTIONS(.user_data = &loads[0]), &function));
    expect_ok(rnl_stream_begin_capture(slow, NULL));
    for (int i = 0; i < NODES; i++)
        expect_ok(rnl_enqueue_function(
            slow, function, RNL_LAUNCH(.grid = {1}, .block = {1}),
            RNL_NO_ARGS));
    expect_ok(rnl_stream_end_capture(slow, &graph));
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_enqueue_graph(slow, exec));
    await_threads(slow, 1);
    launch(context, quick, be_urgent, NULL, 1);
    atomic_store(&urgent_is_there, 1);
    await_done(quick);
    assert_in_range(atomic_load(&seen_by_urgent), 1, NODES - 1);
    await_done(slow);
    assert_int_equal(atomic_load(&loads[0].begun), NODES);
    drop_both(graph, exec);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(slow));
    expect_ok(rnl_stream_release(quick));
    expect_ok(rnl_context_release(context));
}

// A lower priority, or the same for a moment, takes nothing away.
RNL_TEST(a_less_urgent_launch_does_not_pass)
{
    rnl_context context = open_pool(1);
    rnl_stream slow = open_stream(context, -1), other = open_stream(context, 0);
    launch(context, slow, take_long, &loads[0], 1 << 12);
    await_threads(slow, 1);
    launch(context, other, be_urgent, NULL, 1);
    await_done(slow);
    await_done(other);
    assert_int_equal(atomic_load(&seen_by_urgent), 1 << 12);
    expect_ok(rnl_stream_release(slow));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_context_release(context));
}
