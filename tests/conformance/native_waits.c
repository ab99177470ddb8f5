// C functions that wait for something outside of their context, with
// RNL_NATIVE_WAITS: others get a thread meanwhile.
#include "words.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const rnl_launch *one_block(void)
{
    static rnl_launch launch = {.struct_size = sizeof launch,
                                .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

struct meeting {
    _Atomic int here;
    int awaited;
};

static rnl_status meet(const rnl_native_call *call)
{
    struct meeting *meeting = call->user_data;
    atomic_fetch_add(&meeting->here, 1);
    while (meeting->here < meeting->awaited)
        sched_yield();
    return RNL_OK;
}

static rnl_function make_meet(rnl_context context, struct meeting *meeting)
{
    rnl_function function = NULL;
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    expect_ok(rnl_function_create_native(
        context, "meet", meet,
        RNL_NATIVE_OPTIONS(.user_data = meeting,
                           .flags = RNL_NATIVE_WAITS | RNL_NATIVE_PROMPT),
        &function));
    return function;
}

static void enqueue_meet(rnl_stream stream, rnl_function function)
{
    expect_ok(rnl_enqueue_function(stream, function, one_block(),
                                   RNL_NO_ARGS));
    expect_ok(rnl_stream_flush(stream));
}

// More functions wait for each other than the pool has threads.
RNL_TEST(functions_that_wait_for_each_other_get_threads)
{
    static struct meeting meeting = {.awaited = 8};
    rnl_function function = make_meet(suite_context(), &meeting);
    rnl_stream streams[8];
    for (int i = 0; i < 8; i++) {
        streams[i] = suite_new_stream();
        enqueue_meet(streams[i], function);
    }
    for (int i = 0; i < 8; i++) {
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_ok(rnl_function_release(function));
}

struct visit {
    pthread_t thread;
    rnl_stream stream;
    rnl_function function;
    rnl_status status;
};

static void *meet_on_this_thread(void *opaque)
{
    struct visit *visit = opaque;
    visit->status = rnl_enqueue_function(visit->stream, visit->function,
                                         one_block(), RNL_NO_ARGS);
    if (visit->status == RNL_OK)
        visit->status = rnl_stream_synchronize(visit->stream, RNL_FOREVER);
    return NULL;
}

// Threads of the program that run such functions are none of the pool's.
RNL_TEST(functions_that_wait_get_threads_beside_those_of_the_program)
{
    enum { COUNT = 8 };
    static struct meeting meeting = {.awaited = 2 * COUNT};
    static struct visit visits[COUNT];
    rnl_stream streams[COUNT];
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    rnl_function function = make_meet(context, &meeting);
    for (int i = 0; i < COUNT; i++) {
        visits[i].function = function;
        expect_ok(rnl_stream_create(context, NULL, &visits[i].stream));
        expect_ok(rnl_stream_create(context, NULL, &streams[i]));
        assert_int_equal(pthread_create(&visits[i].thread, NULL,
                                        meet_on_this_thread, &visits[i]), 0);
    }
    while (meeting.here < COUNT)
        sched_yield();
    for (int i = 0; i < COUNT; i++)
        enqueue_meet(streams[i], function);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pthread_join(visits[i].thread, NULL), 0);
        assert_int_equal(visits[i].status, RNL_OK);
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        expect_ok(rnl_stream_release(visits[i].stream));
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_context_release(context));
}

// Functions of a graph run at the same time unless an edge orders them.
static void meet_in_a_graph(uint32_t threads)
{
    enum { COUNT = 4 };
    struct meeting meeting = {.awaited = COUNT};
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = threads));
    rnl_function function = make_meet(context, &meeting);
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_stream stream = NULL;
    rnl_node node;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_graph_create(context, NULL, &graph));
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_graph_add_node(
            graph, NULL, 0,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                     .launch = one_block(), .args = RNL_NO_ARGS),
            &node));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    for (int i = 0; i < 20; i++) {
        meeting.here = 0;
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        assert_int_equal(meeting.here, COUNT);
    }
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(functions_of_a_graph_that_wait_for_each_other_get_threads)
{
    meet_in_a_graph(1);
    meet_in_a_graph(2);
}

// --- Beside other reasons to wait --------------------------------------------

static atomic_bool flag;

static rnl_status await_flag(const rnl_native_call *call)
{
    (void)call;
    while (!atomic_load(&flag))
        sched_yield();
    return RNL_OK;
}

static rnl_status set_flag(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&flag, true);
    return RNL_OK;
}

static rnl_function make_on(rnl_context context, rnl_native_fn native,
                            rnl_native_flags flags)
{
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(context, "f", native,
                                         RNL_NATIVE_OPTIONS(.flags = flags),
                                         &function));
    return function;
}

static rnl_context open_narrow(void)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    atomic_store(&flag, false);
    return suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
}

struct writer {
    pthread_t thread;
    _Atomic uint32_t *word;
};

// Once the launch has begun, and its thread waits.
static void *write_later(void *opaque)
{
    struct writer *writer = opaque;
    while (!atomic_load(writer->word + 1))
        sched_yield();
    atomic_store(writer->word, 1);
    return NULL;
}

// A branch that waits for a value goes on while another branch has the thread.
RNL_TEST(a_value_comes_while_a_function_of_the_graph_waits)
{
    rnl_context context = open_narrow();
    rnl_buffer words = NULL;
    rnl_stream stream = NULL;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node nodes[4];
    void *address;
    rnl_function waits = make_on(context, await_flag, RNL_NATIVE_WAITS);
    rnl_function sets = make_on(context, set_flag, 0);
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, 8, NULL, &words));
    expect_ok(rnl_buffer_host_pointer(words, &address));
    expect_ok(rnl_graph_create(context, NULL, &graph));
    expect_ok(rnl_graph_add_node(
        graph, NULL, 0,
        RNL_NODE(.kind = RNL_NODE_VALUES, .value_count = 1,
                 .values = RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                                        .buffer = words, .offset = 4,
                                        .value = 1)),
        &nodes[0]));
    expect_ok(rnl_graph_add_node(
        graph, &nodes[0], 1,
        RNL_NODE(.kind = RNL_NODE_VALUES, .value_count = 1,
                 .values = RNL_VALUE_OP(.action = RNL_WAIT_EQ, .width = 32,
                                        .buffer = words, .value = 1)),
        &nodes[1]));
    expect_ok(rnl_graph_add_node(
        graph, &nodes[0], 1,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = waits,
                 .launch = one_block(), .args = RNL_NO_ARGS),
        &nodes[2]));
    expect_ok(rnl_graph_add_node(
        graph, &nodes[1], 1,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = sets,
                 .launch = one_block(), .args = RNL_NO_ARGS),
        &nodes[3]));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    for (int i = 0; i < 20; i++) {
        struct writer writer = {.word = address};
        atomic_store(&flag, false);
        atomic_store(writer.word, 0);
        atomic_store(writer.word + 1, 0);
        expect_ok(rnl_enqueue_graph(stream, exec));
        assert_int_equal(pthread_create(&writer.thread, NULL, write_later,
                                        &writer), 0);
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        pthread_join(writer.thread, NULL);
    }
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_function_release(waits));
    expect_ok(rnl_function_release(sets));
    expect_ok(rnl_buffer_release(words));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}
