// Launching an executable graph allocates nothing per node: the library's
// allocations are counted while large graphs of all kinds of nodes are
// launched.
#include "sweep.h"

#include <stdatomic.h>
#include <stdio.h>

enum { NODES = 2000, LAUNCHES = 10, WARM = 3, MOST_EACH = 8 };

static _Atomic long allocations;

static void *count_and_give(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    atomic_fetch_add(&allocations, 1);
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment, rounded);
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)size, (void)user_data;
    free(memory);
}

static _Atomic long calls;

static rnl_status call(const rnl_native_call *given)
{
    (void)given;
    atomic_fetch_add(&calls, 1);
    return RNL_OK;
}

static void note(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

struct things {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;
    rnl_function function;
    rnl_graph child;
};

static void make(struct things *t)
{
    rnl_node node = NULL;
    assert_ok(sweep_open(&t->context));
    if (rnl_context_supports(t->context, RNL_FEATURE_GRAPHS, NULL)) {
        assert_ok(rnl_context_release(t->context));
        test_skip("the device has no graphs");
    }
    assert_ok(rnl_stream_create(t->context, NULL, &t->stream));
    assert_ok(rnl_event_create(t->context, NULL, &t->event));
    assert_ok(rnl_buffer_create(
        t->context, 128, RNL_BUFFER_OPTIONS(.zeroed = true), &t->buffer));
    assert_ok(rnl_function_create_native(t->context, "call", call, NULL,
                                         &t->function));
    assert_ok(rnl_graph_create(t->context, NULL, &t->child));
    assert_ok(rnl_graph_add_node(t->child, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_EMPTY), &node));
}

static void drop(struct things *t)
{
    assert_ok(rnl_graph_release(t->child));
    assert_ok(rnl_function_release(t->function));
    assert_ok(rnl_buffer_release(t->buffer));
    assert_ok(rnl_event_release(t->event));
    assert_ok(rnl_stream_release(t->stream));
    assert_ok(rnl_context_release(t->context));
}

// The kinds in turn; an IF has an empty body. Nodes of odd numbers have half of
// the buffer to themselves, and may run beside the others.
static rnl_node add(const struct things *t, rnl_graph graph, int number,
                    const rnl_node *after, size_t count)
{
    static const rnl_node_kind kinds[] = {
        RNL_NODE_FUNCTION,     RNL_NODE_FUNCTION,   RNL_NODE_COPY,
        RNL_NODE_FILL,         RNL_NODE_VALUES,     RNL_NODE_HOST_FUNCTION,
        RNL_NODE_EVENT_RECORD, RNL_NODE_EVENT_WAIT, RNL_NODE_CHILD,
        RNL_NODE_IF,           RNL_NODE_EMPTY,
    };
    rnl_graph body = NULL;
    rnl_node node = NULL;
    size_t half = number % 2 ? 64 : 0;
    assert_ok(rnl_graph_add_node(
        graph, after, count,
        RNL_NODE(.kind = kinds[(size_t)number %
                               (sizeof kinds / sizeof *kinds)],
                 .function = t->function,
                 .launch = RNL_LAUNCH(.grid = {1}, .block = {1}),
                 .copy = RNL_COPY(.from = {.buffer = t->buffer, .offset = half},
                                  .to = {.buffer = t->buffer,
                                         .offset = half + 32},
                                  .width = 8),
                 .fill = RNL_FILL(.to = {.buffer = t->buffer,
                                         .offset = half + 16},
                                  .width = 8, .pattern_size = 1),
                 .host = note,
                 .values = RNL_VALUE_OP(.action = RNL_WRITE_VALUE,
                                        .width = 32, .buffer = t->buffer,
                                        .offset = 60),
                 .value_count = 1, .event = t->event, .child = t->child,
                 .buffer = t->buffer, .out_body = &body),
        &node));
    return node;
}

static rnl_graph_exec build(const struct things *t, bool forked)
{
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    assert_ok(rnl_graph_create(t->context, NULL, &graph));
    rnl_node last[2] = {NULL, NULL};
    for (int i = 0; i < NODES; i++) {
        rnl_node *before = &last[forked ? i % 2 : 0];
        *before = add(t, graph, i, before, *before != NULL);
    }
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_graph_release(graph));
    return exec;
}

static void launch(const struct things *t, rnl_graph_exec exec)
{
    assert_ok(rnl_enqueue_graph(t->stream, exec));
    assert_ok(rnl_stream_synchronize(t->stream, RNL_FOREVER));
}

static void expect_few_allocations(bool forked)
{
    struct things t = {0};
    make(&t);
    rnl_graph_exec exec = build(&t, forked);
    for (int i = 0; i < WARM; i++)
        launch(&t, exec);
    long before = atomic_load(&allocations);
    for (int i = 0; i < LAUNCHES; i++)
        launch(&t, exec);
    long made = atomic_load(&allocations) - before;
    printf("%ld allocations by %d launches of %d nodes\n", made, LAUNCHES,
           NODES);
    assert_true(made <= LAUNCHES * MOST_EACH);
    assert_true(atomic_load(&calls) > 0);
    assert_ok(rnl_graph_exec_release(exec));
    drop(&t);
}

RNL_TEST(launches_of_graphs_allocate_nothing_per_node)
{
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = count_and_give, .release = take)));
    expect_few_allocations(false);
    expect_few_allocations(true);
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(NULL));
}
